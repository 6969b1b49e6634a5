# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What each stage of a run takes: .ci/run gathers the stages of all its scripts, and hack/test.sh shows them at the end.

stages=${FIRESTEEL_STAGES:-$(mktemp)}
export FIRESTEEL_STAGES=$stages

# spent sets `cpu` to the CPU seconds of all that this shell has waited for. `times` would say those of a subshell in a substitution.
spent() {
  local file
  file=$(mktemp)
  times >"$file"
  cpu=$(awk 'NR == 2 { n = split($1 "m" $2, t, /[ms]+/); print t[1] * 60 + t[2] + t[3] * 60 + t[4] }' "$file")
  rm "$file"
}

# stage NAME COMMAND... runs a command, and notes its seconds, its CPU seconds and its name in a line; the exit code is the command's.
stage() {
  local name=$1 start=$SECONDS status cpu before
  shift
  spent
  before=$cpu
  "$@" # with `|| status=$?` it would not end at its first error
  status=$?
  spent
  printf '%d\t%s\t%s\n' $((SECONDS - start)) "$(awk "BEGIN { print $cpu - $before }")" "$name" >>"$stages"
  return "$status"
}
