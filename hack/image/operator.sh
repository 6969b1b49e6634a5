# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The operator's image: one static program on an empty base, for two platforms in one archive.

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
  local archive=${1:-$repo/dist/spark-operator.tar} version arch work layers=() mib
  require_go
  version=$(operator_version)
  work=$(mktemp -d "$cache/work.XXXX")
  for arch in amd64 arm64; do
    mkdir -p "$work/$arch"
    GOOS=linux GOARCH=$arch CGO_ENABLED=0 go build -C "$repo" -trimpath -buildvcs=false \
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
  [ "$mib" -lt "$operator_max_mib" ] || die "the operator's image is $mib MiB for both platforms, the limit is $operator_max_mib"
  say "built $operator_image, version $version, linux/amd64 and linux/arm64, $mib MiB together"
  echo "$archive"
}
