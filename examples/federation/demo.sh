#!/usr/bin/env bash
# Starts two runtimes, one of which calls the other, and kills the caller in between. The first argument is the runtime command.
set -euo pipefail
runtime=$1
cd "$(dirname "$0")"

copy=$(mktemp -d) archive='' desk=''
trap '{ kill -9 $archive $desk; wait; } 2>/dev/null || true; rm -rf "$copy"' EXIT
cp -r archive desk "$copy"
cd "$copy"
DESK_KEY=demo-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export DESK_KEY

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\033[1m' plain=$'\033[0m'
fi
note() { printf '\n%s\n' "$*"; }
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }
show() {
  say "runtime $*"
  "$runtime" "$@"
}
# until_is repeats a command until its output has a text.
until_is() {
  local text=$1
  shift
  for _ in $(seq 200); do
    if "$@" 2>&1 | grep -q "$text"; then return; fi
    sleep 0.05
  done
  echo "there never was: $text" >&2
  exit 1
}
serve_desk() {
  say "runtime serve desk/config.yaml &"
  "$runtime" serve desk/config.yaml 2>>desk.log &
  desk=$!
}

note "A runtime that serves its agent to others:"
say "runtime serve archive/config.yaml &"
"$runtime" serve archive/config.yaml 2>archive.log &
archive=$!
until_is 'listening on' cat archive.log
ARCHIVE_URL=$(sed -n 's/.*listening on \(http[^ ]*\).*/\1/p' archive.log | head -n 1)
export ARCHIVE_URL
grep '^runtime: ready' archive.log

note "A check of how others see it:"
say 'runtime doctor $ARCHIVE_URL/a2a/archivist --header "Authorization: Bearer $DESK_KEY"'
"$runtime" doctor "$ARCHIVE_URL/a2a/archivist" --header "Authorization: Bearer $DESK_KEY"

note "Another runtime, whose agent asks the archivist. Its configuration is valid only if the peer responds:"
show validate --online desk/config.yaml

note "The archivist asks before it lends. The question appears in the desk's turn:"
say 'echo yes | runtime run desk/config.yaml desk "I need letter 12." --approve ask'
echo yes | "$runtime" run desk/config.yaml desk "I need letter 12." --approve ask

note "A stored turn. The desk is killed while the archive searches:"
say 'runtime turns create desk/config.yaml desk "Are there letters of 1871?"'
turn=$("$runtime" turns create desk/config.yaml desk "Are there letters of 1871?" 2>/dev/null)
echo "$turn"
serve_desk
until_is ' running ' "$runtime" turns archive/config.yaml
say "kill -9 \$!"
kill -9 "$desk"
wait "$desk" 2>/dev/null || true

note "The next desk resumes the same task; the archive gets no request twice:"
serve_desk
until_is run_finish "$runtime" events desk/config.yaml "$turn"
say "runtime events desk/config.yaml $turn"
"$runtime" events desk/config.yaml "$turn" | cut -c 35-
show turns archive/config.yaml

note "The same task in the log of the archive:"
task=$("$runtime" turns archive/config.yaml | awk 'NR == 2 { print $1 }')
say "runtime events archive/config.yaml $task"
"$runtime" events archive/config.yaml "$task" | cut -c 35-
kill "$desk" "$archive"
wait "$desk" "$archive"
