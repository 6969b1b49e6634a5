// SPDX-License-Identifier: Apache-2.0
package io.firesteel.e2e;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Behave sleep SECONDS | exit CODE | throw | oom | heap: an application for every way in which one can end.
 */
public final class Behave {
  private static final int CHUNK = 16 << 20;

  private Behave() {}

  public static void main(String[] args) throws Exception {
    String how = args.length > 0 ? args[0] : "sleep";
    try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("behave-" + how))) {
      System.out.println("context is up: " + context.sc().applicationId());
      switch (how) {
        case "sleep" -> work(context, args.length > 1 ? Integer.parseInt(args[1]) : 60);
        case "exit" -> System.exit(Integer.parseInt(args[1]));
        case "throw" -> throw new IllegalStateException("thrown on purpose");
        case "oom" -> exceedContainer();
        case "heap" -> exceedHeap();
        default -> throw new IllegalArgumentException(how);
      }
    }
    System.out.println("done");
  }

  /** Keeps the executors busy with short tasks, so that losing one is noticed. */
  private static void work(JavaSparkContext context, int seconds) {
    long end = System.nanoTime() + seconds * 1_000_000_000L;
    while (System.nanoTime() < end) {
      context.parallelize(Collections.nCopies(4, 0), 4).map(i -> {
        Thread.sleep(500);
        return i;
      }).count();
    }
  }

  /** Takes memory outside the heap until the kernel ends the container (needs a large -XX:MaxDirectMemorySize). */
  private static void exceedContainer() {
    List<ByteBuffer> kept = new ArrayList<>();
    while (true) {
      ByteBuffer buffer = ByteBuffer.allocateDirect(CHUNK);
      for (int i = 0; i < buffer.capacity(); i += 4096) {
        buffer.put(i, (byte) 1);
      }
      kept.add(buffer);
    }
  }

  /** Takes heap until Java throws OutOfMemoryError. */
  private static void exceedHeap() {
    List<byte[]> kept = new ArrayList<>();
    while (true) {
      kept.add(new byte[CHUNK]);
    }
  }
}
