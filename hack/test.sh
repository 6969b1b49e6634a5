#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs tests, and says at the end what each stage and package took, and what this machine could not run and why.
#
#   hack/test.sh                everything: first what fails early, then the rest
#   hack/test.sh check          what fails early, the rendered chart and a few specs of the integration
#   hack/test.sh units          tables, goldens, enumerations, tests of tools; Go caches what passed
#   hack/test.sh simulation     histories of applications, servers and schedules in a simulated cluster
#   hack/test.sh integration    what needs a kube-apiserver and etcd, the chart, the release and the pages among it
#   hack/test.sh hostile        the attacks on the operator under the chart's memory limit (Linux, root)
#   hack/test.sh schedulers     the scheduler plugins, with stand-ins and with the real schedulers; Kueue
#   hack/test.sh e2e            what needs a real node (Linux, root)
#   hack/test.sh node           no test: starts that node and loads Spark into it, for a run that comes later
#
# FIRESTEEL_TESTS says how much is proven: check (the inner loop), landing (the default: what CI runs) or all. Fresh seeds begin at FIRESTEEL_SEED, a
# random number by default. PACKAGES (./test/chart), RUN (the regexp of go test -run) and FOCUS (that of Ginkgo) narrow a run of one kind down.
# With CI=true nothing may be left out. The node of the e2e tests is a cluster of its own, which ends with the run.
set -euo pipefail
cd "$(dirname "$0")/.."

# Every package with tests is in one of these, which a run of everything compares with the tree.
units=(./api/... ./cmd/... ./docs/... ./hack/crd ./hack/fields ./hack/lifecycle ./hack/mutation ./hack/project ./hack/testreport ./hack/values ./internal/... ./test/bench/internal/... ./test/definitions ./test/family)
scripts=(./hack) # they run shell scripts, which Go's cache does not see
modules=(hack/image hack/publish)
simulation=(./test/simulation/...)
integration=(./test/integration/...)
short=(./test/bench ./test/docs/... ./test/release ./test/chart) # of the same kind
hostile=(./test/hostile)
schedulers=(./test/schedulers/...)
e2e=(./test/e2e/...)

what=${1:-all}
case $what in
all | check | units | simulation | integration | hostile | schedulers | e2e | node) ;;
*)
  echo "hack/test.sh: \"$what\": not a kind of tests; write one of: check units simulation integration hostile schedulers e2e node, or nothing for everything" >&2
  exit 2
  ;;
esac
[[ ${FIRESTEEL_SEED:-0} =~ ^[0-9]+$ ]] || { echo "hack/test.sh: FIRESTEEL_SEED: \"$FIRESTEEL_SEED\": not a seed; write a whole number" >&2; exit 2; }
case ${FIRESTEEL_TESTS:-landing} in
check | landing | all) ;;
*) echo "hack/test.sh: FIRESTEEL_TESTS: \"$FIRESTEEL_TESTS\": not how much is proven; write check, landing or all" >&2; exit 2 ;;
esac
report=$PWD/dist/test
rm -rf "$report"
mkdir -p "$report/specs" "$report/numbers"
export FIRESTEEL_STAGES=${FIRESTEEL_STAGES:-$report/times.txt}
. hack/stages.sh
export FIRESTEEL_CLUSTER=firesteel-e2e
export FIRESTEEL_NUMBERS=$report/numbers FIRESTEEL_SPECS=$report/specs
export FIRESTEEL_TESTS=${FIRESTEEL_TESTS:-landing}
export FIRESTEEL_SEED=${FIRESTEEL_SEED:-$((0x100000000 + $(od -An -N4 -tu4 /dev/urandom)))}
left_out=()
packages=()

say() { printf '== %s\n' "$*"; }

# tools builds what is not in the cache.
tools() {
  local tool
  for tool; do hack/tools/build.sh "$tool" >/dev/null; done
}

# programs builds the programs of this repository that tests run as processes, once for all of them. Go links again only what has changed.
programs() {
  mkdir -p dist/programs
  go build -buildvcs=false -ldflags '-s -w' -o dist/programs/ ./cmd/spark-operator ./cmd/kubectl-spark
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

start_node() {
  stage "tools of the node" tools volcano yunikorn scheduler-plugins ginkgo helm
  # silent when all is well: the last words belong to the report
  trap 'text=$(hack/cluster/cluster.sh down 2>&1) || { echo "$text" >&2; exit 1; }' EXIT
  node
  stage "clients" hack/tools/spark-clients.sh >/dev/null
  FIRESTEEL_E2E_KUBECONFIG=$(hack/cluster/cluster.sh kubeconfig)
  export FIRESTEEL_E2E_KUBECONFIG FIRESTEEL_E2E_NETNS=/run/netns/$FIRESTEEL_CLUSTER
  [ -n "${FOCUS:-}" ] || export FIRESTEEL_E2E_PROCESSES=3
}

# node leaves alone what is there already.
node() {
  # as in OpenShift: the operator has to have a right to the finalizers of what owns its objects
  FIRESTEEL_CLUSTER_ADMISSION=OwnerReferencesPermissionEnforcement stage "node" hack/cluster/cluster.sh up
  stage "images" load_images
}

# load_images loads the Spark images, one after the other since they share a layer, while the operator's is built for this machine.
load_images() {
  local spark older newest='' load
  spark=$(hack/image/build.sh spark)
  older=$(hack/image/build.sh spark 3.5.9)
  [ "$FIRESTEEL_TESTS" != all ] || newest=$(hack/image/build.sh spark 4.3.0)
  { hack/cluster/cluster.sh load-image "$spark" && hack/cluster/cluster.sh load-image "$older" && { [ -z "$newest" ] || hack/cluster/cluster.sh load-image "$newest"; }; } &
  load=$!
  [ "$what" = node ] || hack/cluster/cluster.sh load-image "$(hack/image/build.sh operator "$PWD/dist/spark-operator.tar" "$(go env GOARCH)")"
  wait "$load"
}

# go_test NAME ARGS... runs go test. Lint has vetted already, and nobody debugs these programs: linked without what debuggers read they take a third less.
go_test() {
  local name=$1
  shift
  "$runner" --format pkgname --format-hide-empty-pkg --jsonfile "$report/go-$name.json" -- -vet=off -ldflags='-s -w' ${RUN:+-run="$RUN"} "$@"
}

# module_tests NAME FOLDER runs the tests of another module.
module_tests() { (cd "$2" && GOWORK=off GOFLAGS='' go_test "$1" ./...); }

# quick runs what needs neither a cluster nor much time: whatever is broken there is told before the rest begins.
quick() {
  local module
  if [ -n "${PACKAGES:-}" ]; then
    for module in "${modules[@]}"; do
      case $PACKAGES in ./"$module"/*) module_tests chosen "$module"; return ;; esac
    done
    # shellcheck disable=SC2086
    go_test chosen -count=1 $PACKAGES
    return
  fi
  if [ "$what" != simulation ]; then
    # Go does not cache the result of a test that has written numbers
    FIRESTEEL_NUMBERS='' stage "units" go_test units "${units[@]}" || return
    stage "tests of scripts" go_test scripts -count=1 "${scripts[@]}" || return
    for module in "${modules[@]}"; do
      stage "tests of $module" module_tests "${module//\//-}" "$module" || return
    done
  fi
  [ "$what" = units ] || stage "simulation" go_test simulation -count=1 -timeout 60m "${simulation[@]}" || return
  [ "$what" = check ] || return 0
  stage "tools of the chart" tools helm kubernetes promql && stage "chart, as it is rendered" go_test chart -short ./test/chart && smoke
}

# smoke runs the few specs of the integration that show first that something is broken, with one API server.
smoke() {
  KUBEBUILDER_ASSETS=${KUBEBUILDER_ASSETS:-$(assets)} && stage "programs" programs || return
  export KUBEBUILDER_ASSETS FIRESTEEL_PROGRAMS=$PWD/dist/programs
  stage "smoke" go_test smoke -count=1 ./test/integration -ginkgo.label-filter=smoke -ginkgo.fail-on-empty
}

# all_listed compares the packages of a run of everything with those that have tests.
all_listed() {
  local with='{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' forgotten folder
  forgotten=$(comm -23 <(go list -f "$with" ./... | sort) \
    <(go list "${units[@]}" "${scripts[@]}" "${simulation[@]}" "${integration[@]}" "${short[@]}" "${hostile[@]}" "${schedulers[@]}" "${e2e[@]}" | sort))
  while read -r folder; do
    [ "$folder" = . ] || printf '%s\n' "${modules[@]}" | grep -xF "$folder" >/dev/null || [ -z "$(git ls-files "$folder/*_test.go")" ] || forgotten+=" $folder"
  done < <(git ls-files 'go.mod' '**/go.mod' | xargs -n 1 dirname)
  [ -z "$forgotten" ] || { say "these have tests, and no list of hack/test.sh has them:" $forgotten; return 1; }
}

# try_again runs once more, alone, what a busy machine may have broken. It fails when something does so again, or may not be tried.
try_again() {
  local tries call calls=0 failed=0
  tries=$(go run ./hack/testreport tries "$report")
  [ -n "$tries" ] || return 1
  mkdir -p "$report/again/specs"
  export FIRESTEEL_SPECS_BEFORE=$report/specs FIRESTEEL_SPECS=$report/again/specs
  unset FIRESTEEL_E2E_PROCESSES
  while IFS=$'\t' read -ra call; do
    say "trying again: ${call[*]}"
    calls=$((calls + 1))
    report=$report/again go_test "$calls" -count=1 -timeout 30m "${call[@]}" </dev/null || failed=1
  done <<<"$tries"
  return "$failed"
}

# finish prints the numbers that tests have published, and the report. Its exit code is that of the run.
finish() {
  local file
  for file in "$report"/numbers/*.txt; do
    [ ! -e "$file" ] || say "$(basename "$file" .txt): $(cat "$file")"
  done
  [ "$stages" = "$report/times.txt" ] || cp "$stages" "$report/times.txt"
  if [ -r /proc/stat ]; then
    awk -v before="$busy" -v hz="$(getconf CLK_TCK)" -v seconds="$SECONDS" \
      '/^cpu / { printf "%d\t%.0f\tthe whole machine, since hack/test.sh began\n", seconds, ($2 + $3 + $4 + $7 + $8 - before) / hz }' /proc/stat >>"$report/times.txt"
  fi
  say "FIRESTEEL_TESTS=$FIRESTEEL_TESTS FIRESTEEL_SEED=$FIRESTEEL_SEED"
  go run ./hack/testreport "$report" && [ "$status" = 0 ] || exit 1
  say "all passed"
  exit
}

if [ "$what" = node ]; then
  if hack/cluster/cluster.sh check 2>/dev/null; then node; fi # the tests say why there is none
  exit
fi
busy=$(awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat 2>/dev/null || echo 0)
runner=$(hack/tools/build.sh gotestsum)/gotestsum
# What is built here is what is released: the programs that tests build share its compiled packages.
export GOFLAGS=-trimpath CGO_ENABLED=0
export GOGC=200 # memory is there, and collecting garbage is a tenth of the time; what measures memory sets its own
status=0
case $what in
check | units | simulation | all)
  [ "$what" != all ] || all_listed
  quick || status=$?
  [ "$what" = all ] && [ "$status" = 0 ] || finish
  ;;
esac

stage "programs" programs
export FIRESTEEL_PROGRAMS=$PWD/dist/programs

# The longest comes first: go test begins packages in this order. Two of the long ones run at a time: with three e2e takes twice as long, and tests that
# count seconds fail. The short ones run one by one beside them: they wait most of their time.
if [ "$what" = all ] || [ "$what" = e2e ]; then
  if reason=$(hack/cluster/cluster.sh check 2>&1); then
    start_node
    packages+=("${e2e[@]}")
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
  packages+=("${integration[@]}")
fi
if [ "$what" = all ] || [ "$what" = hostile ]; then
  stage "tools of the attacks" tools helm
  packages+=("${hostile[@]}")
fi
if [ "$what" = all ] || [ "$what" = schedulers ]; then
  # the conformance tests have a network of their own, for the ports that real schedulers insist on, and cannot download there
  stage "tools of the schedulers" tools kubernetes kwok volcano yunikorn scheduler-plugins kueue
  packages+=("${schedulers[@]}")
fi

for reason in "${left_out[@]}"; do say "left out: $reason"; done
if [ ${#left_out[@]} -gt 0 ] && [ -n "${CI:-}" ]; then
  say "with CI set nothing may be left out"
  exit 1
fi
[ ${#packages[@]} -gt 0 ] || { say "nothing to run"; exit 1; }
beside=
if [ -n "${PACKAGES:-}" ]; then
  read -ra packages <<<"$PACKAGES"
elif [ "$what" = all ] || [ "$what" = integration ] && [ -z "${FOCUS:-}" ]; then
  go_test short -exec "$PWD/hack/timed.sh" -count=1 -p 1 -timeout 60m "${short[@]}" &
  beside=$!
fi
go_test suites -exec "$PWD/hack/timed.sh" -count=1 -p 2 -timeout 90m "${packages[@]}" ${FOCUS:+-ginkgo.focus="$FOCUS" -ginkgo.fail-on-empty} || status=$?
[ -z "$beside" ] || wait "$beside" || status=$?
if [ "$status" != 0 ] && [ -z "${PACKAGES:-}${RUN:-}${FOCUS:-}" ] && try_again; then status=0; fi
finish
