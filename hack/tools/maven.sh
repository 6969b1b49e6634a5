#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
#
# Prints the path of a jar that is only in Maven packages.
#
#   hack/tools/maven.sh jmx-exporter VERSION     the JMX exporter, an agent for Java that shows Spark's metrics to Prometheus
#   hack/tools/maven.sh spark-connect VERSION    Spark Connect's server for Spark 3.5, which pyspark does not have
#
# VERSION is one of those below, which is in the Maven package of this version. The result is cached outside the tree, by version.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../cluster/lib.sh"

declare -A artifacts=(
  [jmx-exporter]=io.prometheus.jmx:jmx_prometheus_javaagent
  [spark-connect]=org.apache.spark:spark-connect_2.12
)

# What the packages must be. Both majors of the JMX exporter are in use, and they name counters differently.
declare -A sums=(
  [jmx-exporter-0.20.0]=8b67ed40485d475648c36d11d21464b484406f85faf912b3363f71a6a7861320
  [jmx-exporter-1.0.1]=7d61f737fd661610ccc14aea79764faa1ea94a340cbc8f0029b3d2edea3d80c1
  [spark-connect-3.5.7]=15366e21273a874c760b51fa00743a2acb8fa78642cc35d7a076a3ade0c5eef6
)

# download lets Maven fetch the package into a repository of its own, which is removed. With -C a file whose checksum differs from that in
# the repository ends it, which is what there is for the plugin that copies the jar; the jar itself must be the one that is recorded here.
download() {
  local work artifact=${artifacts[$name]}
  require_commands mvn:maven
  work=$(mktemp -d "$cache/$name.XXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  say "downloading $name $version"
  (cd "$work" && timeout 600 mvn -q -B -C -Dmaven.repo.local="$work/repository" \
    org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
    -Dartifact="$artifact:$version" -DoutputDirectory="$work") >"$work/mvn.log" 2>&1 || {
    tail -5 "$work/mvn.log" >&2
    die "mvn could not download $name $version"
  }
  echo "${sums[$name-$version]}  $work/${artifact#*:}-$version.jar" | sha256sum --check --status ||
    die "$name $version is not what it was: its checksum differs from the one in ${BASH_SOURCE[0]}"
  mv "$work/${artifact#*:}-$version.jar" "$jar"
}

name=${1:-} version=${2:-}
[ -n "${sums[${name:-no}-${version:-none}]:-}" ] ||
  die "usage: maven.sh NAME VERSION (one of: $(printf '%s\n' "${!sums[@]}" | sed -E 's/-([0-9])/ \1/' | sort -V | paste -sd, | sed 's/,/, /g'))"
cache=$(cache_dir)/tools
jar=$cache/$name-$version.jar
mkdir -p "$cache"
exec 9>"$cache/$name.lock"
flock -w 900 9 || die "another download of $name has not finished within 15 minutes"
[ -e "$jar" ] || download
echo "$jar"
