#!/usr/bin/env bash
# Shows what the runtime does, on the example in this folder. The first argument
# is the runtime command. Set OPENAI_API_KEY to run the turn on a real model.
set -euo pipefail
runtime=$1
cd "$(dirname "$0")"

if [ -n "${OPENAI_API_KEY:-}" ]; then
  export DEMO_PROVIDER=openai DEMO_MODEL="${DEMO_MODEL:-gpt-4o-mini}"
fi

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\033[1m' plain=$'\033[0m'
fi

note() { printf '\n%s\n' "$*"; }
# show runs a command that must end with the given exit code.
show() {
  local want=$1 code=0
  shift
  printf '\n%s$ runtime %s%s\n' "$bold" "$*" "$plain"
  "$runtime" "$@" || code=$?
  [ "$code" -eq "$want" ] || { echo "the exit code is $code, not $want" >&2; exit 1; }
  [ "$code" -eq 0 ] || echo "(exit code $code)"
}

note "Every agent of the file resolves; no model is called:"
show 0 validate config.yaml

note "How the assistant resolves, and why it lacks a tool:"
show 0 explain config.yaml assistant
show 0 explain config.yaml assistant --tool dangerous-reset

note "A turn: two tool calls at the same time, one of them another agent:"
show 0 run config.yaml assistant "Is the release ready?"

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp config.yaml replies.yaml handbook.md "$copy"
cd "$copy"

note "A turn with a handoff, an approval and structured output:"
show 0 run config.yaml editor "Note that the checks were done today." --approve yes

note "A change that widens access fails in CI:"
sed -e 's/excluded_tool_patterns: .*/excluded_tool_patterns: []/' config.yaml >wider.yaml
show 1 diff --fail-on widened config.yaml wider.yaml

note "A copy of the file with five mistakes, all found at once:"
sed -e 's/model_id: resilient/model_id: resiliant/' \
    -e 's/delegates: \[researcher, editor\]/delegates: [reseacher, editor]/' \
    -e 's/"handbook_\*"/"handbook_*", "handbok_[*"/' \
    -e 's/default_behavior: allow/default_behavior: alow/' \
    -e 's/      permission:/      permision: {}\n      permission:/' \
    config.yaml >broken.yaml
show 1 validate broken.yaml
