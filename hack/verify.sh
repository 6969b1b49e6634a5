#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Regenerates everything that is generated and fails if that changes the tree: what is committed is what the sources say.
#
#   hack/verify.sh              all of that, lint, and what is installed
#   hack/verify.sh generated    only what is generated, and only if its sources are not those of the last commit
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/stages.sh
export GOFLAGS=-trimpath CGO_ENABLED=0 # as the tests and the image: they share compiled packages

state() { git status --porcelain --untracked-files=all; git diff HEAD 2>/dev/null | sha256sum; }

generated=''
[ "${1:-}" != generated ] || generated=1
sources=(api internal/controller internal/webhook internal/namespaced internal/lifecycle test/domain test/family hack config charts docs)
[ -z "$generated" ] || [ -n "$(git status --porcelain --untracked-files=all -- "${sources[@]}")" ] || exit 0

before=$(state)
stage "verify: generate" make --no-print-directory generate manifests
[ -n "$generated" ] || stage "verify: tidy" go mod tidy
after=$(state)
if [ "$before" != "$after" ]; then
  echo "verify: generated files were out of date; they are regenerated now, commit them:" >&2
  git status --short >&2
  exit 1
fi
[ -z "$generated" ] || exit 0
if [ -n "${CI:-}" ] && [ -n "$(git status --porcelain)" ]; then
  echo "verify: the tree is not clean:" >&2
  git status --short >&2
  exit 1
fi
stage "verify: PROJECT" go run ./hack/project
ginkgo() { go list -C "$1" -m -f '{{.Version}}' github.com/onsi/ginkgo/v2; }
[ "$(ginkgo .)" = "$(ginkgo hack/tools/ginkgo)" ] || { echo "verify: hack/tools/ginkgo has $(ginkgo hack/tools/ginkgo), go.mod has $(ginkgo .): Ginkgo refuses to run tests of another version" >&2; exit 1; }
stage "verify: lint" make --no-print-directory lint
stage "verify: plugins removable" hack/scheduler-removable.sh
stage "verify: vulncheck" hack/vulncheck.sh
for crd in config/crd/bases/*.yaml; do
  size=$(stat -c %s "$crd")
  [ "$size" -lt 100000 ] || { echo "verify: $crd has $size bytes, the budget is 100000" >&2; exit 1; }
done

# words finds words that hack/words.txt replaces, in what is released.
words() {
  local pattern instead found=0
  while IFS=$'\t' read -r pattern instead; do
    case $pattern in '' | '#'*) continue ;; esac
    if git grep -nwE "$pattern" -- internal cmd api config/crd charts docs README.md SECURITY.md ':!*_test.go' ':!*/testdata/*' ':!internal/testutil'; then
      echo "verify: \"$pattern\": write instead: $instead" >&2
      found=1
    fi
  done <hack/words.txt
  return "$found"
}
stage "verify: words" words

# subjects finds the long ones among the last 50 commits; 6c958b18 landed before the rule.
subjects() {
  local long
  long=$(git log -50 --format='%h %s' | awk '$1 !~ /^6c958b18/ && length($0) - length($1) - 1 > 72')
  [ -z "$long" ] || { echo "verify: a subject has at most 72 characters, and the reason stands in the body:" >&2; echo "$long" >&2; return 1; }
}
stage "verify: subjects" subjects

# render renders what is installed: with kustomize, and with Helm.
render() {
  local kubectl helm tree values
  kubectl=$(hack/tools/build.sh kubernetes)/kubectl
  for tree in config/default config/samples config/overlays/*; do
    "$kubectl" kustomize "$tree" >/dev/null || { echo "verify: $tree does not render" >&2; exit 1; }
  done
  "$(hack/tools/build.sh promql)/promql" charts/spark-operator/files/dashboard.json charts/spark-operator/files/alerts.yaml
  helm=$(hack/tools/build.sh helm)/helm
  "$helm" lint --strict charts/spark-operator
  for values in "" "spark.jobNamespaces={}" "controller.replicas=2,prometheus.metrics.enable=false,fullnameOverride=other" "webhook.enable=false,userRoles.create=true"; do
    "$helm" template spark-operator charts/spark-operator -n spark-operator ${values:+--set "$values"} >/dev/null
  done
}
stage "verify: manifests and chart" render
echo "verify: clean"
