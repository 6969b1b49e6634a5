#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests that this machine can run, and says at the end what it left out and why.
#
#   hack/test.sh                everything
#   hack/test.sh integration    only what needs a kube-apiserver and etcd, the chart, the release and the pages among it
#   hack/test.sh hostile        only the attacks on the operator under the chart's memory limit (Linux, root)
#   hack/test.sh schedulers     only the scheduler plugins, with stand-ins and with the real schedulers
#   hack/test.sh e2e            only what needs a real node
#   hack/test.sh node           no test: starts that node and loads Spark into it, for a run that comes later
#
# With CI=true nothing may be left out. The node of the e2e tests is a cluster of its own, which ends with the run.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/stages.sh
what=${1:-all}
export FIRESTEEL_CLUSTER=firesteel-e2e
left_out=()
packages=()

say() { printf '== %s\n' "$*"; }

# tools builds what is not in the cache.
tools() {
  local tool
  for tool; do hack/tools/build.sh "$tool" >/dev/null; done
}

# assets gathers the programs of envtest in one folder: it wants them side by side.
assets() {
  local kubernetes etcd dir
  kubernetes=$(hack/tools/build.sh kubernetes)
  etcd=$(hack/tools/build.sh etcd)
  dir=$(dirname "$kubernetes")/envtest-$(basename "$kubernetes")
  mkdir -p "$dir"
  ln -sf "$kubernetes"/kube-apiserver "$kubernetes"/kubectl "$etcd"/etcd "$dir"/
  echo "$dir"
}

# schedulers builds what the conformance tests of the scheduler plugins run: they have no network to download it. They
# have a network of their own so that the ports are free that their schedulers insist on.
schedulers() {
  stage "tools of the schedulers" tools kubernetes kwok volcano yunikorn scheduler-plugins
  packages+=(./test/schedulers)
}

start_node() {
  stage "tools of the node" tools volcano yunikorn scheduler-plugins ginkgo helm
  # silent when all is well: the last words belong to the test runner
  trap 'text=$(hack/cluster/cluster.sh down 2>&1) || { echo "$text" >&2; exit 1; }' EXIT
  node
  stage "clients" hack/tools/spark-clients.sh >/dev/null
  FIRESTEEL_E2E_KUBECONFIG=$(hack/cluster/cluster.sh kubeconfig)
  export FIRESTEEL_E2E_KUBECONFIG FIRESTEEL_E2E_NETNS=/run/netns/$FIRESTEEL_CLUSTER FIRESTEEL_E2E_PROCESSES=3
  packages+=(./test/e2e/...)
}

# node leaves alone what is there already.
node() {
  # as in OpenShift: the operator has to have a right to the finalizers of what owns its objects
  FIRESTEEL_CLUSTER_ADMISSION=OwnerReferencesPermissionEnforcement stage "node" hack/cluster/cluster.sh up
  stage "images" load_images
}

# load_images loads the Spark images, one after the other since they share a layer, while the operator's is built.
load_images() {
  local spark older load
  spark=$(hack/image/build.sh spark)
  older=$(hack/image/build.sh spark 3.5.9)
  { hack/cluster/cluster.sh load-image "$spark" && hack/cluster/cluster.sh load-image "$older"; } &
  load=$!
  [ "$what" = node ] || hack/cluster/cluster.sh load-image "$(hack/image/build.sh operator)"
  wait "$load"
}

if [ "$what" = node ]; then
  if hack/cluster/cluster.sh check 2>/dev/null; then node; fi # the tests say why there is none
  exit
fi
runner=$(hack/tools/build.sh gotestsum)/gotestsum
# The longest comes first: go test begins packages in this order. Two run at a time: with three the cores are as busy (95 %), and tests that count seconds fail.
if [ "$what" = all ] || [ "$what" = e2e ]; then
  if reason=$(hack/cluster/cluster.sh check 2>&1); then
    start_node
  else
    left_out+=("test/e2e, real Spark jobs: ${reason#*ERROR: }")
  fi
fi
if [ "$what" != e2e ]; then
  KUBEBUILDER_ASSETS=${KUBEBUILDER_ASSETS:-$(assets)}
  export KUBEBUILDER_ASSETS
fi
if [ "$what" = all ] || [ "$what" = integration ]; then
  stage "tools of the integration" tools helm kwok cosign govulncheck
  packages+=(./test/integration/... ./test/chart ./test/release ./test/docs/... ./test/bench)
fi
if [ "$what" = all ] || [ "$what" = hostile ]; then
  stage "tools of the attacks" tools helm
  packages+=(./test/hostile)
fi
if [ "$what" = all ] || [ "$what" = schedulers ]; then
  schedulers
fi
if [ "$what" = all ]; then
  packages+=(./test/simulation/... ./api/... ./cmd/... ./docs/... ./hack/... ./internal/... ./test/bench/internal/...)
fi

for reason in "${left_out[@]}"; do say "left out: $reason"; done
if [ ${#left_out[@]} -gt 0 ] && [ -n "${CI:-}" ]; then
  say "with CI set nothing may be left out"
  exit 1
fi
[ ${#packages[@]} -gt 0 ] || { say "nothing to run"; exit 1; }

# Some tests measure: what they write into dist/numbers is shown before the runner's last word.
numbers=dist/numbers
log=dist/test.log
rm -rf "$numbers"
mkdir -p "$numbers"
status=0
"$runner" --format pkgname --format-hide-empty-pkg -- -count=1 -p 2 -timeout 45m "${packages[@]}" 2>&1 | tee "$log" || status=$?
for file in "$numbers"/*.txt; do
  [ ! -e "$file" ] || say "$(basename "$file" .txt): $(cat "$file")"
done
say "minutes of each stage, and of the longest packages, two of which run at a time:"
cat "$stages"
awk '/^(✓|✖) / && $3 !~ /ms\)/ {
  n = split(substr($3, 2), t, /[ms]/); s = n > 2 ? t[1] * 60 + t[2] : t[1]
  if (s + 0 >= 5) printf "%3d:%02d  %s\n", s / 60, s % 60, $2
}' "$log" | sort -r
grep -a '^DONE' "$log" | tail -1
exit $status
