#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
#
# Prints the folder of two Python interpreters with a Spark Connect client, python-4.1 and python-3.5. The packages of
# spark-clients.txt are downloaded once, into the cache.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../cluster/lib.sh"

# The client of Spark 3.5 is a part of pyspark itself.
older=3.5.9

# install_clients FOLDER makes the environment there. pyspark-client comes as source, which is built with what is pinned here.
install_clients() {
  local folder=$1
  python3 -m venv --help >/dev/null 2>&1 && python3 -m ensurepip --version >/dev/null 2>&1 || install_packages python3-venv
  say "downloading Spark Connect clients"
  python3 -m venv "$folder"
  local pip=("$folder/bin/pip" --quiet --disable-pip-version-check install --require-hashes --no-deps)
  grep -v '^pyspark-client' "$here/spark-clients.txt" >"$folder/wheels.txt"
  timeout 600 "${pip[@]}" --only-binary :all: -r "$folder/wheels.txt" >&2 &&
    timeout 600 "${pip[@]}" --no-build-isolation -r "$here/spark-clients.txt" >&2 ||
    die "pip could not install the packages of $here/spark-clients.txt (this was tested with Python 3.11)"
}

cache=$(cache_dir)/tools
folder=$cache/spark-clients-$(cat "$here"/spark-clients.{sh,txt} "$here/../image/pyspark.sh" | sha256sum | cut -c1-12)
mkdir -p "$cache"
exec 9>"$cache/spark-clients.lock"
flock -w 900 9 || die "another download of the Spark Connect clients has not finished within 15 minutes"
if [ ! -e "$folder/.complete" ]; then
  rm -rf "$folder"
  install_clients "$folder"
  ln -s python "$folder/bin/python-4.1"
  touch "$folder/.complete"
fi
# Paths are written in each call: a cache may have been moved, or have lost its Spark, since. The client must leave no compiled code in
# what becomes an image.
spark=$("$here/../image/build.sh" spark-home "$older")
printf '%s\n' '#!/bin/sh' "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$spark/python:$(echo "$spark"/python/lib/py4j-*.zip) exec $folder/bin/python \"\$@\"" \
  >"$folder/bin/.python-3.5"
chmod +x "$folder/bin/.python-3.5"
mv "$folder/bin/.python-3.5" "$folder/bin/python-3.5"
echo "$folder/bin"
