#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation site into dist/site. Only the Python packages of docs/requirements.txt are downloaded, once, into
# the cache, and only with the checksums that stand there; a link that leads nowhere is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${FIRESTEEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/firesteel}
venv=$cache/docs-$(sha256sum docs/requirements.txt | cut -c1-12)
mkdir -p "$cache"
exec 9>"$cache/docs.lock"
flock -w 600 9 || { echo "docs.sh: another build of the site has not finished within 10 minutes" >&2; exit 1; }
if [ ! -e "$venv/.complete" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv" || { echo "docs.sh: Python 3 with venv is needed; on Debian: apt-get install python3-venv" >&2; exit 1; }
  "$venv/bin/pip" --quiet --disable-pip-version-check install --require-hashes --no-deps --only-binary :all: -r docs/requirements.txt
  touch "$venv/.complete"
fi
export PYTHONDONTWRITEBYTECODE=1 NO_MKDOCS_2_WARNING=1
"$venv/bin/mkdocs" build --quiet --strict
echo "dist/site/index.html"
