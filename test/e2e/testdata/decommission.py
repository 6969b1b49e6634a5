# SPDX-License-Identifier: Apache-2.0
# Caches what each executor has computed, waits until one of them is gone, and uses it again: what was moved in time need not
# be computed again.
import sys
import time

from pyspark import StorageLevel
from pyspark.sql import SparkSession

sc = SparkSession.builder.getOrCreate().sparkContext
computed = sc.accumulator(0)


def count(x):
    computed.add(1)
    return x


def executors():
    status = sc._jsc.sc().getExecutorMemoryStatus()
    return set(status.keys().mkString(",").split(","))


deadline = time.time() + 60
while len(executors()) < 3 and time.time() < deadline:  # the driver is one of them
    time.sleep(0.2)
data = sc.parallelize(range(1000), 8).map(count).persist(StorageLevel.MEMORY_AND_DISK)
print("sum at first:", data.sum(), flush=True)
before = executors()
print("computed at first:", computed.value, "on", len(before) - 1, "executors", flush=True)
print("ready", flush=True)
deadline = time.time() + 90
while before <= executors():
    if time.time() > deadline:
        sys.exit("no executor went")
    time.sleep(0.2)
print("sum at last:", data.sum(), flush=True)
print("computed at last:", computed.value, flush=True)
