# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The archive of Spark's classes in the Spark image (Java's class data sharing): a driver or an executor starts with half of the work.
# Java takes classes from it only if its class path begins with the very one of the archive, and no folder with files is on that. Spark's
# begins with the folder of its configuration; so the entrypoint puts a jar before it that names the others.

# archive_classes BASE TREE OWN adds opt/spark/classes to the layer OWN, which lies above the layer BASE and the Spark in TREE.
archive_classes() {
  local base=$1 tree=$2 own=$3 root=$3.root
  local target=$own/opt/spark/classes
  mkdir -p "$root" "$target" "$own/opt/spark/jars" "$own.classes"
  tar -C "$root" -xf "$base"
  cp -al "$tree/opt" "$root/"
  { printf 'Class-Path: \n' && find "$tree/opt/spark/jars" "$own/opt/spark/jars" -name '*.jar' -printf '  ../jars/%f\n' | LC_ALL=C sort; } >"$own.manifest"
  jar --create --manifest "$own.manifest" --date=1980-01-01T00:00:02Z --file "$target/spark.jar"
  cp -a "$own/opt" "$root/"
  find "$root/opt/spark" -name '*.jar' -exec touch -d @0 {} + # as in the layers: Java compares
  javac --release 17 -nowarn -cp "$tree/opt/spark/jars/*" -d "$own.classes" "$here/spark/classes/Classes.java" 2>/dev/null ||
    die "javac (17 or newer) could not compile $here/spark/classes/Classes.java"
  jar --create --no-manifest --file "$root/tmp/load.jar" -C "$own.classes" .
  load_classes "$root" -XX:ArchiveClassesAtExit=/opt/spark/classes/spark.jsa
  cp "$root/opt/spark/classes/spark.jsa" "$target/"
  chmod 644 "$target"/*
  load_classes "$root" -XX:SharedArchiveFile=/opt/spark/classes/spark.jsa -Xlog:class+load:file=/tmp/loaded
  [ "$(grep -c 'shared objects file (top)' "$root/tmp/loaded")" -gt 5000 ] ||
    die "Java takes too few classes from the archive that it has just written"
  rm -rf "$root" "$own.classes" "$own.manifest"
}

# load_classes ROOT OPTIONS... loads Spark's classes with the Java of ROOT, as spark-submit does, which needs /proc. There is none in ROOT, and no /dev:
# Java is told where its libraries are, and gets random bytes from a file.
load_classes() {
  local root=$1 command java=/usr/lib/jvm/java
  shift
  head -c 1000000 /dev/urandom >"$root/tmp/seed"
  local inside=(env -i PATH=/usr/sbin:/usr/bin LD_LIBRARY_PATH=$java/lib JAVA_HOME=$java SPARK_HOME=/opt/spark SPARK_SCALA_VERSION=any SPARK_LOCAL_IP=127.0.0.1 SPARK_SUBMIT_OPTS="-Djava.security.egd=file:/tmp/seed $*" chroot "$root")
  mapfile -d '' -t command < <("${inside[@]}" $java/bin/java -cp '/opt/spark/jars/*' org.apache.spark.launcher.Main org.apache.spark.deploy.SparkSubmit \
    --master 'local[1]' --driver-class-path /opt/spark/classes/spark.jar --class Classes /tmp/load.jar)
  command[1]=${command[1]#$'\n'} # after an empty word and a line end comes the command
  "${inside[@]}" "${command[@]:1}" >"$root.log" 2>&1 || {
    tail -5 "$root.log" >&2
    die "Spark's classes could not be loaded"
  }
}
