# SPDX-License-Identifier: Apache-2.0
"""Works until Spark has as many executors as the first argument says, then idles until as few as the second says."""
import sys
import threading
import time

from pyspark.sql import SparkSession

most, fewest = int(sys.argv[1]), int(sys.argv[2])
context = SparkSession.builder.getOrCreate().sparkContext
scheduler = context._jsc.sc()


def executors():
    return scheduler.getExecutorIds().size()


def wait_until(reached, seconds=100):
    end = time.monotonic() + seconds
    while not reached() and time.monotonic() < end:
        time.sleep(0.1)
    return executors()


# The result of a shuffle, so that executors hold something that only tracking keeps them from losing.
groups = context.parallelize(range(100), 6).groupBy(lambda i: i % 6).cache()
print("sum at first:", groups.flatMap(lambda group: group[1]).sum(), flush=True)

enough = threading.Event()


def work():
    while not enough.is_set():
        context.parallelize(range(6), 6).foreach(lambda _: time.sleep(0.5))


worker = threading.Thread(target=work)
worker.start()
print("grew to:", wait_until(lambda: executors() >= most), flush=True)
enough.set()
worker.join()
print("shrank to:", wait_until(lambda: executors() <= fewest), flush=True)
print("sum at last:", groups.flatMap(lambda group: group[1]).sum(), flush=True)
context.stop()
