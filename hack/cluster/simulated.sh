#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR disable=SC2034
#
# A Kubernetes with a simulated node, where cluster.sh cannot run: without root, in a container, or on cgroup v2.
# API server, controllers and scheduler are real and listen on the loopback address at free ports. No pod runs: KWOK
# only writes their states, so that a Spark driver seems to run for five seconds and to succeed.
#
#   simulated.sh up | down | status
#   simulated.sh exec COMMAND...   run a command with KUBECONFIG and kubectl set
#   simulated.sh kubeconfig        print the path of the administrator's kubeconfig
#
# Environment as for cluster.sh. Tested on Linux as an ordinary user.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
. "$here/pki.sh"

name=${FIRESTEEL_CLUSTER:-firesteel}
root=${FIRESTEEL_CLUSTER_DIR:-$(cache_dir)/cluster}
state=$root/$name.simulated
logs=$state/logs
pki=$state/pki
bin=$state/bin
kubeconfig=$pki/admin.kubeconfig
node_name=simulated-node
daemons=(etcd kube-apiserver kube-controller-manager kube-scheduler kwok)

usage() { sed -n '5,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; }

kube() { "$bin/kubectl" --kubeconfig "$kubeconfig" --request-timeout=10s "$@"; }
api_ready() { kube get --raw /readyz >/dev/null 2>&1; }
node_ready() {
  [ "$(kube get node "$node_name" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}')" = True ]
}

# daemon_pid NAME prints the daemon's process. A number in a file may belong to another program now.
daemon_pid() {
  local pid
  pid=$(cat "$state/$1.pid" 2>/dev/null) || return 0
  case $(ps -p "$pid" -o args= 2>/dev/null) in
  "$bin/$1 "*) echo "$pid" ;;
  esac
}

# start NAME ARGUMENTS... starts a daemon unless it runs.
start() {
  local daemon=$1
  shift
  [ -z "$(daemon_pid "$daemon")" ] || return 0
  nohup "$bin/$daemon" "$@" >>"$logs/$daemon.log" 2>&1 </dev/null &
  echo $! >"$state/$daemon.pid"
}

# free_port prints a port on which no one listens, below those the system hands out automatically.
free_port() {
  local port attempt
  for attempt in $(seq 50); do
    port=$((20000 + (RANDOM + attempt) % 10000))
    ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || continue
    echo "$port"
    return
  done
  die "found no free port on 127.0.0.1"
}

choose_ports() {
  [ ! -s "$state/ports" ] || return 0
  printf '%s %s %s\n' "$(free_port)" "$(free_port)" "$(free_port)" >"$state/ports"
}

start_control_plane() {
  local etcd_port peer_port api_port
  read -r api_port etcd_port peer_port <"$state/ports"
  start etcd --data-dir="$state/etcd" --unsafe-no-fsync \
    --listen-client-urls="http://127.0.0.1:$etcd_port" --advertise-client-urls="http://127.0.0.1:$etcd_port" \
    --listen-peer-urls="http://127.0.0.1:$peer_port" --initial-advertise-peer-urls="http://127.0.0.1:$peer_port" \
    --initial-cluster="default=http://127.0.0.1:$peer_port"
  # the API server refuses to publish a loopback address as its Service's endpoint, and no pod would reach it anyway
  start kube-apiserver --etcd-servers="http://127.0.0.1:$etcd_port" --bind-address=127.0.0.1 \
    --secure-port="$api_port" --advertise-address=127.0.0.1 --endpoint-reconciler-type=none \
    --client-ca-file="$pki/ca.crt" --authorization-mode=RBAC \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/service-accounts.pub" \
    --service-account-signing-key-file="$pki/service-accounts.key" --service-cluster-ip-range=10.96.0.0/16
  wait_for "API server ready" 90 api_ready
  start kube-controller-manager --kubeconfig="$pki/kube-controller-manager.kubeconfig" --leader-elect=false \
    --secure-port=0 --root-ca-file="$pki/ca.crt" \
    --service-account-private-key-file="$pki/service-accounts.key" --use-service-account-credentials=true
  start kube-scheduler --kubeconfig="$pki/kube-scheduler.kubeconfig" --leader-elect=false --secure-port=0
  start kwok --kubeconfig="$kubeconfig" --config="$here/simulated-stages.yaml" --manage-all-nodes=true
}

create_node() {
  kube apply -f - >/dev/null <<EOY
apiVersion: v1
kind: Node
metadata:
  name: $node_name
  labels: {kubernetes.io/hostname: $node_name, kubernetes.io/os: linux, type: kwok}
status:
  allocatable: {cpu: 8, memory: 32Gi, pods: 110}
  capacity: {cpu: 8, memory: 32Gi, pods: 110}
EOY
}

is_up() {
  local daemon
  for daemon in "${daemons[@]}"; do [ -n "$(daemon_pid "$daemon")" ] || return 1; done
  api_ready && node_ready
}

up() {
  if is_up >/dev/null 2>&1; then
    say "simulated cluster $name is up"
    return
  fi
  require_commands openssl:openssl
  require_go
  if [ -d "$state" ] && [ -z "$(daemon_pid kube-apiserver)" ]; then
    say "found the remains of a cluster that was not shut down: starting afresh"
    down
  fi
  mkdir -p "$logs" "$bin"
  say "starting simulated cluster $name in $state"
  local tool dir
  for tool in kubernetes etcd kwok; do
    dir=$("$here/../tools/build.sh" "$tool") || die "could not build $tool"
    ln -sf "$dir"/* "$bin/"
  done
  choose_ports
  api_url=https://127.0.0.1:$(cut -d' ' -f1 "$state/ports") api_service_ip=
  [ -s "$kubeconfig" ] || make_pki
  start_control_plane
  create_node
  wait_for "simulated node ready" 60 node_ready
  wait_for "default service account ready" 60 kube get serviceaccount default
  say "simulated cluster $name is up. Nothing runs on its node: pods only seem to run, and Spark does not"
}

down() {
  local daemon pid deadline=$((SECONDS + 20))
  for daemon in "${daemons[@]}"; do
    pid=$(daemon_pid "$daemon")
    # no gentle end: an API server that gets SIGTERM would keep its port for up to a minute
    [ -z "$pid" ] || kill -9 "$pid"
    while [ -n "$(daemon_pid "$daemon")" ]; do
      [ "$SECONDS" -lt "$deadline" ] || die "$daemon (process $pid) does not end"
      sleep 0.1
    done
  done
  rm -rf "$state"
  rmdir "$root" 2>/dev/null || true # stays while it holds another cluster
  say "simulated cluster $name is down, nothing is left"
}

status() {
  local daemon
  if [ ! -d "$state" ]; then
    echo "simulated cluster $name is down"
    return 1
  fi
  echo "simulated cluster $name, state in $state"
  for daemon in "${daemons[@]}"; do printf '%-24s %s\n' "$daemon" "$(daemon_pid "$daemon" | grep . || echo DEAD)"; done
  kube get nodes,pods -A
}

require_up() { [ -n "$(daemon_pid kube-apiserver)" ] || die "simulated cluster $name is not up"; }

command=${1:-help}
[ $# -eq 0 ] || shift
case $command in
up | down | status) "$command" ;;
exec)
  [ $# -gt 0 ] || die "usage: simulated.sh exec COMMAND..."
  require_up
  KUBECONFIG=$kubeconfig PATH=$bin:$PATH exec "$@"
  ;;
kubeconfig)
  require_up
  echo "$kubeconfig"
  ;;
*)
  usage
  exit 2
  ;;
esac
