#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves that the core does not know any scheduler: without a plugin's folder and its line in
# cmd/plugins/plugins.go the program compiles, and the core's tests pass. It works on a copy in dist/.
set -euo pipefail
cd "$(dirname "$0")/.."
registration=cmd/plugins/plugins.go
copy=dist/scheduler-removable
started=$SECONDS

# fresh makes the copy again, with what is not committed yet. Its place is always the same, so that builds are cached.
fresh() {
  rm -rf "$copy"
  mkdir -p "$copy"
  git ls-files -co --exclude-standard -- '*.go' 'internal/**' 'config/crd/**' go.mod go.sum | while read -r file; do
    [ ! -e "$file" ] || echo "$file"
  done | tar -cf - -T - | tar -xf - -C "$copy"
}

# without deletes a plugin and its lines: the import and the registration.
without() {
  rm -r "$copy/internal/scheduler/$1"
  local lines
  lines=$(grep -cE "^\s+$1\.\w" "$copy/$registration")
  [ "$lines" = 1 ] || { echo "scheduler-removable: $1 is registered in $lines lines of $registration, not in one" >&2; exit 1; }
  sed -i -e "/internal\/scheduler\/$1\"/d" -E -e "/^\s+$1\.\w/d" "$copy/$registration"
}

plugins=$(cd internal/scheduler && for folder in */; do
  name=${folder%/}
  grep -q "internal/scheduler/$name\"" "../../$registration" && [ "$name" != kube ] && echo "$name"
done)
[ -n "$plugins" ] || { echo "scheduler-removable: no plugins in $registration" >&2; exit 1; }
for plugin in $plugins; do
  fresh
  without "$plugin"
  (cd "$copy" && go vet ./cmd/plugins ./cmd/spark-operator)
done
fresh
for plugin in $plugins; do without "$plugin"; done
(cd "$copy" && go build -o /dev/null ./cmd/spark-operator &&
  env -u CI go test ./internal/scheduler ./internal/scheduler/kube ./internal/admission ./internal/config ./internal/controller/... ./internal/informers ./internal/operator ./cmd/plugins ./cmd/spark-operator)
rm -rf "$copy"
echo "scheduler-removable: $(echo $plugins | tr ' ' ',') can each be deleted ($((SECONDS - started)) s)"
