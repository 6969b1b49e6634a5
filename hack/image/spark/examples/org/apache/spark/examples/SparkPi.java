// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.examples;

import java.util.Collections;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * SparkPi [SLICES] estimates pi from random points. Class name and jar are those that published manifests name.
 */
public final class SparkPi {
  private static final int POINTS_PER_SLICE = 100_000;

  private SparkPi() {}

  public static void main(String[] args) {
    int slices = args.length > 0 ? Integer.parseInt(args[0]) : 2;
    try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("Spark Pi"))) {
      long inside = context.parallelize(Collections.nCopies(slices, POINTS_PER_SLICE), slices)
          .map(SparkPi::pointsInside)
          .reduce(Long::sum);
      System.out.println("Pi is roughly " + 4.0 * inside / ((long) slices * POINTS_PER_SLICE));
    }
  }

  private static long pointsInside(int points) {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    long inside = 0;
    for (int i = 0; i < points; i++) {
      double x = random.nextDouble();
      double y = random.nextDouble();
      if (x * x + y * y <= 1) {
        inside++;
      }
    }
    return inside;
  }
}
