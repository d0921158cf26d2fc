#!/usr/bin/env bash
# Serves an agent over HTTP to a client that runs a tool for it, and kills the
# server while it waits for the client. The first argument is the runtime command.
set -euo pipefail
runtime=$1
cd "$(dirname "$0")"

copy=$(mktemp -d) server=''
trap '{ kill -9 $server && wait $server; } 2>/dev/null || true; rm -rf "$copy"' EXIT
cp config.yaml replies.yaml run.json "$copy"
cd "$copy"
DESK_KEY=demo-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export DESK_KEY RUNTIME_API_KEY=$DESK_KEY
echo "X-API-Key: $DESK_KEY" >key

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\033[1m' plain=$'\033[0m'
fi
note() { printf '\n%s\n' "$*"; }
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }
serve() {
  say "runtime serve config.yaml &"
  : >log
  "$runtime" serve config.yaml 2>>log &
  server=$!
  for _ in $(seq 200); do
    if grep 'listening on' log; then return; fi
    sleep 0.05
  done
  cat log >&2
  exit 1
}
# api asks the server as clients of agent runs do.
api() { curl -sS --fail-with-body --max-time 60 -H @key "$URL/api/v1/workspaces/acme/$1" "${@:2}"; }
# data shows the events of a stream without what frames them.
data() { sed -n 's/^data: //p' | cut -c 1-100; }

note "A server with an agent, and a client that has a key:"
serve
URL=$(sed -n 's/.*listening on \(http[^ ]*\).*/\1/p' log | head -n 1)
say "runtime run --server $URL porter 'Where is the library?'"
"$runtime" run --server "$URL" porter 'Where is the library?'

note "A client of agent runs starts a run that needs the client's own tool. The run waits for it:"
say "curl -H @key $URL/api/v1/workspaces/acme/agent-runs -d @run.json"
api agent-runs -d @run.json | tee run
id=$(sed 's/.*"runId":"\([^"]*\)".*/\1/' run)
say "curl -N -H @key $URL/api/v1/workspaces/acme/agent-runs/$id/stream"
mkfifo stream
api "agent-runs/$id/stream" -N >stream 2>/dev/null &
sed '/"type":"local_tool_call"/q' stream | tee seen | data
last=$(sed -n 's/^id: //p' seen | tail -n 1)
say "kill -9 \$!"
kill -9 $server
wait $server 2>/dev/null || true

note "The next server accepts the answer, and the client continues after event $last:"
LISTEN=${URL#http://}
export LISTEN
serve
say "curl -H @key …/agent-runs/$id/tool-results -d '{\"toolUseId\": \"call_1\", \"result\": \"it is shut\"}'"
api "agent-runs/$id/tool-results" -d '{"toolUseId": "call_1", "result": "it is shut"}'
say "curl -H @key …/agent-runs/$id/stream?after=$last"
api "agent-runs/$id/stream?after=$last" | tee rest | data
grep -q '"text":"The door is shut."' rest

note "The same run as the operator sees it:"
say "runtime turns --server $URL"
"$runtime" turns --server "$URL"
kill $server
wait $server
