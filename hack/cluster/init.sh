#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The first process of a cluster's sandbox (see sandbox.sh). It prepares the private file system view and then reaps
# orphans until it is stopped; when it ends, the kernel ends every other process of the sandbox.
#
#   init.sh STATE_FOLDER
set -euo pipefail
state=$1

# pods may ask for mount propagation, which needs a shared root; this one is shared with no one outside
mount --make-rshared /

# The kubelet, containerd's shims and iptables keep sockets, locks and log links at fixed places. Here they get empty
# ones, so that two clusters do not meet and nothing of them is left on the machine.
for dir in /run /var/lib /var/log; do mount -t tmpfs -o mode=755 tmpfs "$dir"; done

# The kubelet insists on these values and would set them for the whole machine. It reads first: show it what it wants.
pretend() {
  echo "$2" >"$state/sysctl-$(basename "$1")"
  mount --bind "$state/sysctl-$(basename "$1")" "$1"
}
pretend /proc/sys/vm/overcommit_memory 1
pretend /proc/sys/vm/panic_on_oom 0
pretend /proc/sys/kernel/panic 10
pretend /proc/sys/kernel/panic_on_oops 1

trap 'exit 0' TERM
touch "$state/sandbox-ready"
while :; do
  sleep 3600 &
  wait $! || true
done
