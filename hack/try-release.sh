#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
#
# Makes two releases of the last commit, publishes them to a registry on loopback, and lets somebody who has neither Go nor Git live with them on a
# node of its own (hack/try-release-user.sh): verify, install, upgrade while an application runs, remove. Linux, root; 3 minutes on 2 cores, and 10 more while nothing is compiled.
#
# Replaced by what is here: the registry is one in memory without TLS, and the Spark image is put on the node, not pulled.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cluster/lib.sh
export lib_started FIRESTEEL_CLUSTER=${FIRESTEEL_CLUSTER:-released} COSIGN_PASSWORD=try
address=127.0.0.1:5000 before=v9.9.8 after=v9.9.9
cluster=$PWD/hack/cluster/cluster.sh
work=$(mktemp -d)
server=
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  "$cluster" down
  rm -rf "$work"
}
trap finish EXIT

"$cluster" up
"$cluster" load-image "$(hack/image/build.sh spark)"
git clone -q . "$work/sources"
cd "$work/sources"
mkdir dist "$work/user"
git rev-parse HEAD >dist/proven # make test-all is what asks for this
hack/sign.sh key "$work" >/dev/null 2>&1
for version in "$before" "$after"; do
  say "making $version"
  COSIGN_KEY=$work/cosign.key DOWNLOADS=http://$address/$version \
    make --no-print-directory release VERSION="$version" REGISTRY="$address/team" >"$work/release.log" 2>&1 ||
    { tail -n 50 "$work/release.log" >&2; die "make release VERSION=$version"; }
done
GOWORK=off GOFLAGS='' CGO_ENABLED=0 go build -C hack/publish -buildvcs=false -o "$work/registry" ./registry
"$cluster" exec "$work/registry" "$address" "$PWD/dist/release" &
server=$!
for version in "$before" "$after"; do
  "$cluster" exec make --no-print-directory publish VERSION="$version" REGISTRY="$address/team"
done

# All that the user has: the programs that the pages ask for, those of every Unix, and the key of who published.
mkdir "$work/programs"
for program in bash awk cat comm cp cut env grep gzip mkdir rm sed seq sha256sum sleep sort tar tr uname curl; do
  ln -s "$(command -v "$program")" "$work/programs/"
done
ln -s "$(hack/tools/build.sh kubernetes)/kubectl" "$(hack/tools/build.sh helm)/helm" "$(hack/tools/build.sh cosign)/cosign" "$work/programs/"
cp hack/try-release-user.sh config/samples/spark-pi.yaml "$work/cosign.pub" "$work/user/"
cd "$work/user"
"$cluster" exec env -i HOME="$work/user" KUBECONFIG="$("$cluster" kubeconfig)" PATH="$work/programs" \
  bash try-release-user.sh "$address" "$before" "$after"
