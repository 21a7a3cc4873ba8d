#!/usr/bin/env bash
# Claude Code, one line each: a namespace of your own directory or bucket by command, or a running stack by URL.
set -euo pipefail

case ${1:-} in
  stdio) claude mcp add memory -- s3-agent-memory serve -n users/me ;;
  http) claude mcp add --transport http memory "${URL:-http://127.0.0.1:8787}/mcp" \
    --header "Authorization: Bearer ${TOKEN:-$(cat .agent-memory/token)}" ;;
  oauth) claude mcp add --transport http memory "${URL:?the address of a stack with an identity provider}/mcp" ;;
  *)
    echo "usage: claude_code.sh stdio|http|oauth" >&2
    exit 2
    ;;
esac
