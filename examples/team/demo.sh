#!/usr/bin/env bash
# Shows what the runtime does, on the example in this folder. The first argument
# is the runtime command. Set OPENAI_API_KEY to run the turn on a real model.
set -euo pipefail
runtime=$1
cd "$(dirname "$0")"

if [ -n "${OPENAI_API_KEY:-}" ]; then
  export DEMO_PROVIDER=openai DEMO_MODEL="${DEMO_MODEL:-gpt-4o-mini}"
fi

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
show() {
  say "runtime $*"
  "$runtime" "$@"
}

show validate config.yaml
show explain config.yaml assistant
show explain config.yaml assistant --tool dangerous-reset
show run config.yaml assistant "Is the release ready?"

broken=$(mktemp -d)
trap 'rm -rf "$broken"' EXIT
sed -e 's/model_id: resilient/model_id: resiliant/' \
    -e 's/delegates: \[researcher, editor\]/delegates: [reseacher, editor]/' \
    -e 's/"handbook_\*"/"handbook_[*"/' \
    -e 's/default_behavior: allow/default_behavior: alow/' \
    -e 's/      permission:/      permision: {}\n      permission:/' \
    config.yaml >"$broken/config.yaml"
cp replies.yaml handbook.md "$broken"

printf '\nA copy of the file with five mistakes:\n'
cd "$broken"
say "runtime validate config.yaml"
code=0
"$runtime" validate config.yaml || code=$?
[ "$code" -eq 1 ] || { echo "validate should have found errors, but its exit code is $code" >&2; exit 1; }
