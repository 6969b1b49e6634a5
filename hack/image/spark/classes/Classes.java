// SPDX-License-Identifier: Apache-2.0

import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** Loads the classes that drivers and executors on Kubernetes load, for the archive of the image. */
public final class Classes {
  private static final String[] EXECUTOR = {
    "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
    "org.apache.spark.executor.CoarseGrainedExecutorBackend$",
    "org.apache.spark.executor.ExecutorMetricsSource",
  };

  private Classes() {}

  public static void main(String[] args) throws Exception {
    for (String name : EXECUTOR) {
      Class.forName(name);
    }
    try (SparkSession session = SparkSession.builder().appName("classes").getOrCreate()) {
      JavaSparkContext context = new JavaSparkContext(session.sparkContext());
      System.out.println(context.parallelize(IntStream.range(0, 10).boxed().toList(), 2).map(i -> i + 1).reduce(Integer::sum));
      System.out.println(session.range(10).selectExpr("sum(id)").collectAsList());
    }
    // There is no API server: the client's classes have been loaded when that is known.
    System.setProperty("kubernetes.request.retry.backoffLimit", "0");
    try {
      new SparkContext(new SparkConf().setMaster("k8s://http://127.0.0.1:1").set("spark.kubernetes.driver.pod.name", "driver")).stop();
    } catch (Exception unreachable) {
      System.out.println(unreachable.getMessage());
    }
  }
}
