# SPDX-License-Identifier: Apache-2.0
"""Runs a stage for each argument, of as many tasks. They hold their executors until the driver finds a file /tmp/N, N being the stage's number from 1."""
import os
import socket
import sys
import threading
import time

from pyspark.sql import SparkSession

context = SparkSession.builder.getOrCreate().sparkContext
host = context.getConf().get("spark.driver.host")


def hold(server, number, tasks):
    held = [server.accept()[0] for _ in range(tasks)]
    print(f"stage {number} holds {tasks} executors", flush=True)
    while not os.path.exists(f"/tmp/{number}"):
        time.sleep(0.1)
    server.close()
    for connection in held:
        connection.close()


def holding(port):
    """A task that ends when the driver closes its connection."""

    def task(i):
        try:
            with socket.create_connection((host, port)) as driver:
                driver.recv(1)
        except OSError:
            pass
        return i

    return task


for number, tasks in enumerate(map(int, sys.argv[1:]), 1):
    server = socket.create_server(("", 0))
    threading.Thread(target=hold, args=(server, number, tasks)).start()
    numbers = context.parallelize(range(tasks), tasks).map(holding(server.getsockname()[1]))
    # a shuffle, so that executors have something that only tracking keeps
    print(f"stage {number} of {tasks}:", numbers.groupBy(lambda i: i % 2, 2).count(), flush=True)
print("Pi is roughly 3.14")
context.stop()
