#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Takes the repairs of the core review back, one by one, and fails if the tests of the inner loop do not find it. Each is a patch with its sentence and
# the packages that find it; hack/test.sh check runs them.
#
#   hack/mutation/findings.sh [NUMBER...]
set -euo pipefail
cd "$(dirname "$0")/../.."
patches=()
for number in "${@:-*}"; do patches+=(hack/mutation/findings/$number.patch); done
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --null -T - -c | tar -x -C "$copy"
export FIRESTEEL_TESTS=check GOFLAGS=-trimpath CGO_ENABLED=0 # the compiled packages of this tree are those of the copy
failed=0
for patch in "${patches[@]}"; do
  patch --quiet --directory "$copy" --strip 1 <"$patch"
  read -ra packages < <(sed -n 's/^tests: //p' "$patch")
  what="$(basename "$patch" .patch): $(head -n 1 "$patch")"
  if ! (cd "$copy" && go test -vet=off -ldflags='-s -w' -run '^$' "${packages[@]}" >/dev/null); then
    echo "does not compile: $what" >&2
    failed=1
  elif (cd "$copy" && go test -vet=off -ldflags='-s -w' -short -failfast "${packages[@]}" >/dev/null 2>&1); then
    echo "no test finds $what" >&2
    failed=1
  else
    echo "found $what"
  fi
  patch --quiet --directory "$copy" --strip 1 --reverse <"$patch"
done
exit "$failed"
