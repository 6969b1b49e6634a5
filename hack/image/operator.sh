# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The operator's image: one static program on an empty base, for two platforms in one archive. The same sources and version give the same
# bytes with the same Go, wherever it is built: no path, time or setting of the builder's is in it (test/release). What it says of itself comes
# from the commit.

operator_image=${FIRESTEEL_IMAGE:-firesteel.local/spark-operator:dev}
operator_max_mib=40

# operator_version prints what the operator will call itself.
operator_version() {
  if [ -n "${FIRESTEEL_VERSION:-}" ]; then
    echo "$FIRESTEEL_VERSION"
  else
    git -C "$repo" describe --tags --always --dirty 2>/dev/null || echo dev
  fi
}

# operator_labels sets `labels` to what the image says of itself: the time is that of the commit, or SOURCE_DATE_EPOCH, and without git there is none. What
# has changes that are not committed names no commit.
operator_labels() {
  local name=org.opencontainers.image revision created=${SOURCE_DATE_EPOCH:-}
  revision=$(git -C "$repo" rev-parse HEAD 2>/dev/null) || revision=
  [ -z "$revision" ] || created=${created:-$(git -C "$repo" log -1 --format=%ct)}
  labels=(
    -label "$name.title=spark-operator"
    -label "$name.description=Runs Apache Spark applications on Kubernetes, without a JVM in the operator"
    -label "$name.source=https://github.com/firesteel-dev/firesteel"
    -label "$name.licenses=Apache-2.0"
    -label "$name.version=$1"
    -label "$name.base.name=scratch"
    -created "${created:-0}"
  )
  if [ -n "$revision" ] && git -C "$repo" diff --quiet HEAD; then labels+=(-label "$name.revision=$revision"); fi
}

operator() {
  local archive=${1:-$repo/dist/spark-operator.tar} version arch work layers=() labels mib archs=(amd64 arm64)
  [ $# -lt 2 ] || archs=("${@:2}")
  require_go
  version=$(operator_version)
  operator_labels "$version"
  work=$(mktemp -d "$cache/work.XXXX")
  for arch in "${archs[@]}"; do
    mkdir -p "$work/$arch"
    GOWORK=off GOFLAGS='' GOAMD64=v1 GOARM64=v8.0 GOOS=linux GOARCH=$arch CGO_ENABLED=0 go build -C "$repo" -trimpath -buildvcs=false \
      -ldflags "-s -w -X github.com/firesteel-dev/firesteel/internal/version.version=$version" \
      -o "$work/$arch/spark-operator" ./cmd/spark-operator ||
      { rm -rf "$work"; die "the operator does not build for linux/$arch"; }
    chmod 755 "$work/$arch/spark-operator"
    layer_tar --owner=0 --group=0 -C "$work/$arch" -cf "$work/$arch.tar" spark-operator
    layers+=(-layer "linux/$arch=$work/$arch.tar")
  done
  mkdir -p "$(dirname "$archive")"
  oci -out "$archive" -name "$operator_image" -user 65532:65532 -entrypoint /spark-operator -gzip "${labels[@]}" "${layers[@]}"
  rm -rf "$work"
  mib=$((($(stat -c %s "$archive") + 1048575) >> 20))
  [ "$mib" -le "$operator_max_mib" ] || die "the operator's image is $mib MiB for its platforms, the limit is $operator_max_mib"
  say "built $operator_image, version $version, ${archs[*]/#/linux/}, $mib MiB together"
  echo "$archive"
}
