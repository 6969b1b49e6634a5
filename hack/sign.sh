#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Signs what hack/release.sh made, and checks such signatures. Nothing is asked of or told to any server.
#
#   hack/sign.sh sign FOLDER          signs SHA256SUMS, provenance.json and *.payload.json with the key COSIGN_KEY: a file, or the name of one in a KMS
#   hack/sign.sh verify FOLDER KEY    checks their signatures with the public key, then each file with SHA256SUMS
#   hack/sign.sh key FOLDER           makes a key to try it with: cosign.key and cosign.pub
#
# COSIGN_PASSWORD is the password of a key in a file; cosign asks for it if it is not set.
set -euo pipefail
cd "$(dirname "$0")/.."
usage() { sed -n '6,8s/^# \{0,3\}//p' "hack/sign.sh" >&2; exit 2; }
[ $# -ge 2 ] || usage
folder=$(cd "$2" && pwd)
cosign=$(hack/tools/build.sh cosign)/cosign
cd "$folder"
shopt -s nullglob
files=(SHA256SUMS provenance.json *.payload.json)
case $1 in
sign)
  for file in "${files[@]}"; do
    "$cosign" sign-blob --yes --tlog-upload=false --key "${COSIGN_KEY:?sign.sh: the key to sign with}" --output-signature "$file.sig" "$file" >/dev/null
  done
  ;;
verify)
  [ $# = 3 ] || usage
  for file in "${files[@]}"; do
    "$cosign" verify-blob --private-infrastructure --key "$3" --signature "$file.sig" "$file"
  done
  sha256sum --quiet -c SHA256SUMS
  ;;
key) "$cosign" generate-key-pair ;;
*) usage ;;
esac
