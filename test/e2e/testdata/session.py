# A session that is left open: a line of standard input is a query, and its end the end of the session.
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
print("open", spark.version, flush=True)
for line in sys.stdin:
    print(line.strip(), "=", spark.sql("select " + line).collect()[0][0], flush=True)
spark.stop()
print("stopped", flush=True)
