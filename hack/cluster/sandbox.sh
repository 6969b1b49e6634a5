# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The cluster's sandbox: namespaces for network, mounts and processes, and one control group for everything in it.
#
# All daemons and pods live in one process namespace, so that ending its first process ends them all, and with them
# their mounts. The control group is the list of what runs: there are no pid files that could be stale.

# cgroup_roots prints the mount points of the cgroup v1 hierarchies.
cgroup_roots() { awk '$3 == "cgroup" { print $2 }' /proc/mounts; }

# all_cgroup_roots includes the cgroup2 hierarchy of a hybrid machine: runc makes empty groups there too.
all_cgroup_roots() { awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts; }

memory_cgroup() { awk -v n="$name" '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2 "/" n; exit }' /proc/mounts; }

make_cgroups() {
  local root dir
  while read -r root; do
    for dir in "$root/$name" "$root/$name/system"; do
      mkdir -p "$dir"
      [ ! -e "$dir/cpuset.cpus" ] || { # a new cpuset group is empty and takes no process
        cat "$root/cpuset.cpus" >"$dir/cpuset.cpus"
        cat "$root/cpuset.mems" >"$dir/cpuset.mems"
      }
    done
    # without it the group's memory would not include the pods'; some kernels only have the hierarchical mode
    [ ! -e "$root/$name/memory.use_hierarchy" ] || echo 1 >"$root/$name/memory.use_hierarchy" 2>/dev/null || true
  done < <(cgroup_roots)
}

# enter_cgroup moves the calling shell, and so what it starts, into the group of the daemons.
enter_cgroup() {
  local root
  while read -r root; do echo 0 >"$root/$name/system/cgroup.procs"; done < <(cgroup_roots)
}

# cgroup_pids [SUBGROUP] prints the processes of the cluster (of a subgroup and what lies below it).
cgroup_pids() {
  { find "$(memory_cgroup)${1:+/$1}" -name cgroup.procs -exec cat {} + 2>/dev/null || true; } | sort -un
}

# sandbox_pid prints the sandbox's first process as seen from outside: number 1 in a namespace one level down.
sandbox_pid() {
  local pid
  for pid in $(cgroup_pids system); do
    awk -v pid="$pid" '/^NSpid:/ && NF == 3 && $3 == 1 { print pid }' "/proc/$pid/status" 2>/dev/null || true
  done
}

# daemon_pid NAME prints the daemon's process as seen from outside. The kernel keeps 15 bytes of a process's name.
daemon_pid() {
  local pid comm
  for pid in $(cgroup_pids system); do
    read -r comm 2>/dev/null <"/proc/$pid/comm" || continue
    [ "$comm" != "${1:0:15}" ] || { echo "$pid"; return; }
  done
}

daemon_runs() { [ -n "$(daemon_pid "$1")" ]; }

make_sandbox() {
  make_cgroups
  make_network
  (
    enter_cgroup
    exec setsid nsenter --net="$netns" unshare --mount --propagation private --pid --fork --mount-proc \
      "$here/init.sh" "$state"
  ) >>"$logs/sandbox.log" 2>&1 </dev/null 9<&- &
  wait_for "sandbox ready" 10 test -e "$state/sandbox-ready"
}

# make_network gives the namespace its only interface, the bridge of the pods, which also carries the node's address
# (not every kernel has a dummy device). The default route makes service addresses reach iptables at all.
make_network() {
  ip netns add "$name"
  local ns=(nsenter --net="$netns")
  "${ns[@]}" ip link set lo up
  "${ns[@]}" sysctl -qw net.ipv4.ip_forward=1
  "${ns[@]}" ip link add cni0 type bridge
  "${ns[@]}" ip addr add "$node_ip/${pod_cidr#*/}" dev cni0
  "${ns[@]}" ip link set cni0 up
  "${ns[@]}" ip route add default dev cni0
}

# in_sandbox COMMAND... runs a command as a process of the sandbox.
in_sandbox() { nsenter --target "$(sandbox_pid)" --net --mount --pid -- "$@"; }

# start NAME COMMAND... starts a daemon in the sandbox unless it runs. It becomes a child of the sandbox's first process.
start() {
  local daemon=$1
  shift
  ! daemon_runs "$daemon" || return 0
  (
    enter_cgroup
    # shellcheck disable=SC2016
    in_sandbox bash -c 'setsid "$@" &' start "$@"
  ) >>"$logs/$daemon.log" 2>&1 </dev/null 9<&-
}
