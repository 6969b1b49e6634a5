#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
#
# Prints the path of the JMX exporter's jar, an agent for Java that shows Spark's metrics to Prometheus.
#
#   hack/tools/jmx-exporter.sh VERSION     VERSION is one of those below, which is in the Maven package of this version
#
# The result is cached outside the tree, by version.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../cluster/lib.sh"

# What the packages must be. Both majors are in use, and they name counters differently.
declare -A sums=(
  [0.20.0]=8b67ed40485d475648c36d11d21464b484406f85faf912b3363f71a6a7861320
  [1.0.1]=7d61f737fd661610ccc14aea79764faa1ea94a340cbc8f0029b3d2edea3d80c1
)

# download lets Maven fetch the package into a repository of its own, which is removed.
download() {
  local work name=jmx_prometheus_javaagent
  require_commands mvn:maven
  work=$(mktemp -d "$cache/jmx-exporter.XXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  say "downloading the JMX exporter $version"
  (cd "$work" && timeout 600 mvn -q -B -Dmaven.repo.local="$work/repository" \
    org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
    -Dartifact="io.prometheus.jmx:$name:$version" -DoutputDirectory="$work") >"$work/mvn.log" 2>&1 || {
    tail -5 "$work/mvn.log" >&2
    die "mvn could not download the JMX exporter $version"
  }
  echo "${sums[$version]}  $work/$name-$version.jar" | sha256sum --check --status ||
    die "the JMX exporter $version is not what it was: its checksum differs from the one in ${BASH_SOURCE[0]}"
  mv "$work/$name-$version.jar" "$jar"
}

version=${1:-}
[ -n "${sums[${version:-none}]:-}" ] || die "usage: jmx-exporter.sh VERSION (one of: $(printf '%s\n' "${!sums[@]}" | sort -V | xargs))"
cache=$(cache_dir)/tools
jar=$cache/jmx-exporter-$version.jar
mkdir -p "$cache"
exec 9>"$cache/jmx-exporter.lock"
flock -w 900 9 || die "another download of the JMX exporter has not finished within 15 minutes"
[ -e "$jar" ] || download
echo "$jar"
