#!/usr/bin/env bash
# Builds the programs of one tool module and prints the folder that holds them.
#
#   hack/tools/build.sh NAME            NAME is a folder next to this file: kubernetes, etcd, coredns, ...
#   hack/tools/build.sh NAME --built    builds nothing; its exit code says whether that was done before
#
# Versions and checksums are pinned by the folder's go.mod and go.sum. The result is cached outside the tree,
# keyed by these two files and its own sources, so that a machine builds each version once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=${1:?usage: build.sh NAME (one of: $(cd "$here" && ls -d */ | tr -d / | xargs))}
module=$here/$name
[ -f "$module/go.mod" ] || { echo "build.sh: no tool module $name in $here" >&2; exit 2; }

ldflags='-s -w'
hint=
if [ "$name" = kubernetes ]; then # without a version the binaries say v0.0.0, and clients that look at it misbehave
  version=$(awk '$1=="k8s.io/kubernetes"{print $2; exit}' "$module/go.mod")
  minor=${version#v1.}; minor=${minor%%.*}
  v=k8s.io/component-base/version
  ldflags+=" -X $v.gitVersion=$version -X $v.gitMajor=1 -X $v.gitMinor=$minor"
  hint=' (about 5 minutes on 2 cores, once per version)'
fi

case $name in # each brings its own version of Kubernetes' libraries
volcano | yunikorn | scheduler-plugins | kueue) hint=' (3 to 6 minutes on 2 cores, once per version)' ;;
esac

cache=${FIRESTEEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/firesteel}
key=$( (cat "$module/go.mod" "$module/go.sum"; cat "$module"/*.go 2>/dev/null || true; echo "$ldflags") | sha256sum | cut -c1-12)
out=$cache/tools/$name-$key
if [ -e "$out/.complete" ]; then echo "$out"; exit 0; fi
[ "${2:-}" != --built ] || exit 1

mkdir -p "$cache/tools"
exec 9>"$cache/tools/$name.lock"
flock -w 1800 9 || { echo "build.sh: another build of $name has not finished within 30 minutes" >&2; exit 1; }
if [ -e "$out/.complete" ]; then echo "$out"; exit 0; fi

echo "building $name$hint ..." >&2
start=$SECONDS
rm -rf "$out"; mkdir -p "$out"
# memory is there, and collecting garbage is a tenth of a compiler's time
GOGC=200 GOFLAGS='' GOWORK=off CGO_ENABLED=0 go build -C "$module" -trimpath -buildvcs=false -ldflags "$ldflags" -o "$out/" tool >&2
[ ! -e "$out/server" ] || mv "$out/server" "$out/etcd" # the etcd server's main package is its module's root
touch "$out/.complete"
echo "built $name in $((SECONDS - start)) s: $(cd "$out" && ls | xargs)" >&2
echo "$out"
