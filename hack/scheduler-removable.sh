#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves that the core does not know any scheduler: without a plugin's folder and its line in cmd/plugins/plugins.go the program compiles, and
# without all of them the core's tests compile and those of the program pass. The tree stays as it is: Go is given an overlay, in which these
# files are missing, so that only what imports them is compiled again.
set -euo pipefail
cd "$(dirname "$0")/.."
registration=cmd/plugins/plugins.go
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
started=$SECONDS

# overlay PLUGIN... prints the path of an overlay without these plugins' files and without their lines: the import and the registration.
overlay() {
  local plugin lines name
  name=$(tr ' ' - <<<"$*")
  cp "$registration" "$work/$name.go"
  for plugin; do
    lines=$(grep -cE "^\s+$plugin\.\w" "$registration") || true
    [ "$lines" = 1 ] || { echo "scheduler-removable: $plugin is registered in $lines lines of $registration, not in one" >&2; return 1; }
    sed -i -e "/internal\/scheduler\/$plugin\"/d" -E -e "/^\s+$plugin\.\w/d" "$work/$name.go"
  done
  {
    printf '{"Replace": {"%s": "%s"' "$PWD/$registration" "$work/$name.go"
    for plugin; do find "$PWD/internal/scheduler/$plugin" -name '*.go' -printf ', "%p": ""'; done
    printf '}}'
  } >"$work/$name.json"
  echo "$work/$name.json"
}

plugins=()
for folder in internal/scheduler/*/; do
  name=$(basename "$folder")
  if [ "$name" != kube ] && grep -q "internal/scheduler/$name\"" "$registration"; then plugins+=("$name"); fi
done
[ ${#plugins[@]} -gt 0 ] || { echo "scheduler-removable: no plugins in $registration" >&2; exit 1; }
for plugin in "${plugins[@]}"; do
  without=$(overlay "$plugin")
  go vet -overlay "$without" ./cmd/plugins ./cmd/spark-operator
done
without=$(overlay "${plugins[@]}")
go vet -overlay "$without" ./internal/scheduler ./internal/scheduler/kube ./internal/admission ./internal/config ./internal/controller/... ./internal/informers ./internal/reservations ./internal/operator
env -u CI go test -vet=off -overlay "$without" ./cmd/plugins ./cmd/spark-operator
echo "scheduler-removable: ${plugins[*]} can each be deleted ($((SECONDS - started)) s)"
