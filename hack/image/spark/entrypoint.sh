#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Entrypoint of the Spark image. Spark on Kubernetes starts it with "driver" or "executor" and describes the rest in
# SPARK_* variables; any other command is run as it is.
set -euo pipefail

home=${SPARK_HOME:-/opt/spark}

# Hadoop's login asks for the user's name, and a pod may run as a user that /etc/passwd does not know.
if ! getent passwd "$(id -u)" >/dev/null && [ -w /etc/passwd ]; then
  echo "${SPARK_USER_NAME:-spark$(id -u)}:x:$(id -u):$(id -g):spark:$home:/bin/false" >>/etc/passwd
fi

if [ -n "${HADOOP_HOME:-}" ] && [ -z "${SPARK_DIST_CLASSPATH:-}" ]; then
  SPARK_DIST_CLASSPATH=$("$HADOOP_HOME/bin/hadoop" classpath)
fi
export SPARK_DIST_CLASSPATH=${SPARK_DIST_CLASSPATH:-}

# The archive of Spark's classes (hack/image/classes.sh), and the jar that the class path must begin with then. Of an archive that does not fit,
# because the options of the application are others, Java says nothing and takes nothing.
archive=$home/classes/spark.jsa archived=$home/classes/spark.jar
share=(-XX:SharedArchiveFile="$archive" -Xlog:cds=off -Xlog:cds+dynamic=off)

run_driver() {
  if [ -e "$archive" ] && ! grep -qsF spark.driver.extraClassPath "${SPARK_CONF_DIR:-$home/conf}/spark.properties"; then
    export SPARK_SUBMIT_OPTS="${share[*]} ${SPARK_SUBMIT_OPTS:-}"
    set -- --driver-class-path "$archived" "$@"
  fi
  exec tini -s -- "$home/bin/spark-submit" \
    --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
    --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" \
    --deploy-mode client "$@"
}

# executor_class_path joins what is set, configuration before Spark and the working directory last.
executor_class_path() {
  local part path=
  [ ! -e "$archive" ] || path=$archived
  for part in "${SPARK_CONF_DIR:-$home/conf}" "${HADOOP_CONF_DIR:-}" "${SPARK_CLASSPATH:-}" "$home/jars/*" \
    "${SPARK_EXTRA_CLASSPATH:-}" "$PWD" "$SPARK_DIST_CLASSPATH"; do
    [ -z "$part" ] || path+=${path:+:}$part
  done
  echo "$path"
}

run_executor() {
  local name options=()
  [ ! -e "$archive" ] || options=("${share[@]}")
  # SPARK_JAVA_OPT_0, _1, ... _10 in the order of their numbers
  while read -r name; do options+=("${!name}"); done < <(compgen -e SPARK_JAVA_OPT_ | sort -t_ -k4,4n)
  exec tini -s -- "${JAVA_HOME:-/usr}/bin/java" "${options[@]}" \
    "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" -cp "$(executor_class_path)" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
}

case ${1:-} in
driver) run_driver "${@:2}" ;;
executor) run_executor ;;
*) exec "$@" ;;
esac
