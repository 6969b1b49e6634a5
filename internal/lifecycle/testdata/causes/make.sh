#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Records how drivers fail: make.sh FOLDER [CASE...] runs each case with each Spark in the root file system of its image (hack/image), and
# keeps in logs.zip what the operator would read of the log, as MINOR/CASE.log. FOLDER takes the root file systems (2 GB) and the logs; with
# cases, only theirs are new. VERSIONS names the Sparks. It needs root, javac and runc.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../../../.." && pwd)
work=${1:?the folder for the root file systems}
shift
wanted=" $* "
mkdir -p "$work"
work=$(cd "$work" && pwd)

# Whoever deletes the folder must not delete the devices.
trap 'umount -q "$work"/root-*/{proc,dev} || true' EXIT

# root_of VERSION lays out the image's files, and the applications in /app.
root_of() {
  local version=$1 root=$work/root-$1 home
  [ ! -e "$root/app" ] || return 0
  "$repo/hack/image/build.sh" spark >/dev/null # makes the base layer
  home=$("$repo/hack/image/build.sh" spark-home "$version")
  mkdir -p "$root"
  tar -C "$root" -xf "$(find "${home%/spark-*}" -maxdepth 1 -name 'base-*.tar')"
  cp -a "${home%/opt/spark}/." "$root/"
  install -m 755 "$repo/hack/image/spark/entrypoint.sh" "$root/opt/"
  mkdir -p "$root/proc" "$root/dev" "$root/tmp/classes"
  echo 127.0.0.1 localhost >"$root/etc/hosts"
  mkdir "$root/app"
  cp "$here"/*.py "$root/app/"
  javac --release 17 -nowarn -cp "$root/opt/spark/jars/*" -d "$root/tmp/classes" "$here/Fail.java"
  jar --create --no-manifest --file "$root/app/whole.jar" -C "$root/tmp/classes" .
  rm "$root/tmp/classes/Fail\$Needs.class"
  jar --create --no-manifest --file "$root/app/fail.jar" -C "$root/tmp/classes" .
  # the same class, as a Java of the future would have compiled it: the 8th byte is its version
  printf '\x63' | dd of="$root/tmp/classes/Fail.class" bs=1 seek=7 conv=notrunc status=none
  jar --create --no-manifest --file "$root/app/newer.jar" -C "$root/tmp/classes" .
}

# driver CASE ARGUMENT... runs a driver as its pod does, and keeps what the operator reads of the log.
driver() {
  local name=$1 status=0
  shift
  [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]] || return 0
  mkdir -p "$work/logs/$minor"
  timeout 300 chroot "$root" env -i PATH=/opt/spark/bin:/usr/bin:/usr/sbin:/bin LANG=C.UTF-8 SPARK_HOME=/opt/spark \
    JAVA_HOME=/usr/lib/jvm/java HOME=/tmp HADOOP_USER_NAME=spark SPARK_LOCAL_IP=127.0.0.1 SPARK_DRIVER_BIND_ADDRESS=127.0.0.1 "${with[@]}" \
    /opt/entrypoint.sh driver --master 'local[1]' --conf spark.driver.memory=512m "$@" >"$work/$minor-$name.log" 2>&1 </dev/null || status=$?
  [ "$status" != 124 ] || { echo "$minor $name: not over after 5 minutes; nothing is kept of it" >&2 && return 0; }
  tail -n 500 "$work/$minor-$name.log" | head -c 262144 >"$work/logs/$minor/$name.log" # observe.LogLines, and its limit
  echo "$minor $name: exit code $status"
}

# exec_format runs what is no program, as an image for another architecture is not.
exec_format() {
  mkdir -p "$work/bundle/rootfs" "$work/logs/runc"
  echo nothing >"$work/bundle/rootfs/entrypoint.sh"
  chmod +x "$work/bundle/rootfs/entrypoint.sh"
  (cd "$work/bundle" && rm -f config.json && runc spec && sed -i 's/"terminal": true/"terminal": false/; s|"sh"|"/entrypoint.sh"|' config.json)
  runc --root "$work/runc" run --bundle "$work/bundle" "causes-$$" >"$work/logs/runc/exec.log" 2>&1 </dev/null || true
}

java() { driver "$1" "${@:2}" --class Fail local:///app/fail.jar "${1%-json}"; }
python() { driver "py-$1" "${@:2}" local:///app/fail.py "${1%-json}"; }

for version in ${VERSIONS:-3.5.9 4.0.5 4.1.4}; do
  minor=${version%.*} root=$work/root-$version with=()
  root_of "$version"
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"

  for name in main task udf path s3a hdfs column format needs heap taskheap exit logged; do java "$name"; done
  driver class --class org.example.Missing local:///app/fail.jar
  driver jar --class Fail local:///app/missing.jar
  driver deps --jars /app/missing.jar --class Fail local:///app/fail.jar exit
  driver notstatic --class 'Fail$NotStatic' local:///app/fail.jar
  driver nomain --class 'Fail$Needs' local:///app/whole.jar
  driver newer --class Fail local:///app/newer.jar exit
  driver conf --conf spark.executor.heartbeatInterval=often --class Fail local:///app/fail.jar exit
  driver sqlconf --conf spark.sql.shuffle.partitions=many --class Fail local:///app/fail.jar path
  driver plugin --conf spark.plugins=org.example.Plugin --class Fail local:///app/fail.jar exit
  driver agent --driver-java-options -javaagent:/app/missing.jar --class Fail local:///app/fail.jar exit
  driver memory --driver-memory 900000g --class Fail local:///app/fail.jar exit

  for name in raise message module file path column s3a rdd task udf assert interrupt exit exittext; do python "$name"; done
  driver py-syntax local:///app/syntax.py
  driver py-missing local:///app/missing.py
  with=(PYSPARK_PYTHON=python9 PYSPARK_DRIVER_PYTHON=python9)
  driver py-nopython local:///app/fail.py exit
  with=(PYSPARK_PYTHON=python9 PYSPARK_DRIVER_PYTHON=python3)
  driver py-noworker local:///app/fail.py task
  with=()
  if [ "$minor" != 3.5 ]; then
    java task-json --conf spark.log.structuredLogging.enabled=true
    driver class-json --conf spark.log.structuredLogging.enabled=true --class org.example.Missing local:///app/fail.jar
    java logged-json --conf spark.log.structuredLogging.enabled=true
    python task-json --conf spark.log.structuredLogging.enabled=true
    python s3a-json --conf spark.log.structuredLogging.enabled=true
  fi
done
exec_format

# the same logs must always give the same archive
rm -f "$here/logs.zip"
(cd "$work/logs" && find . -name '*.log' | sed 's|^\./||' | sort >"$work/list" && jar --create --no-manifest --date=1980-01-01T00:00:02Z --file "$here/logs.zip" "@$work/list")
