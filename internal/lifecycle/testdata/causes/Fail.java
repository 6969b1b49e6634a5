// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import org.apache.logging.log4j.LogManager;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.SparkSession;

/** Fail CASE ends as the case says. */
public final class Fail {
  private Fail() {}

  /** NotStatic has a main method that is none. */
  public static final class NotStatic {
    public void main(String[] args) {}
  }

  /** Needs is loaded at run time only; make.sh deletes its class. */
  public static final class Needs {
    static int value() {
      return 1;
    }
  }

  private static void pay(int amount) {
    try {
      Integer.parseInt("twelve");
    } catch (NumberFormatException e) {
      throw new IllegalStateException("order " + amount + " cannot be read", e);
    }
  }

  public static void main(String[] args) throws Exception {
    SparkSession spark = SparkSession.builder().appName("fail").getOrCreate();
    JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
    switch (args[0]) {
      case "main" -> {
        try {
          pay(7);
        } catch (IllegalStateException e) {
          throw new RuntimeException("the report failed", e);
        }
      }
      case "task" -> context.parallelize(List.of(1, 2), 2).foreach(Fail::pay);
      case "udf" -> spark.range(3).map((MapFunction<Long, Integer>) n -> {
        pay(n.intValue());
        return 1;
      }, Encoders.INT()).collectAsList();
      case "path" -> spark.read().parquet("/data/orders").count();
      case "s3a" -> spark.read().parquet("s3a://lake/orders").count();
      case "hdfs" -> spark.read().parquet("hdfs://nowhere.invalid:8020/orders").count();
      case "column" -> spark.range(3).select("price").count();
      case "format" -> spark.read().format("delta").load("/data/orders").count();
      case "needs" -> System.out.println(Needs.value());
      case "heap" -> fill();
      case "taskheap" -> context.parallelize(List.of(1), 1).foreach(n -> fill());
      case "exit" -> System.exit(3);
      case "logged" -> {
        try {
          pay(7);
        } catch (IllegalStateException e) {
          LogManager.getLogger(Fail.class).error("the report failed", e);
          System.exit(1);
        }
      }
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  private static void fill() {
    List<byte[]> kept = new ArrayList<>();
    while (true) {
      kept.add(new byte[16 << 20]);
    }
  }
}
