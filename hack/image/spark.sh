# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The Spark image: Debian with Java and Python, Spark from pyspark, and our own entrypoint and example applications.

spark_default_version=4.1.4

# Spark Connect's server for the Sparks that have none: the newest of these in the Maven packages, which fits all patches of its minor.
declare -A spark_connect=([3.5]=3.5.7)

check_spark_version() {
  [[ $1 =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "not a Spark version: \"$1\" (expected one like $spark_default_version)"
}

spark() {
  local version=${1:-$spark_default_version} archive
  check_spark_version "$version"
  local sources=("$here"/{build,base,pyspark,spark,classes}.sh "$here"/{base.sha256,pyspark.txt} "$here"/../tools/maven.sh "$here"/go.sum "$here"/oci/*.go)
  mapfile -t -O "${#sources[@]}" sources < <(find "$here/spark" -type f | sort)
  archive=$cache/spark-$version-$(key "${sources[@]}").tar
  [ -e "$archive" ] || build_spark "$version" "$archive"
  echo "$archive"
}

spark_home() {
  local version=${1:-$spark_default_version}
  check_spark_version "$version"
  unpack_spark "$version"
  echo "$(spark_tree "$version")/opt/spark"
}

build_spark() {
  local version=$1 archive=$2 work base
  [ "$(id -u)" = 0 ] || die "building the Spark image needs root, for the owners of its files"
  require_go
  base=$(base_layer)
  unpack_spark "$version"
  work=$(mktemp -d "$cache/work.XXXX")
  layer_tar -C "$(spark_tree "$version")" -cf "$work/spark.tar" .
  add_own_files "$(spark_tree "$version")/opt/spark/jars" "$work/own"
  add_spark_connect "$version" "$work/own"
  archive_classes "$base" "$(spark_tree "$version")" "$work/own"
  layer_tar -C "$work/own" -cf "$work/own.tar" opt
  local platform
  platform=linux/$(go env GOARCH)
  oci -out "$archive" -name "docker.io/apache/spark:$version" -user 185 -workdir /opt/spark/work-dir \
    -entrypoint /opt/entrypoint.sh \
    -env PATH=/opt/spark/bin:/usr/bin:/usr/sbin:/bin -env LANG=C.UTF-8 \
    -env SPARK_HOME=/opt/spark -env JAVA_HOME=/usr/lib/jvm/java \
    -layer "$platform=$base" -layer "$platform=$work/spark.tar" -layer "$platform=$work/own.tar"
  rm -rf "$work"
  keep_only "$archive" "spark-$version-*.tar"
  say "built apache/spark:$version, $(($(stat -c %s "$archive") >> 20)) MiB"
}

# add_own_files JARS ROOT puts the entrypoint and the compiled example applications into ROOT.
add_own_files() {
  local jars=$1 root=$2 classes=$2.classes
  local target=$root/opt/spark/examples/jars
  mkdir -p "$target" "$classes"
  require_commands javac:openjdk-17-jdk-headless
  find "$here/spark/examples" -name '*.java' -exec javac --release 17 -nowarn -cp "$jars/*" -d "$classes" {} + 2>/dev/null ||
    die "javac (17 or newer) could not compile $here/spark/examples"
  jar --create --no-manifest --date=1980-01-01T00:00:02Z --file "$target/spark-examples.jar" -C "$classes" .
  install -m 755 "$here/spark/entrypoint.sh" "$here/spark/decom.sh" "$root/opt/"
  chown -R 0:0 "$root"
  chmod -R u+rwX,go+rX,go-w "$root"
}

# add_spark_connect VERSION ROOT puts the server of Spark Connect into ROOT, if Spark does not bring it.
add_spark_connect() {
  local connect=${spark_connect[${1%.*}]:-} jar
  [ -n "$connect" ] || return 0
  jar=$("$here/../tools/maven.sh" spark-connect "$connect")
  install -D -m 644 "$jar" "$2/opt/spark/jars/$(basename "$jar")"
}
