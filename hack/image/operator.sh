# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The operator's image: one static program on an empty base, for two platforms in one archive. The same sources and version give the same
# bytes with the same Go, wherever it is built: no path, time or setting of the builder's is in it (test/release).

operator_image=firesteel.local/spark-operator:dev
operator_max_mib=40

# operator_version prints what the operator will call itself.
operator_version() {
  if [ -n "${FIRESTEEL_VERSION:-}" ]; then
    echo "$FIRESTEEL_VERSION"
  else
    git -C "$repo" describe --tags --always --dirty 2>/dev/null || echo dev
  fi
}

operator() {
  local archive=${1:-$repo/dist/spark-operator.tar} version arch work layers=() mib archs=(amd64 arm64)
  [ $# -lt 2 ] || archs=("${@:2}")
  require_go
  version=$(operator_version)
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
  oci -out "$archive" -name "$operator_image" -user 65532:65532 -entrypoint /spark-operator -gzip "${layers[@]}"
  rm -rf "$work"
  mib=$((($(stat -c %s "$archive") + 1048575) >> 20))
  [ "$mib" -lt "$operator_max_mib" ] || die "the operator's image is $mib MiB for its platforms, the limit is $operator_max_mib"
  say "built $operator_image, version $version, ${archs[*]/#/linux/}, $mib MiB together"
  echo "$archive"
}
