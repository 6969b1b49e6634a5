#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the properties of drivers and executors that releases of Spark know, one a line; one that ends in a dot is open.

They are the texts in the classes of Spark's own jars. The arguments are source distributions of pyspark, one of each line:
hack/spark-properties.py pyspark-*.tar.gz >internal/validation/properties.txt
"""

import io
import re
import struct
import sys
import tarfile
import zipfile

NAME = re.compile(rb"spark\.(kubernetes\.|driver|executor)[A-Za-z0-9._-]*[A-Za-z0-9._-]")

# Names that Spark puts together when it runs.
OPEN = ["spark.driver.resource.", "spark.executor.resource."]
CREDENTIALS = ["caCertFile", "clientKeyFile", "clientCertFile", "oauthToken", "oauthTokenFile"]
OF = ["", "driver.", "driver.mounted.", "executor.", "submission."]


def texts(data):
    """The texts in the constants of a class."""
    count, at, index = struct.unpack(">H", data[8:10])[0], 10, 1
    while index < count:
        tag = data[at]
        if tag == 1:
            size = struct.unpack(">H", data[at + 1 : at + 3])[0]
            yield data[at + 3 : at + 3 + size]
            at += 3 + size
        else:
            at += {5: 9, 6: 9, 7: 3, 8: 3, 15: 4, 16: 3, 19: 3, 20: 3}.get(tag, 5)
            index += tag in (5, 6)
        index += 1


def properties(distribution):
    with tarfile.open(distribution) as files:
        for jar in files:
            if not re.search(r"/jars/spark-[^/]*\.jar$", jar.name):
                continue
            with zipfile.ZipFile(io.BytesIO(files.extractfile(jar).read())) as classes:
                for name in classes.namelist():
                    if name.endswith(".class"):
                        yield from (t.decode() for t in texts(classes.read(name)) if NAME.fullmatch(t))


found = {p for distribution in sys.argv[1:] for p in properties(distribution)}
found = {p for p in found if p.count(".") > 1 and not p.startswith("spark.kubernetes.authenticate")}
found |= set(OPEN)
found |= {f"spark.kubernetes.authenticate.{of}{what}" for of in OF for what in CREDENTIALS}
found |= {f"spark.kubernetes.authenticate.{of}serviceAccountName" for of in ("driver.", "executor.")}
print("\n".join(sorted(p for p in found if not any(p != open and p.startswith(open) for open in found if open.endswith(".")))))
