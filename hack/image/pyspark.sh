# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Spark itself: the source distribution of pyspark holds a whole one, with all jars, programs and Python modules.

# Native libraries of other systems, and the interactive client of Spark Connect: no pod can use them.
spark_without='(osx|windows)-|-(osx|windows)|riscv64|/connect-repl$'

# spark_tree VERSION names the folder with the image's files of that Spark.
spark_tree() { echo "$cache/spark-$1-$(key "$here"/pyspark.{sh,txt})"; }

# unpack_spark lays out a Spark as in its image: /opt/spark with bin, sbin, jars, python, examples, data and conf.
unpack_spark() {
  local version=$1 tree work source home unwanted
  tree=$(spark_tree "$version")
  [ ! -e "$tree" ] || return 0
  work=$(mktemp -d "$cache/work.XXXX")
  home=$work/root/opt/spark
  mkdir -p "$home"/{python,conf,work-dir,examples/src/main,examples/jars}
  source=$work/pyspark-$version
  download_pyspark "$version" "$work"
  mv "$source"/deps/{bin,sbin,jars,data} "$home/"
  mv "$source/deps/examples" "$home/examples/src/main/python"
  mv "$source/pyspark" "$source/lib" "$home/python/"
  # not every version has all three, nor at the same place
  find "$source" "$source/deps" -maxdepth 1 \( -name LICENSE -o -name NOTICE -o -name licenses \) -exec mv -t "$home" {} +
  echo "Spark $version, from the source distribution of pyspark" >"$home/RELEASE"
  unwanted=$(find "$home/jars" "$home/bin" | grep -E "$spark_without|\.cmd$") || true
  # shellcheck disable=SC2086
  rm -rf $unwanted
  chmod -R a+rX "$home"
  chmod +x "$home"/bin/* "$home"/sbin/*
  if [ "$(id -u)" = 0 ]; then
    chown -R 0:0 "$home"
    chown 185:185 "$home/work-dir"
  fi
  chmod 775 "$home/work-dir"
  mv "$work/root" "$tree"
  rm -rf "$work"
  say "Spark $version unpacked, $(du -sm "$tree" | cut -f1) MiB"
  find "$cache" -maxdepth 1 -type d -name "spark-$version-*" ! -path "$tree" -exec rm -rf {} +
}

# download_pyspark VERSION FOLDER unpacks the source distribution there, if it is what pyspark.txt says. pip reads the package's metadata
# by building it, for which it would fetch any setuptools; so it gets one that is recorded. There is no wheel of pyspark, and none would do.
download_pyspark() {
  local version=$1 folder=$2
  local pip=("$folder/venv/bin/pip" --quiet --disable-pip-version-check)
  grep "^pyspark==$version " "$here/pyspark.txt" >"$folder/spark.txt" ||
    die "Spark $version: no checksum is recorded of it: $here/pyspark.txt has those of $(sed -n 's/^pyspark==\([^ ]*\) .*/\1/p' "$here/pyspark.txt" | paste -sd' ')"
  grep -v '^pyspark==' "$here/pyspark.txt" >"$folder/build.txt"
  python3 -m venv --help >/dev/null 2>&1 && python3 -m ensurepip --version >/dev/null 2>&1 || install_packages python3-venv
  python3 -m venv "$folder/venv"
  say "downloading pyspark $version (300 to 450 MB)"
  { timeout 300 "${pip[@]}" install --require-hashes --no-deps --only-binary :all: -r "$folder/build.txt" &&
    timeout 1200 "${pip[@]}" download --require-hashes --no-deps --no-binary pyspark --no-build-isolation \
      --dest "$folder/download" -r "$folder/spark.txt"; } >"$folder/pip.log" 2>&1 || {
    tail -5 "$folder/pip.log" >&2
    die "pip could not download pyspark $version as it is recorded"
  }
  tar -C "$folder" --no-same-owner -xzf "$folder/download/pyspark-$version.tar.gz"
  rm -rf "$folder/download" "$folder/venv"
}
