# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# What the machine must offer, each with its own error, and what is installed or built when it is missing.

check_host() {
  [ "$(uname -s)" = Linux ] || die "needs Linux; hack/cluster/simulated.sh works with simulated nodes instead"
  [ "$(id -u)" = 0 ] || die "needs root; hack/cluster/simulated.sh works with simulated nodes instead"
  local missing
  missing=$(missing_cgroup_controllers)
  [ -z "$missing" ] || die "needs cgroup v1 with the controllers $missing (only that was tested);" \
    "hack/cluster/simulated.sh works with simulated nodes instead"
  case $state/ in
  /run/* | /var/lib/* | /var/log/*)
    die "FIRESTEEL_CLUSTER_DIR must not lie in /run, /var/lib or /var/log: the cluster's processes see their own ones"
    ;;
  esac
  ! below_overlay "$state" || die "$state is on an overlay file system, where containerd cannot unpack images:" \
    "set FIRESTEEL_CLUSTER_DIR to a folder on another one"
  # the longest path of a Unix socket has 107 bytes
  [ ${#state} -le 64 ] || die "the path $state is too long for sockets: set FIRESTEEL_CLUSTER_DIR to a shorter one"
}

missing_cgroup_controllers() {
  local controller mounted missing=()
  mounted=,$(awk '$3 == "cgroup" { print $4 }' /proc/mounts | tr '\n' ','),
  for controller in memory cpu cpuset pids devices freezer; do
    [[ $mounted == *,$controller,* ]] || missing+=("$controller")
  done
  echo "${missing[*]}"
}

install_needs() {
  require_commands containerd:containerd runc:runc ip:iproute2 iptables:iptables conntrack:conntrack \
    openssl:openssl jq:jq nsenter:util-linux
  [ -n "$(cni_bin_dir)" ] || install_packages containernetworking-plugins
  require_go
}

# link_programs builds the Kubernetes programs, unless an earlier run did, and links them into the state folder.
link_programs() {
  local tool dir
  mkdir -p "$bin"
  for tool in kubernetes etcd coredns; do
    dir=$("$here/../tools/build.sh" "$tool") || die "could not build $tool"
    ln -sf "$dir"/* "$bin/"
  done
}

# cni_bin_dir prints the folder that holds the network plugins: Debian's, else the usual one elsewhere.
cni_bin_dir() {
  local dir
  for dir in /usr/lib/cni /opt/cni/bin; do
    [ ! -x "$dir/bridge" ] || { echo "$dir"; return; }
  done
}
