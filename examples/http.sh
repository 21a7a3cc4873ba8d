#!/usr/bin/env bash
# A walk through the HTTP API. Start the local stack first (make run); needs curl 7.76 or newer.
# It stops at the first request that is refused, and can be run as often as you like.
#
#   URL=https://... TOKEN=sam_... examples/http.sh     for a deployed stack
set -euo pipefail

url=${URL:-http://127.0.0.1:${PORT:-8787}}
token=${TOKEN:-$(cat .agent-memory/token)}
# An id is used once: one that was forgotten stays refused, unless "resurrect" is asked for.
id=diet-$(date +%s)-$$

call() { # method path [body]
  printf '\n%s %s\n' "$1" "$2"
  curl -sS --fail-with-body -X "$1" "$url$2" \
    -H "Authorization: Bearer $token" -H 'Content-Type: application/json' ${3:+-d "$3"}
}

call POST /v1/memories '{"content": "Alice is vegetarian", "id": "'"$id"'", "tags": ["food"], "importance": 0.8}'
call POST /v1/memories '{"content": "Asked for a ramen recipe", "kind": "episodic", "ttl": 604800}'
call POST /v1/memories/search '{"query": "what can Alice eat, vegetarian?", "limit": 3}'
call POST /v1/memories/search '{"query": "", "filter": {"importance": {"$gte": 0.8}}}'
call GET '/v1/memories?kind=semantic&tag=food&limit=10'
call PATCH "/v1/memories/$id" '{"metadata": {"confirmed": true}}'
call POST /v1/memories/batch '{"operations": [{"op": "get", "id": "'"$id"'"}, {"op": "search", "query": "ramen"}]}'
call GET /v1/stats
call DELETE "/v1/memories/$id?reason=demo"
