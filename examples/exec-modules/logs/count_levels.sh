#!/usr/bin/env bash
# Prints how many lines of a log are errors, warnings and notes, as JSON.
set -euo pipefail

file=$1

fail() {
  printf '{"status": "error", "error": "%s"}\n' "$1"
  exit 1
}

# How many lines begin with a word.
count() {
  grep -c "^$1 " "$file" || true
}

cd "$TOOLCRIB_WORKSPACE"
# With its links followed, it has to be in the workspace.
file=$(realpath -- "$file" 2> /dev/null) || fail no_such_file
[[ $file == "$(pwd -P)"/* ]] || fail outside_of_the_workspace
[[ -f $file ]] || fail no_such_file

echo "reading ${file##*/}" >&2
printf '{"error": %d, "warning": %d, "info": %d}\n' "$(count ERROR)" "$(count WARN)" "$(count INFO)"
