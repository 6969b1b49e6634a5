#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR disable=SC2154
#
# A real one-node Kubernetes (API server, scheduler, kubelet, containerd) on this machine, without Docker.
#
#   cluster.sh up                start it, building and installing what is missing; does nothing when it is up
#   cluster.sh down              stop it and remove everything that belongs to it
#   cluster.sh status            its processes, memory, node and pods
#   cluster.sh check             succeed if this machine can run it, else say in one sentence what is missing
#   cluster.sh load-image TAR    import an OCI archive for the kubelet, unless it is there already
#   cluster.sh exec COMMAND...   run a command in the cluster's network, with KUBECONFIG and kubectl set
#   cluster.sh kubeconfig        print the path of the administrator's kubeconfig
#
# All addresses exist only in the cluster's own network namespace, so nothing here meets the machine's ports or
# firewall, and clusters of different names do not meet each other. kubectl must therefore run through `exec`.
#
# FIRESTEEL_CLUSTER            the cluster's name (firesteel); it names the network namespace and the cgroup
# FIRESTEEL_CLUSTER_DIR        the folder that holds the state of all clusters
# FIRESTEEL_CLUSTER_ADMISSION  additional admission plugins of the API server
# FIRESTEEL_CACHE              the folder that holds what was built
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
. "$here/settings.sh"
. "$here/needs.sh"
. "$here/pki.sh"
. "$here/sandbox.sh"
. "$here/control-plane.sh"
. "$here/node.sh"
. "$here/images.sh"
. "$here/teardown.sh"

usage() { sed -n '5,21s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; }

# lock keeps two runs from building up or tearing down clusters at once.
lock() {
  mkdir -p "$(cache_dir)"
  exec 9<"$(cache_dir)"
  flock -w 600 9 || die "another up or down has been running for 10 minutes"
}

is_up() {
  local daemon
  for daemon in "${daemons[@]}"; do daemon_runs "$daemon" || return 1; done
  api_ready && node_ready
}

up() {
  check_host
  lock
  if is_up; then
    say "cluster $name is up"
    return
  fi
  install_needs
  if [ -n "$(sandbox_pid)" ]; then
    say "cluster $name lacks some of its processes: starting them again"
  else
    # A machine that was restarted, or whose processes were killed, leaves files and groups that fit no process.
    if [ -n "$(leftovers)" ]; then
      say "found the remains of a cluster that was not shut down: starting afresh"
      tear_down
    fi
    say "starting cluster $name in $state"
    mkdir -p "$logs"
    link_programs
    make_pki
    make_sandbox
  fi
  start_etcd
  start_containerd
  start_apiserver
  ensure_pause_image
  wait_for "API server ready" 90 api_ready
  start_controllers
  start_node
  wait_for "node ready" 90 node_ready
  wait_for "service routing ready" 30 services_routed
  wait_for "default service account ready" 60 kube get serviceaccount default
  say "cluster $name is up; talk to it with: hack/cluster/cluster.sh exec kubectl get pods -A"
}

down() {
  [ "$(id -u)" = 0 ] || die "needs root"
  lock
  tear_down
  say "cluster $name is down, nothing is left"
}

require_up() {
  [ "$(id -u)" = 0 ] || die "needs root"
  [ -n "$(sandbox_pid)" ] || die "cluster $name is not up: run hack/cluster/cluster.sh up"
}

command=${1:-help}
[ $# -eq 0 ] || shift
case $command in
up) up ;;
down) down ;;
status) status ;;
check) check_host ;;
load-image)
  if [ $# -ne 1 ] || [ ! -r "$1" ]; then die "usage: cluster.sh load-image TAR (a readable OCI archive)"; fi
  require_up
  load_image "$1"
  ;;
exec)
  [ $# -gt 0 ] || die "usage: cluster.sh exec COMMAND..."
  require_up
  export KUBECONFIG=$kubeconfig PATH=$bin:$PATH
  exec nsenter --net="$netns" "$@"
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
