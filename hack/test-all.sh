#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Proves all that can be proven, with nothing left out: every test with its long tails, the mutations, the fuzz targets for 30 seconds each, and
# failover and peaks of memory alone on the machine. What is proven is told to hack/release.sh by dist/proven, which has the commit.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -f dist/proven
say() { printf '== %s\n' "$*"; }
commit=$(git rev-parse HEAD)
changes=$(git status --porcelain)

CI=true FIRESTEEL_TESTS=all hack/test.sh
# what is measured or explored has the machine to itself
make --no-print-directory mutation
say "reading each page of the documentation site in a browser"
make --no-print-directory docs-check
say "living with a release as somebody who has neither Go nor Git"
hack/try-release.sh
while IFS=: read -r file target; do
  target=${target#func } target=${target%%(*}
  say "fuzzing $target of $(dirname "$file")"
  # shortening what reaches new code would take all of the time
  go test -vet=off -run '^$' -fuzz "^$target\$" -fuzztime 30s -fuzzminimizetime 1s "$(dirname "$file")"
done < <(grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9]*(' ./cmd ./docs ./internal ./hack ./test)
make --no-print-directory bench ARGS='--run crash:200,burst:100'

if [ -n "$changes$(git status --porcelain)" ] || [ "$(git rev-parse HEAD)" != "$commit" ]; then
  say "all passed; no release can be made of it, for the tree has changes that are not committed"
else
  mkdir -p dist
  echo "$commit" >dist/proven
  say "all passed: hack/release.sh may make a release of $commit"
fi
