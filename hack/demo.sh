#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
#
# From nothing to a finished SparkPi: builds the tools and images, starts a local Kubernetes, installs the operator,
# runs the two samples and shows what happens. Safe to repeat; a second run takes about a minute.
#
# Where the real cluster cannot run, it uses simulated nodes and says so: the operator then works for real, Spark not.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=cluster/lib.sh
. "$repo/hack/cluster/lib.sh"
export lib_started # the scripts called from here count from the same moment

apps=(spark-pi pyspark-pi)
operator_namespace=spark-operator
operator_deployment=spark-operator-controller
run_limit=240 # seconds for both applications, far more than they need

work=$(mktemp -d)
events=$work/events # lines of: milliseconds, kind, application, event, state or phase, role
background=()

stop_background() {
  local pid
  for pid in "${background[@]}"; do stop "$pid"; done
  background=()
}

# stop ends a process and what it has started: Ctrl-C does not reach what a script runs in the background. The process first: a shell that
# sees its command killed prints "Terminated".
stop() {
  local child children
  children=$(cat "/proc/$1"/task/*/children 2>/dev/null) || true
  kill "$1" 2>/dev/null || true
  for child in $children; do stop "$child"; done
}
trap 'stop_background; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

step() {
  echo >&2
  say "== $*"
}

# k runs kubectl against the cluster in use.
k() { "$cluster" exec kubectl --request-timeout=20s "$@"; }

choose_cluster() {
  local reason
  cluster=$repo/hack/cluster/cluster.sh
  simulated=
  if ! reason=$("$cluster" check 2>&1); then
    simulated=yes
    cluster=$repo/hack/cluster/simulated.sh
    echo "${reason#*ERROR: }" >&2
    say "NOTE: using simulated nodes. The operator works for real; Spark itself will not run."
  fi
}

# expected prints the parts that this machine builds once and still lacks, each with its seconds on two cores (measured with empty caches).
expected() {
  local part
  for part in kubernetes:310 etcd:30 coredns:60; do
    "$repo/hack/tools/build.sh" "${part%:*}" --built >/dev/null || echo "$part"
  done
  compgen -G "$(cache_dir)/images/spark-4*.tar" >/dev/null || echo "spark-image:20" # mostly downloads, beside the others
  # what the operator is compiled from is in Go's cache if it has been built before
  [ -e "$repo/dist/spark-operator.tar" ] || echo "operator-image:30"
}

# announce says what is built and how long that takes, and then how much is left of it.
announce() {
  local parts seconds
  parts=$(expected)
  [ -n "$parts" ] || return 0
  seconds=$(awk -F: -v cores="$(nproc)" '{ n += $2 } END { print int(n * 2 / cores) }' <<<"$parts")
  say "built once on this machine: $(cut -d: -f1 <<<"$parts" | paste -sd ' '): about $(minutes "$seconds")"
  while sleep 30; do
    seconds=$((seconds - 30))
    say "about $(minutes "$seconds") left"
  done &
  background+=($!)
}

# minutes SECONDS says a time that is only an estimate.
minutes() { if [ "$1" -gt 90 ]; then echo "$((($1 + 30) / 60)) minutes"; else echo "a minute"; fi; }

# build_images builds the images while the programs of the cluster are built: there is always something that waits for a download or a linker.
build_images() {
  nice "$repo/hack/image/build.sh" spark >"$work/spark-image"
  nice "$repo/hack/image/build.sh" operator "$repo/dist/spark-operator.tar" "$(go env GOARCH)" >"$work/operator-image"
}

load_images() {
  wait "$images" || die "the images were not built"
  "$cluster" load-image "$(cat "$work/spark-image")"
  "$cluster" load-image "$(cat "$work/operator-image")"
  operator_digest=$(tar --occurrence=1 -xOf "$(cat "$work/operator-image")" index.json | jq -r '.manifests[0].digest')
}

# install_operator installs config/default with the image just built. Its digest stands in an annotation, so that the controller
# restarts exactly when the image has changed. Helm would take minutes to build.
install_operator() {
  [ -z "$(k get secrets -n "$operator_namespace" -l owner=helm -o name 2>/dev/null)" ] ||
    die "this cluster has an operator that Helm has installed: helm uninstall it, or end the cluster with make cluster-down"
  mkdir "$work/operator"
  cat >"$work/operator/kustomization.yaml" <<EOY
resources: [$(realpath --relative-to="$work/operator" "$repo/config/default")]
patches:
- target: {kind: Deployment}
  patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: any}
    spec: {template: {metadata: {annotations: {demo.firesteel.dev/image: "$operator_digest"}}}}
EOY
  k apply --server-side --force-conflicts -k "$work/operator" >/dev/null
  k rollout status -n "$operator_namespace" "deployment/$operator_deployment" --timeout=120s --request-timeout=0 >/dev/null || {
    show_operator >&2
    die "the operator was not ready within 120 seconds"
  }
  wait_for "operator leads" 30 operator_leads
}

# operator_leads: a pod that exists holds the lease. A controller is ready before that but acts only from then on, and
# the times to be shown are not those of its start.
operator_leads() {
  local holder
  holder=$(k get leases -n "$operator_namespace" -o jsonpath='{.items[0].spec.holderIdentity}')
  [ -n "$holder" ] && k get pod -n "$operator_namespace" "${holder%%_*}"
}

# run_operator_here is for simulated nodes, where no pod runs: the operator becomes a process of this machine.
run_operator_here() {
  cat >"$work/config.yaml" <<EOY
apiVersion: config.firesteel.dev/v1alpha1
kind: OperatorConfiguration
metrics: {bindAddress: "0"}
health: {bindAddress: "0"}
EOY
  require_go
  go build -C "$repo" -buildvcs=false -o "$work/spark-operator" ./cmd/spark-operator
  k apply --server-side --force-conflicts -k "$repo/config/crd" >/dev/null
  k wait --for=condition=Established crd --all --timeout=30s >/dev/null
  "$cluster" exec "$work/spark-operator" --config="$work/config.yaml" >"$work/operator.log" 2>&1 &
  background+=($!)
}

show_operator() {
  echo "--- operator log (end)"
  if [ -n "$simulated" ]; then
    tail -n 25 "$work/operator.log"
  else
    k logs -n "$operator_namespace" "deployment/$operator_deployment" --tail=25 || true
    k get pods -n "$operator_namespace" || true
  fi
}

remove_earlier_runs() {
  k delete sparkapplications.sparkoperator.k8s.io "${apps[@]}" --ignore-not-found --timeout=60s --request-timeout=0 >/dev/null
  k wait --for=delete pod -l "sparkoperator.k8s.io/app-name in ($(IFS=,; echo "${apps[*]}"))" \
    --timeout=60s --request-timeout=0 >/dev/null || die "pods of an earlier run do not go away"
}

# watch_into_events KIND PATH FIELDS appends one line per change, stamped on arrival. Objects carry no time finer than
# a second, so this is how the demo measures milliseconds.
watch_into_events() {
  local kind=$1 path=$2 fields=$3
  mkfifo "$work/$kind.fifo"
  path+='&watch=1&timeoutSeconds=600&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  nice -n -10 "$cluster" exec kubectl get --raw "$path" \
    >"$work/$kind.fifo" 2>"$work/$kind.err" &
  background+=($!)
  nice -n -10 jq --unbuffered -r "[(now * 1000 | floor), \"$kind\"] + if .type == \"BOOKMARK\" then [\"-\", \"LISTENING\"] else
    .object | $fields end | join(\" \")" <"$work/$kind.fifo" >>"$events" 2>>"$work/$kind.err" &
  background+=($!)
}

start_watches() {
  : >"$events"
  # shellcheck disable=SC2016
  watch_into_events app '/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications?limit=0' \
    '[.metadata.name, "CHANGED", .status.applicationState.state // "" | if . == "" then "NEW" else . end]'
  watch_into_events pod '/api/v1/namespaces/default/pods?labelSelector=spark-role' \
    '[.metadata.labels["sparkoperator.k8s.io/app-name"] // "-", "CHANGED", .status.phase, .metadata.labels["spark-role"]]'
  wait_for "watching applications and pods" 15 sh -c "[ \$(grep -c LISTENING '$events') = 2 ]"
}

# follow prints each new state of an application once, until both have ended or the time is up.
follow() {
  local deadline=$((SECONDS + run_limit)) kind app state ended=0
  declare -A last=()
  exec 5<"$events"
  while [ "$ended" -lt "${#apps[@]}" ]; do
    if ! read -r -u 5 _ kind app _ state _; then
      [ "$SECONDS" -lt "$deadline" ] || return 1
      sleep 0.1
      continue
    fi
    [[ " ${apps[*]} " == *" $app "* ]] || continue # someone tries one of their own beside
    if [ "$kind" != app ] || [ "$app" = - ] || [ "${last[$app]:-}" = "$state" ]; then continue; fi
    last[$app]=$state
    say "$(printf '%-12s %s' "$app" "$state")"
    case $state in COMPLETED | FAILED) ended=$((ended + 1)) ;; esac
  done
}

# first KIND APP VALUE [ROLE] prints when the line first appeared; VALUE may be "any".
first() {
  awk -v kind="$1" -v app="$2" -v value="$3" -v role="${4:-}" '
    $2 == kind && $3 == app && (value == "any" || $5 == value) && (role == "" || $6 == role) { print $1; exit }' "$events"
}

# since FROM TO UNIT prints the difference of two times, or a dash when one of them never came.
since() {
  if [ -z "$1" ] || [ -z "$2" ]; then
    echo -
  elif [ "$3" = ms ]; then
    # Two streams are stamped by two processes: on a busy machine the later event may be read first.
    [ "$2" -gt "$1" ] && echo "$(($2 - $1)) ms" || echo "~0 ms"
  else
    awk -v ms=$(($2 - $1)) 'BEGIN { printf "%.1f s\n", ms / 1000 }'
  fi
}

timing_table() {
  local app created
  printf '%-12s %22s %18s %15s\n' APPLICATION 'CREATED -> DRIVER POD' '-> DRIVER RUNNING' '-> COMPLETED'
  for app in "${apps[@]}"; do
    created=$(first app "$app" any)
    printf '%-12s %22s %18s %15s\n' "$app" \
      "$(since "$created" "$(first pod "$app" any driver)" ms)" \
      "$(since "$created" "$(first pod "$app" Running driver)" s)" \
      "$(since "$created" "$(first app "$app" COMPLETED)" s)"
  done
}

# explain APP prints what one would ask for when an application has failed.
explain() {
  echo "--- status of $1"
  k get sparkapplications.sparkoperator.k8s.io "$1" -o json | jq '.status' || true
  echo "--- events"
  k get events --sort-by=.lastTimestamp | awk -v object="/$1" 'NR == 1 || index($4, object)' | tail -n 15 || true
  echo "--- driver log (end)"
  k logs "$1-driver" --tail=25 || true
}

check_result() {
  local app state failed=
  for app in "${apps[@]}"; do
    state=$(k get sparkapplications.sparkoperator.k8s.io "$app" -o jsonpath='{.status.applicationState.state}')
    if [ "$state" != COMPLETED ]; then
      explain "$app"
      failed+=" $app:${state:-NEW}"
    elif [ -z "$simulated" ] && ! k logs "$app-driver" | grep 'Pi is roughly 3\.1' >/dev/null; then
      explain "$app"
      failed+=" $app:no-result"
    fi
  done
  [ -z "$failed" ] || {
    show_operator
    die "not all applications succeeded:$failed"
  }
}

show_result() {
  local app
  for app in "${apps[@]}"; do
    if [ -n "$simulated" ]; then
      echo "$app: its driver was simulated and has no log"
    else
      echo "--- log of $app-driver (end)"
      k logs "$app-driver" | grep -E 'Job 0 finished|Pi is roughly|Successfully stopped SparkContext' | cut -c1-140
    fi
  done
  echo
  k get sparkapplications.sparkoperator.k8s.io
  echo
  timing_table
}

show_next() {
  local tool=${cluster#"$repo/"}
  cat <<EOT

Next, from $repo:
  $tool exec kubectl get sparkapplications.sparkoperator.k8s.io,pods
  $tool exec kubectl describe sparkapplications.sparkoperator.k8s.io spark-pi
EOT
  if [ -n "$simulated" ]; then
    cat <<EOT
  $tool down

The operator was a process of this demo and has ended with it. Spark itself did not run.
EOT
  else
    cat <<EOT
  $tool exec kubectl logs spark-pi-driver
  $tool exec kubectl logs -n $operator_namespace deployment/$operator_deployment
  $tool exec kubectl replace --force -f config/samples/spark-pi.yaml     # run it again
  make cluster-status
  make cluster-down
EOT
  fi
}

choose_cluster
require_go
step "Kubernetes"
if [ -z "$simulated" ]; then
  announce
  build_images &
  images=$!
  background+=("$images")
fi
"$cluster" up
require_commands jq:jq
if [ -n "$simulated" ]; then
  step "operator, as a process of this machine"
  run_operator_here
else
  step "images"
  load_images
  stop_background
  step "operator"
  install_operator
fi
step "applications: ${apps[*]}"
remove_earlier_runs
start_watches
k apply -k "$repo/config/samples" >/dev/null
follow || say "not finished within $run_limit seconds"
check_result
step "result"
show_result
say "done"
show_next
