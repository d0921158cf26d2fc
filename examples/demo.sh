#!/usr/bin/env bash
# Shows the runtime in seven steps, in about 80 lines. The first argument is the
# runtime command. No key is needed; with OPENAI_API_KEY step 3 asks a model of OpenAI.
set -euo pipefail
runtime=$1
examples=$(cd "$(dirname "$0")" && pwd)
copy=$(mktemp -d) server=''
# stop kills the server, without the shell's message about it.
stop() { { kill "${1:--TERM}" "$server" && wait "$server"; } 2>/dev/null || true; }
trap '[ -z "$server" ] || stop -9; rm -rf "$copy"' EXIT
cp -r "$examples"/{team,evals,durable} "$copy"

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\033[1m' plain=$'\033[0m'
fi
title() { printf '\n%s%s%s\n%b\n' "$bold" "$1" "$plain" "$2"; }
say() { printf '\n$ %s\n' "$*"; }
# show runs a command that must end with the given exit code.
show() {
  local want=$1 code=0 line=runtime word
  shift
  for word in "$@"; do
    case $word in *' '*) line+=" \"$word\"" ;; *) line+=" $word" ;; esac
  done
  say "$line"
  "$runtime" "$@" || code=$?
  [ "$code" -eq "$want" ] || { echo "the exit code is $code, not $want" >&2; exit 1; }
}
# wait_for repeats a command until it succeeds.
wait_for() {
  for _ in $(seq 400); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.05
  done
  echo "timed out: $*" >&2
  exit 1
}

cd "$copy/team"
title '1. Mistakes are found before deployment.' \
  'A typo in a model and one in a section of rules. validate exits with 1, so CI stops here.'
sed -e 's/model_id: resilient/model_id: resiliant/' -e 's/      permission:$/      permision:/' config.yaml >broken.yaml
show 1 validate broken.yaml

title '2. Access can be explained.' 'Why does the assistant not have this tool?'
show 0 explain config.yaml assistant --tool dangerous-reset

title '3. An agent calls tools and other agents.' \
  'The assistant reads a file with a tool while it asks the agent researcher.'
if [ -n "${OPENAI_API_KEY:-}" ]; then
  export DEMO_PROVIDER=openai DEMO_MODEL="${DEMO_MODEL:-gpt-4o-mini}"
fi
show 0 run config.yaml assistant 'Is the release ready?'

title '4. Wider access does not slip through.' \
  'Somebody removes an exclusion. diff names the agent and the tool, and exits with 1.'
sed 's/excluded_tool_patterns: .*/excluded_tool_patterns: []/' config.yaml >wider.yaml
show 1 diff --fail-on widened config.yaml wider.yaml

cd "$copy/evals"
title '5. Behavior is tested without a model.' \
  'Cases run with recorded answers. Here a rule no longer asks before a refund of 400: one case
catches the change.'
sed 's/amount > 100/amount > 1000/' config.yaml >changed.yaml
show 1 eval changed.yaml --baseline config.yaml

cd "$copy/durable"
serve() {
  say 'runtime serve --listen none config.yaml &'
  "$runtime" serve --listen none config.yaml 2>>log &
  server=$!
}
has_event() { "$runtime" events config.yaml "$turn" | grep "$1"; }
title '6. A turn survives kill -9.' 'The server is killed while the tool pay is running. The next server resumes the turn.'
say 'runtime turns create config.yaml clerk "Pay order A-17."'
turn=$("$runtime" turns create config.yaml clerk 'Pay order A-17.' 2>/dev/null)
echo "$turn"
serve
wait_for has_event tool_call_ready
wait_for test -e payments
say 'kill -9 $!    # in the middle of the payment'
stop -9
serve
wait_for has_event run_finish
say "runtime events config.yaml $turn | grep -E 'run_|ready|text'"
"$runtime" events config.yaml "$turn" | grep -E 'run_|ready|text' | cut -c 35-

title '7. It did not pay twice.' \
  'The file has one line: pay has the effect "once", so it never repeats. The model was told that
its outcome is unknown.'
say 'cat payments'
cat payments
stop

printf '\nThat was the tour. Longer ones, with A2A, HTTP clients and git checkouts: make demo-all\n'
