#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes everything that a release publishes, into dist/release/VERSION:
#
#   spark-operator-VERSION.oci.tar               the image for linux/amd64 and linux/arm64, as an OCI archive
#   spark-operator-VERSION.tgz                   the Helm chart, whose default image is REGISTRY/spark-operator:VERSION with its digest
#   install.yaml, crds.yaml                      what `kubectl apply --server-side` takes, with the same image
#   kubectl-spark_VERSION_OS_ARCH.tar.gz|.zip    the kubectl plugin for Linux, macOS and Windows
#   NOTES.md                                     what changed: the version's section of CHANGELOG.md, or Unreleased
#   spark.yaml                                   the manifest of the plugin for krew
#   index.yaml                                   the index of a Helm repository with this chart
#   *.cdx.json                                   an SBOM (CycloneDX) of each program, and of the image
#   provenance.json                              what was built from which commit with which tools (in-toto, SLSA v1)
#   SHA256SUMS
#   *.payload.json                               what is signed of image and chart for a registry
#   *.sig                                        signatures of the four files before, if COSIGN_KEY names the key of who publishes
#
# Usage: hack/release.sh VERSION REGISTRY      e.g. v0.1.0 registry.example.com/team; the tree must be clean, and make test-all have passed at its commit
# DOWNLOADS is the URL of the folder in which spark.yaml and index.yaml say that the files are; by default that of the release on the project's page.
#
# Nothing is uploaded: hack/publish.sh does that. SECURITY.md says how the signatures are verified.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/release-parts.sh
version=${1:-} registry=${2:-}
downloads=${DOWNLOADS:-https://github.com/firesteel-dev/firesteel/releases/download/$version}
release_names
[ -z "$(git status --porcelain)" ] ||
  { echo "release: the tree has changes that are not committed; a release is made from a commit" >&2; exit 1; }

commit=$(git rev-parse HEAD)
[ "$(cat dist/proven 2>/dev/null)" = "$commit" ] ||
  { echo "release: make test-all has not passed at this commit: run it first (dist/proven is to have $commit)" >&2; exit 1; }
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
out=$PWD/dist/release/$version
rm -rf "$out"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { printf '== %s\n' "$*" >&2; }

release_notes
helm=$(hack/tools/build.sh helm)/helm
kubectl=$(hack/tools/build.sh kubernetes)/kubectl
sbom=$(hack/tools/build.sh cyclonedx)/cyclonedx-gomod
ldflags="-s -w -X github.com/firesteel-dev/firesteel/internal/version.version=$version"

# pack packs a folder so that the same content always gives the same bytes.
pack() {
  local name=$1 dir=$2
  case $name in
  *.zip) (cd "$dir" && find . -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} + && TZ=UTC python3 -m zipfile -c "$out/$name" *) ;;
  *) tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$dir" -cf - . | gzip -n >"$out/$name" ;;
  esac
}

say "image"
archive=$out/spark-operator-$version.oci.tar
FIRESTEEL_VERSION=$version FIRESTEEL_IMAGE=$registry/spark-operator:$version hack/image/build.sh operator "$archive" >/dev/null
digest=$(image_digest "$archive")

say "chart and manifests"
release_chart
release_manifests

for platform in "${platforms[@]}"; do
  say "kubectl-spark for $platform"
  program=kubectl-spark dir=$work/${platform/\//-}
  if [[ $platform = windows/* ]]; then program=kubectl-spark.exe; fi
  mkdir -p "$dir"
  GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$ldflags" -o "$dir/$program" ./cmd/kubectl-spark
  cp LICENSE "$dir/"
  pack "$(plugin_archive "$platform")" "$dir"
done
release_krew
release_index

say "SBOMs"
release_sbom
"$sbom" bin -json -std -noserial -version "$version" -output "$out/kubectl-spark-$version.cdx.json" "$work/linux-amd64/kubectl-spark" 2>/dev/null

# what is signed of image and chart in a registry: its digest, and where it is published
GOWORK=off GOFLAGS='' CGO_ENABLED=0 go build -C hack/publish -trimpath -buildvcs=false -o "$work/publish" .
"$work/publish" -payloads "$out" "$version" "$registry"

say "checksums and provenance"
(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS ! -name provenance.json -printf '%f\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
jq -n --arg commit "$commit" --arg version "$version" --arg registry "$registry" --arg go "$(go env GOVERSION)" --arg at "$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)" \
  --rawfile sums "$out/SHA256SUMS" '{
    _type: "https://in-toto.io/Statement/v1",
    subject: [$sums | rtrimstr("\n") | split("\n")[] | split("  ") | {name: .[1], digest: {sha256: .[0]}}],
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "https://firesteel.dev/release/v1",
        externalParameters: {version: $version, registry: $registry},
        resolvedDependencies: [{uri: "git+https://github.com/firesteel-dev/firesteel", digest: {gitCommit: $commit}}, {uri: "pkg:generic/go", name: $go}]
      },
      runDetails: {builder: {id: "https://firesteel.dev/release.sh"}, metadata: {invocationId: ($commit + "/" + $version), startedOn: $at}}
    }
  }' >"$out/provenance.json"

say "check"
(cd "$out" && sha256sum --quiet -c SHA256SUMS)
tar -xzf "$out/kubectl-spark_${version}_linux_$(go env GOARCH).tar.gz" -C "$work" ./kubectl-spark
"$work/kubectl-spark" version | grep -F "kubectl-spark $version" >/dev/null ||
  { echo "release: kubectl-spark does not say that it is $version" >&2; exit 1; }
if [ -n "${COSIGN_KEY:-}" ]; then
  say "signatures"
  hack/sign.sh sign "$out"
else
  say "nothing is signed: COSIGN_KEY names no key"
fi
say "released into $out:"
ls -l "$out"
