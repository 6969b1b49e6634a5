# SPDX-License-Identifier: Apache-2.0
"""The cells of a notebook that runs its queries on a Spark Connect server: SPARK_REMOTE is the server's URL."""

# %% A session. It belongs to this notebook; others on the same server do not see its views and settings.
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
print("connected to Spark", spark.version)

# %% A query. The plan is sent to the server, which runs it on its executors.
trips = spark.range(1000).withColumn("zone", F.col("id") % 3).withColumn("fare", F.col("id") % 50)
zones = trips.groupBy("zone").agg(F.count("*").alias("trips"), F.sum("fare").alias("fares")).orderBy("zone")
zones.show()

# %% The result as a pandas DataFrame, on this side.
frame = zones.toPandas()
print("all fares:", frame.fares.sum())

# %% The end of the session. A server that waits for its sessions waits for this one no longer.
spark.stop()
