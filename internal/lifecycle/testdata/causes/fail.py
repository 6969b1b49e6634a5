# SPDX-License-Identifier: Apache-2.0
"""fail.py CASE ends as the case says."""
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

case = sys.argv[1]
spark = SparkSession.builder.appName("fail").getOrCreate()


def pay(amount):
    try:
        return int("twelve")
    except ValueError as e:
        raise RuntimeError(f"order {amount} cannot be read") from e


if case == "raise":
    pay(7)
elif case == "message":
    raise ValueError("two things are wrong:\n  the first\n  the second")
elif case == "module":
    import pandas_of_another_world
elif case == "file":
    open("/data/orders.csv")
elif case == "path":
    spark.read.parquet("/data/orders").count()
elif case == "column":
    spark.range(3).select("price").count()
elif case == "s3a":
    spark.read.parquet("s3a://lake/orders").count()
elif case == "rdd":
    spark.sparkContext.textFile("s3a://lake/orders").count()
elif case == "task":
    spark.sparkContext.parallelize([1, 2], 2).map(pay).collect()
elif case == "udf":
    spark.range(3).select(udf(pay)("id")).collect()
elif case == "assert":
    assert spark.range(3).count() == 4
elif case == "interrupt":
    raise KeyboardInterrupt
elif case == "exit":
    sys.exit(3)
elif case == "exittext":
    sys.exit("no orders for 2026-11-22")
