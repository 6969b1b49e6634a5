# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Ending a cluster, whatever state it is in, and proof that nothing is left of it.

tear_down() {
  end_processes
  remove_cgroups
  remove_network
  rm -rf --one-file-system "$state"
  rmdir "$(dirname "$state")" 2>/dev/null || true # stays while it holds another cluster
  local left
  left=$(leftovers)
  [ -z "$left" ] || die "cluster $name left something behind:"$'\n'"$left"
}

# end_processes kills everything in the cluster's group. Nothing deserves a gentle end: all state is thrown away, and an
# API server told to terminate would keep its port for up to a minute.
end_processes() {
  local deadline=$((SECONDS + 30)) pids
  # the first process of the sandbox takes all others with it; the rest of the loop is for half-made clusters
  pids=$(sandbox_pid)
  [ -z "$pids" ] || kill -9 "$pids" 2>/dev/null || true
  while pids=$(cgroup_pids) && [ -n "$pids" ]; do
    [ "$SECONDS" -lt "$deadline" ] || die "processes of cluster $name do not end: $(xargs <<<"$pids")"
    sleep 0.1
    # shellcheck disable=SC2086
    kill -9 $pids 2>/dev/null || true
  done
}

remove_network() {
  local guests
  guests=$(ip netns pids "$name" 2>/dev/null | xargs) || true
  [ -z "$guests" ] || say "these processes are still in the cluster's network (cluster.sh exec): $guests"
  # after a restart of the machine the name may be there without its namespace
  [ ! -e "$netns" ] || ip netns del "$name" 2>/dev/null || rm -f "$netns"
  # iproute2 makes the folder of names and a mount for it; both go when there are no more names
  [ -n "$(ls -A /run/netns 2>/dev/null)" ] || { umount /run/netns && rmdir /run/netns; } 2>/dev/null || true
}

remove_cgroups() {
  local root deadline=$((SECONDS + 10))
  while read -r root; do
    until [ ! -d "$root/$name" ] || [ "$SECONDS" -ge "$deadline" ]; do
      find "$root/$name" -depth -type d -exec rmdir {} \; 2>/dev/null || sleep 0.1
    done
  done < <(all_cgroup_roots)
}

# leftovers prints, one a line, whatever exists of the cluster. A control group cannot be removed while it has processes,
# so no groups also means no processes.
leftovers() {
  local root
  [ ! -e "$state" ] || echo "folder $state"
  [ ! -e "$netns" ] || echo "network namespace $netns"
  while read -r root; do
    [ ! -d "$root/$name" ] || echo "control group $root/$name"
  done < <(all_cgroup_roots)
  awk -v d="$state/" 'index($2, d) == 1 { print "mount " $2 }' /proc/mounts
  find /var/log/containers -maxdepth 1 -lname "$state/*" -printf 'log link %p\n' 2>/dev/null || true
}
