#!/usr/bin/env bash
# Lets an agent edit a checkout of a git repository, and kills the server in between.
# The first argument is the runtime command.
set -euo pipefail
runtime=$1
cd "$(dirname "$0")"

copy=$(mktemp -d) server=''
trap '{ kill -9 $server && wait $server; } 2>/dev/null || true; rm -rf "$copy"' EXIT
cp config.yaml replies.yaml "$copy"
cd "$copy"

note() { printf '\n%s\n' "$*"; }
serve() {
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
# api asks the server as clients of sessions do.
api() { curl -sS --max-time 60 "$URL/api/v1/agent/$1" "${@:2}"; }
# expect fails unless the text on its input has a text, and shows it.
expect() { tee answer; echo; grep -qF "$1" answer || { echo "missing: $1" >&2; cat log >&2; exit 1; }; }
# say asks the agent something and waits for the end of the turn.
say() {
  api "sessions/$session/turns" -d '{"messages": [{"role": "user", "text": "'"$1"'"}], "toolRefs": [{"plugin": "*"}]}' >turn
  turn=$(sed 's/^{"id":"\([^"]*\)".*/\1/' turn)
  api "turns/$turn/events/stream" >events
  api "turns/$turn" | sed 's/.*"outputText":"\([^"]*\)".*/\1/'
}

mkdir shop
printf 'name,price\ntea,5\ncake,7\n' >shop/prices.csv
git init -q shop
git -C shop add .
git -C shop -c user.name=A -c user.email=a@example.com commit -qm 'prices of the spring'

note "A session with a checkout:"
serve
URL=$(sed -n 's/.*listening on \(http[^ ]*\).*/\1/p' log | head -n 1)
asks() { printf '{"workspace": {"checkouts": [{"url": "%s", "path": "shop"}], "cwd": "shop"}}' "$1"; }
api sessions -d "$(asks "file://$PWD/shop")" | expect 'prices of the spring'
session=$(sed 's/^{"id":"\([^"]*\)".*/\1/' answer)

note "A turn that edits it:"
say 'The tea costs 4.' | expect 'The price of the tea is corrected'

note "The server is killed; the next one uses the same checkout:"
kill -9 "$server"
wait "$server" 2>/dev/null || true
LISTEN=${URL#http://}
export LISTEN
serve
grep -q 'tea,4' spaces/*/*/shop/prices.csv
say 'The tea costs 4.' | expect 'I have not understood'
grep -o '"output":"[^"]*tea,4[^"]*"' events | head -n 1

note "Rejected requests:"
api sessions -d "$(asks https://github.com/other/shop)" | expect 'is not allowed'
api sessions -d "$(asks 'ext::sh -c id')" | expect 'checkouts[0].url'

note "The end of the session deletes the checkout:"
api "sessions/$session" -X PATCH -d '{"state": "archived"}' | expect '"state":"archived"'
if compgen -G 'spaces/*/*/shop' >/dev/null; then
  echo 'the checkout is still there' >&2
  exit 1
fi
grep 'tea,5' shop/prices.csv
