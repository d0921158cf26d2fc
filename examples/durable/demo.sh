#!/usr/bin/env bash
# Kills a server in the middle of a payment, and shows what the next one does.
# The first argument is the runtime command.
set -euo pipefail
runtime=$1
cd "$(dirname "$0")"

copy=$(mktemp -d) server=
trap '{ kill -9 $server && wait $server; } 2>/dev/null || true; rm -rf "$copy"' EXIT
cp config.yaml replies.yaml "$copy"
cd "$copy"

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\033[1m' plain=$'\033[0m'
fi
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }
# until_event waits for an event of the turn.
until_event() {
  for _ in $(seq 200); do
    if "$runtime" events config.yaml "$turn" | grep -q "$1"; then return; fi
    sleep 0.05
  done
  echo "there never was an event $1" >&2
  exit 1
}
serve() {
  say "runtime serve --listen none config.yaml &"
  "$runtime" serve --listen none config.yaml 2>log &
  server=$!
}

printf '\nA turn is stored, and a server works on it:\n'
say 'runtime turns create config.yaml clerk "Pay order A-17."'
turn=$("$runtime" turns create config.yaml clerk "Pay order A-17." 2>/dev/null)
echo "$turn"
serve
until_event tool_call_ready
until [ -e payments ]; do sleep 0.02; done
say "kill -9 \$!"
kill -9 $server
wait $server 2>/dev/null || true

printf '\nThe next server resumes the turn. It does not pay twice:\n'
serve
until_event run_finish
say "runtime events config.yaml $turn"
"$runtime" events config.yaml "$turn" | cut -c 35-
say "cat payments"
cat payments
kill $server
wait $server
