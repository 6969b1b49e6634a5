# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How long each stage of a run takes: .ci/run gathers the stages of all its scripts, and hack/test.sh shows them at the end.

stages=${FIRESTEEL_STAGES:-$(mktemp)}

# stage NAME COMMAND... runs a command and notes its minutes and seconds.
stage() {
  local name=$1 start=$SECONDS took
  shift
  "$@"
  took=$((SECONDS - start))
  [ "$took" = 0 ] || printf '%3d:%02d  %s\n' $((took / 60)) $((took % 60)) "$name" >>"$stages"
}
