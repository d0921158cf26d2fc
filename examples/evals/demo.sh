#!/usr/bin/env bash
# Tests the clerk of this folder, and catches a change of its rules. The first argument is
# the runtime command.
set -euo pipefail
runtime=$1
cd "$(dirname "$0")"

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\033[1m' plain=$'\033[0m'
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r config.yaml evals orders "$copy"
cd "$copy"

show() {
  local want=$1 code=0
  shift
  printf '\n%s$ runtime %s%s\n' "$bold" "$*" "$plain"
  "$runtime" "$@" || code=$?
  [ "$code" -eq "$want" ] || { echo "the exit code is $code, not $want" >&2; exit 1; }
  [ "$code" -eq 0 ] || echo "(exit code $code)"
}

printf '\nAgents are tested without keys, with recorded models and stubbed tools.\n'
show 0 eval config.yaml

printf '\nA changed rule is valid, but the clerk now makes a forbidden call:\n'
sed 's/amount > 100/amount > 1000/' config.yaml >changed.yaml
show 0 validate changed.yaml
show 1 eval changed.yaml --baseline config.yaml
