# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# Names, folders and addresses of one cluster.

name=${FIRESTEEL_CLUSTER:-firesteel}
[[ $name =~ ^[a-z][a-z0-9-]{0,19}$ ]] ||
  die "FIRESTEEL_CLUSTER must be a short lower-case name (a-z, 0-9, -), not \"$name\""

# below_overlay DIR reports whether the folder would lie on an overlay file system, as in a container: containerd
# cannot stack its own overlays on one.
below_overlay() {
  local dir=$1
  until [ -d "$dir" ]; do dir=$(dirname "$dir"); done
  [ "$(stat -f -c %T "$dir")" = overlayfs ]
}

# state_root prints the first folder that can hold containerd's overlays.
state_root() {
  local dir
  if [ -n "${FIRESTEEL_CLUSTER_DIR:-}" ]; then
    realpath -m "$FIRESTEEL_CLUSTER_DIR"
    return
  fi
  for dir in "$(cache_dir)/cluster" /var/tmp/firesteel-cluster /tmp/firesteel-cluster; do
    below_overlay "$dir" || break
  done
  realpath -m "$dir"
}

state=$(state_root)/$name
logs=$state/logs
pki=$state/pki
kubeconfig=$pki/admin.kubeconfig
containerd_socket=$state/containerd.sock
netns=/run/netns/$name

node_name=node1
node_ip=10.88.0.1
pod_cidr=10.88.0.0/16
service_cidr=10.96.0.0/16
api_service_ip=10.96.0.1
api_url=https://$node_ip:6443

daemons=(etcd containerd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy coredns)

# links to the built programs
bin=$state/bin

# kube runs kubectl as the administrator, inside the cluster's network.
kube() { nsenter --net="$netns" "$bin/kubectl" --kubeconfig "$kubeconfig" --request-timeout=10s "$@"; }

api_ready() { kube get --raw /readyz >/dev/null 2>&1; }

node_ready() {
  [ "$(kube get node "$node_name" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}' 2>/dev/null)" = True ]
}

# services_routed: kube-proxy has written the rule for the API server's own Service.
services_routed() { nsenter --net="$netns" iptables-save | grep "$api_service_ip/32" >/dev/null; }
