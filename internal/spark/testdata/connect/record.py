#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what a real Spark Connect server in client mode sends to an API server, and packs it into connect.zip.

It starts, as the container of a server of Kubeflow's operator does, the class SparkConnectServer by spark-submit in client
mode, beside the recording API server of golden.zip's recorder (record.py, fakeapi.py and normalise.py there), and stops
it when it has created all executors that it starts with.

Usage: unshare -n -m python3 record.py RECORDER HOMES.json OUT     (one folder OUT/cases/<case>/<minor> for each)
       python3 record.py --pack OUT                                (writes connect.zip beside this program)

HOMES.json: {"3.5": {"home": "<SPARK_HOME>", "java": "<JAVA_HOME>", "version": "3.5.9", "jars": "<spark-connect jar>"}, ...}
"jars" is for releases that have Spark Connect in a package of its own.
"""
import io, json, os, re, shutil, signal, subprocess, sys, time, types, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "sc"
IMAGE = "registry.example/spark:test"


def command(case, home):
    """The command line of Kubeflow's operator, in its order; the script that it calls adds class and name."""
    conf = [("spark.kubernetes.namespace", "default"),
            ("spark.kubernetes.container.image", IMAGE), ("spark.kubernetes.executor.container.image", IMAGE)]
    conf += [tuple(c) for c in case.get("sparkConf", [])]
    conf += [("spark.kubernetes.driver.label." + k, v) for k, v in OWN]
    conf += [("spark.driver.bindAddress", "127.0.0.1"), ("spark.driver.host", "127.0.0.1"), ("spark.driver.port", "7078"),
             ("spark.driver.blockManager.port", "7079"), ("spark.kubernetes.driver.pod.name", NAME + "-server")]
    conf += [("spark.kubernetes.executor.label." + k, v) for k, v in OWN]
    conf += [tuple(c) for c in case.get("typed", [])]
    conf += [("spark.kubernetes.executor.podNamePrefix", NAME)]
    if os.path.exists("/case/executor-pod-template.yaml"):
        conf += [("spark.kubernetes.executor.podTemplateFile", "/case/executor-pod-template.yaml"),
                 ("spark.kubernetes.executor.podTemplateContainerName", "spark-kubernetes-executor")]
    argv = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--name", "Spark Connect server",
            "--master", "k8s://http://127.0.0.1:6443"]
    for key, value in conf:
        argv += ["--conf", key + "=" + value]
    return [home["home"] + "/bin/spark-submit"] + (["--jars", home["jars"]] if home.get("jars") else []) + argv


OWN = [("sparkoperator.k8s.io/launched-by-spark-operator", "true"), ("sparkoperator.k8s.io/connect-name", NAME)]


def one(runner, fakeapi, record, case, minor, out):
    home = runner.homes[minor]
    runner.clean()
    files = os.path.join(HERE, case["id"] + ".yaml")
    if os.path.exists(files):
        shutil.copy(files, "/case/executor-pod-template.yaml")
    state = fakeapi.State({"quietWatch": True, "watchSeconds": 90})
    server = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME + "-server", "namespace": "default"},
              "status": {"phase": "Running", "podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}}
    state.put("default", "pods", server)
    runner.holder["state"] = state
    env = runner.env(minor, {})
    started = time.time()
    with open("/opt/rec/log", "wb") as log:
        p = subprocess.Popen(command(case, home), env=env, cwd="/case", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        while p.poll() is None and time.time() < started + 120 and len(pods(state)) < case["executors"]:
            time.sleep(0.3)
        time.sleep(3 if p.poll() is None else 0)  # whether there are more
        made = len(pods(state))
        try:
            os.killpg(p.pid, signal.SIGTERM)
            p.wait(20)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(p.pid, signal.SIGKILL)
    text = open("/opt/rec/log", encoding="utf-8", errors="replace").read()
    if made != case["executors"]:
        raise SystemExit("%s %s: %d executors\n%s" % (case["id"], minor, made, text[-6000:]))
    requests = [r for r in state.requests if r["method"] in ("POST", "PUT") or r["method"] == "PATCH"]
    norm = record.Normaliser(int(started * 1000), json.dumps(requests))
    shutil.rmtree(out, ignore_errors=True)
    record.dump(os.path.join(out, "driver", "requests.json"), runner.objects(requests, os.path.join(out, "driver"), norm))
    record.dump(os.path.join(out, "result.json"), {"sparkVersion": home["version"], "executors": made})
    print("%-24s %s %d executors, %.0f s" % (case["id"], minor, made, time.time() - started), flush=True)


def pods(state):
    with state.lock:
        return [r for r in state.requests if r["method"] == "POST" and (r.get("body") or {}).get("kind") == "Pod" and r.get("status") == 201]


def run(recorder, homes, out):
    sys.path.insert(0, recorder)
    import fakeapi, record
    os.makedirs(out, exist_ok=True)
    runner = record.Runner(types.SimpleNamespace(homes=homes, out=out, worker="1/1", batch=None))
    for case in json.load(open(os.path.join(HERE, "cases.json"))):
        only = os.environ.get("ONLY")
        if only and not re.search(only, case["id"]):
            continue
        target = os.path.join(out, "cases", case["id"])
        record.dump(os.path.join(target, "case.json"), case)
        template = os.path.join(HERE, case["id"] + ".yaml")
        if os.path.exists(template):
            os.makedirs(os.path.join(target, "files"), exist_ok=True)
            shutil.copy(template, os.path.join(target, "files", "executor-pod-template.yaml"))
        for minor in case["versions"]:
            one(runner, fakeapi, record, case, minor, os.path.join(target, minor))


def pack(root):
    """The same folder gives the same file; a stored zip inside of a compressed one is much smaller than one compressed."""
    inner = io.BytesIO()
    names = [os.path.relpath(os.path.join(d, f), root) for d, _, fs in os.walk(os.path.join(root, "cases")) for f in fs]
    for target, content, method in ((inner, [(n, open(os.path.join(root, n), "rb").read()) for n in sorted(names)], zipfile.ZIP_STORED),
                                    (os.path.join(HERE, "..", "connect.zip"), None, zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(target, "w") as archive:
            for name, data in content or [("connect.zip", inner.getvalue())]:
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, method, 9)


if __name__ == "__main__":
    pack(sys.argv[2]) if sys.argv[1] == "--pack" else run(*sys.argv[1:4])
