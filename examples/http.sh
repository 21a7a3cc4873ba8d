#!/usr/bin/env bash
# A walk through the HTTP API. Start the local stack first (make run); needs curl.
#
#   URL=https://... TOKEN=sam_... examples/http.sh     for a deployed stack
set -euo pipefail

url=${URL:-http://127.0.0.1:${PORT:-8787}}
token=${TOKEN:-$(cat .agent-memory/token)}

call() { # method path [body]
  printf '\n%s %s\n' "$1" "$2"
  curl -sS -X "$1" "$url$2" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' ${3:+-d "$3"}
  echo
}

call POST /v1/memories '{"content": "Alice is vegetarian", "id": "diet", "tags": ["food"], "importance": 0.8, "resurrect": true}'
call POST /v1/memories '{"content": "Asked for a ramen recipe", "kind": "episodic", "ttl": 604800}'
call POST /v1/memories/search '{"query": "what can Alice eat, vegetarian?", "limit": 3}'
call POST /v1/memories/search '{"query": "", "filter": {"importance": {"$gte": 0.8}}}'
call GET '/v1/memories?kind=semantic&tag=food&limit=10'
call PATCH /v1/memories/diet '{"metadata": {"confirmed": true}}'
call POST /v1/memories/batch '{"operations": [{"op": "get", "id": "diet"}, {"op": "search", "query": "ramen"}]}'
call GET /v1/stats
call DELETE '/v1/memories/diet?reason=demo'
