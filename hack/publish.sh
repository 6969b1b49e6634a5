#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pushes a release to the registry that it was made for, with the credentials of docker's configuration (see hack/publish).
#
# Usage: hack/publish.sh VERSION REGISTRY [-force]      -force overwrites tags that have another digest
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-} registry=${2:-} out=$PWD/dist/release/${1:-}
[ -n "$version" ] && [ -n "$registry" ] ||
  { echo "publish: write what is published, and where to: make publish VERSION=v1.2.3 REGISTRY=registry.example.com/team" >&2; exit 2; }
[ -e "$out/SHA256SUMS" ] || { echo "publish: dist/release/$version has no release: make release VERSION=$version REGISTRY=$registry makes it" >&2; exit 1; }
(cd "$out" && sha256sum --quiet -c SHA256SUMS) || { echo "publish: dist/release/$version is not what was released: make the release again" >&2; exit 1; }
made=$(jq -r .predicate.buildDefinition.externalParameters.registry "$out/provenance.json")
[ "$made" = "$registry" ] ||
  {
    echo "publish: dist/release/$version was made for the registry \"$made\": its chart and manifests name the image there;" \
      "publish with REGISTRY=$made, or make the release again" >&2
    exit 1
  }
program=$(mktemp -d)
trap 'rm -rf "$program"' EXIT
GOWORK=off GOFLAGS='' CGO_ENABLED=0 go build -C hack/publish -trimpath -buildvcs=false -o "$program/publish" .
"$program/publish" "${@:3}" "$out" "$version" "$registry"
