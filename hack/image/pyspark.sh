# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Spark itself: the source distribution of pyspark holds a whole one, with all jars, programs and Python modules.

# Native libraries of other systems, and the interactive client of Spark Connect: no pod can use them.
spark_without='(osx|windows)-|-(osx|windows)|riscv64|/connect-repl$'

# spark_tree VERSION names the folder with the image's files of that Spark.
spark_tree() { echo "$cache/spark-$1-$(key "$here/pyspark.sh")"; }

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

# download_pyspark VERSION FOLDER unpacks the source distribution there. pip reads the package's metadata by
# building it, for which it fetches setuptools automatically; there is no wheel of pyspark, and none would do.
download_pyspark() {
  local version=$1 folder=$2
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip python3-venv
  say "downloading pyspark $version (300 to 450 MB)"
  timeout 1200 python3 -m pip --quiet download "pyspark==$version" --no-deps --no-binary pyspark \
    --dest "$folder/download" >"$folder/pip.log" 2>&1 || {
    tail -5 "$folder/pip.log" >&2
    die "pip could not download pyspark $version"
  }
  tar -C "$folder" --no-same-owner -xzf "$folder/download/pyspark-$version.tar.gz"
  rm -rf "$folder/download"
}
