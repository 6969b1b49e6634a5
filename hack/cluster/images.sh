# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154,SC2034
# Images in the cluster's containerd, and the report of `status`.

pause_image=firesteel.local/pause:1

node_ctr() { timeout 300 ctr --address "$containerd_socket" --namespace k8s.io "$@"; }

# load_image ARCHIVE imports an OCI archive unless containerd has all its images with the same digests.
load_image() {
  local archive=$1 images image digest missing=
  images=$(archive_images "$archive") || die "$archive is not an OCI archive whose images have names"
  while read -r image digest; do
    [ "$(loaded_digest "$image")" = "$digest" ] || missing+=" $image"
  done <<<"$images"
  if [ -z "$missing" ]; then
    say "already loaded: $(cut -d' ' -f1 <<<"$images" | xargs)"
    return
  fi
  say "loading$missing ($(($(stat -c %s "$archive") >> 20)) MiB)"
  node_ctr images import "$archive" >/dev/null || die "containerd could not import $archive"
  # as if it had been pulled, so that a pod may name it by its digest
  while read -r image digest; do
    node_ctr images tag --force "$image" "${image%:*}@$digest" >/dev/null || die "containerd could not name $image by its digest"
  done <<<"$images"
  say "loaded$missing"
}

# archive_images ARCHIVE prints name and digest of each image. The index is near the start of an archive of ours.
archive_images() {
  tar --occurrence=1 -xOf "$1" index.json 2>/dev/null |
    jq -er '.manifests[] | "\(.annotations["io.containerd.image.name"]) \(.digest)"'
}

loaded_digest() { node_ctr images ls "name==$1" | awk -v image="$1" '$1 == image { print $3 }'; }

ensure_pause_image() {
  local archive
  archive=$("$here/../image/build.sh" pause) || die "could not build the pause image"
  load_image "$archive"
}

status() {
  local daemon pid failed=0
  [ "$(id -u)" = 0 ] || die "needs root"
  if [ -z "$(sandbox_pid)" ]; then
    echo "cluster $name is down"
    return 1
  fi
  echo "cluster $name, state in $state, $(du -sm "$state" 2>/dev/null | cut -f1) MiB on disk"
  printf '%-24s %8s %9s\n' PROCESS PID MEMORY
  for daemon in "${daemons[@]}"; do
    pid=$(daemon_pid "$daemon")
    if [ -n "$pid" ]; then
      printf '%-24s %8s %5d MiB\n' "$daemon" "$pid" $(($(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status") / 1024))
    else
      printf '%-24s %8s\n' "$daemon" DEAD
      failed=1
    fi
  done
  echo "memory without page cache: daemons $(group_memory system) MiB, pods $(group_memory kubepods) MiB"
  kube get nodes,pods -A -o wide || failed=1
  [ "$failed" = 0 ] || echo "cluster $name is damaged: run hack/cluster/cluster.sh up"
  return "$failed"
}

# group_memory SUBGROUP prints MiB.
group_memory() {
  awk '/^total_rss / { print int($2 / 1048576); found = 1 } END { if (!found) print 0 }' \
    "$(memory_cgroup)/$1/memory.stat" 2>/dev/null || echo 0
}
