#!/usr/bin/env python3
"""Packs recordings of spark-submit into golden.zip: sorted names, fixed dates, so that the same input gives the same file.

The recordings are thousands of small, similar files. A zip that only stores them, inside of a zip that compresses, is
ten times smaller than one that compresses each of them.

Usage: golden.py FOLDER   (the folder that holds cases/, README.md and conf-registry.json)
"""
import io, os, sys, zipfile


def add(archive, name, content, method):
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    archive.writestr(info, content, method, 9)


root = sys.argv[1]
names = [n for n in ("README.md", "conf-registry.json") if os.path.exists(os.path.join(root, n))]
for folder, _, files in os.walk(os.path.join(root, "cases")):
    # Calls of the driver at run time are no concern of the submission.
    names += [os.path.relpath(os.path.join(folder, f), root) for f in files if f != "calls.json"]
inner = io.BytesIO()
with zipfile.ZipFile(inner, "w") as archive:
    for name in sorted(names):
        with open(os.path.join(root, name), "rb") as f:
            add(archive, name, f.read(), zipfile.ZIP_STORED)
out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.zip")
with zipfile.ZipFile(out, "w") as archive:
    add(archive, "golden.zip", inner.getvalue(), zipfile.ZIP_DEFLATED)
