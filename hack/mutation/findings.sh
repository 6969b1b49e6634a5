#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Takes the repairs of the core review back, one by one, and fails if the tests of the inner loop do not find it. Each is a patch with its sentence and
# the packages that find it, which make check tests.
#
#   hack/mutation/findings.sh [NUMBER...]
set -euo pipefail
cd "$(dirname "$0")/../.."
patches=()
for number in "${@:-*}"; do patches+=(hack/mutation/findings/$number.patch); done
for patch in "${patches[@]}"; do
  [ -e "$patch" ] || { echo "findings.sh: \"$patch\": no such finding; there are: $(cd hack/mutation/findings && echo *.patch)" >&2; exit 2; }
done
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --null -T - -c | tar -x -C "$copy"
export FIRESTEEL_TESTS=check GOFLAGS=-trimpath CGO_ENABLED=0 # the compiled packages of this tree are those of the copy
failed=0
read -ra packages < <(sed -n 's/^tests: //p' "${patches[@]}" | tr ' ' '\n' | sort -u | xargs)
(cd "$copy" && go test -vet=off -ldflags='-s -w' -short "${packages[@]}" >/dev/null) || { echo "findings.sh: the tests fail with all repairs in place: run make check" >&2; exit 1; }
for patch in "${patches[@]}"; do
  git -C "$copy" apply "$PWD/$patch"
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
  git -C "$copy" apply --reverse "$PWD/$patch"
done
exit "$failed"
