#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR disable=SC2034
#
# Builds container images as OCI archives, without a container engine, and prints the archive's path.
#
#   build.sh pause                 firesteel.local/pause:1, the first process of every pod of the local cluster
#   build.sh spark [VERSION]       apache/spark:VERSION (4.1.4), a whole Spark with Java and Python
#   build.sh spark-home [VERSION]  prints the SPARK_HOME of the same Spark, for a spark-submit on this machine
#   build.sh base-sums             prints what base.sha256 is to hold: the packages of Debian's signed index as they are today
#   build.sh operator [TAR [ARCH...]]   firesteel.local/spark-operator:dev, or FIRESTEEL_IMAGE, for linux/amd64 and linux/arm64, at dist/
#
# What does not change from run to run is cached in FIRESTEEL_CACHE, keyed by everything that goes into it.
# FIRESTEEL_VERSION is the version the operator reports; without it, git is asked.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
. "$here/../cluster/lib.sh"
. "$here/base.sh"
. "$here/pyspark.sh"
. "$here/spark.sh"
. "$here/classes.sh"
. "$here/operator.sh"
cache=$(cache_dir)/images

# the same files must always give the same layer
layer_tar() { tar --numeric-owner --sort=name --mtime=@0 --format=gnu "$@"; }

# key FILE... prints a short digest of the files' content.
key() { cat -- "$@" | sha256sum | cut -c1-12; }

# oci ARGUMENTS... runs the archive writer (see oci/main.go).
oci() {
  GOWORK=off GOFLAGS='' CGO_ENABLED=0 go build -C "$here" -buildvcs=false -o "$cache/oci" ./oci
  "$cache/oci" "$@"
}

# keep_only ARCHIVE PATTERN removes what earlier versions of these scripts built.
keep_only() { find "$cache" -maxdepth 1 -name "$2" ! -path "$1" -exec rm -rf {} +; }

pause() {
  local archive work
  archive=$cache/pause-$(key "$here/build.sh" "$here/pause/main.go" "$here"/go.sum "$here"/oci/*.go).tar
  if [ ! -e "$archive" ]; then
    require_go
    work=$(mktemp -d "$cache/work.XXXX")
    GOWORK=off GOFLAGS='' CGO_ENABLED=0 go build -C "$here" -trimpath -buildvcs=false -ldflags '-s -w' \
      -o "$work/root/pause" ./pause
    layer_tar --owner=0 --group=0 -C "$work/root" -cf "$work/layer.tar" pause
    oci -out "$archive" -name firesteel.local/pause:1 -user 65535:65535 -entrypoint /pause \
      -layer "linux/$(go env GOARCH)=$work/layer.tar"
    rm -rf "$work"
    keep_only "$archive" 'pause-*.tar'
    say "built firesteel.local/pause:1"
  fi
  echo "$archive"
}

command=${1:-help}
[ $# -eq 0 ] || shift
case $command in
pause | spark | spark-home | base-sums | operator)
  mkdir -p "$cache"
  exec 9<"$cache" # one build at a time
  flock -w 1800 9 || die "another image build has been running for 30 minutes"
  rm -rf "$cache"/work.* # of a build that was interrupted
  "${command/-/_}" "$@"
  ;;
*)
  sed -n '5,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
  ;;
esac
