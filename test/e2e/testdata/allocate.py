# SPDX-License-Identifier: Apache-2.0
"""Works until Spark has had as many executors as the first argument says, then idles until as few as the second says."""
import sys
import threading
import time

from pyspark.sql import SparkSession

most, fewest = int(sys.argv[1]), int(sys.argv[2])
context = SparkSession.builder.getOrCreate().sparkContext
scheduler = context._jsc.sc()

# All executors that have ever registered: one may be lost or given up before the last one has come.
ever = set()


def executors():
    now = scheduler.getExecutorIds().mkString(" ").split()
    ever.update(now)
    return len(now)


def wait_until(reached, seconds=100):
    end = time.monotonic() + seconds
    while True:
        count = executors()
        if reached(count) or time.monotonic() >= end:
            return count
        time.sleep(0.1)


# The result of a shuffle, so that executors hold something that only tracking keeps them from losing.
groups = context.parallelize(range(100), 6).groupBy(lambda i: i % 6).cache()
print("sum at first:", groups.flatMap(lambda group: group[1]).sum(), flush=True)

enough = threading.Event()


def work():
    while not enough.is_set():
        context.parallelize(range(6), 6).foreach(lambda _: time.sleep(0.5))


worker = threading.Thread(target=work)
worker.start()
grown = wait_until(lambda count: count > fewest and len(ever) >= most)
print("grew:", grown > fewest, "registered at least:", min(len(ever), most), flush=True)
enough.set()
worker.join()
print("shrank to:", wait_until(lambda count: count <= fewest), flush=True)
print("sum at last:", groups.flatMap(lambda group: group[1]).sum(), flush=True)
context.stop()
