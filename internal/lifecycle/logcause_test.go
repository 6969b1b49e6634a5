// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"archive/zip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// recordedLogs are the ends of the logs of real drivers that failed, by Spark's minor and case (testdata/causes/README.md).
func recordedLogs(tb testing.TB) map[string]string {
	tb.Helper()
	archive, err := zip.OpenReader("testdata/causes/logs.zip")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	logs := map[string]string{}
	for _, f := range archive.File {
		file, err := f.Open()
		if err != nil {
			tb.Fatal(err)
		}
		text, err := io.ReadAll(file)
		if err != nil {
			tb.Fatal(err)
		}
		if logs[strings.TrimSuffix(f.Name, ".log")] = string(text); len(text) > 256<<10 {
			tb.Errorf("%s has %d bytes, more than the operator reads", f.Name, len(text))
		}
	}
	return logs
}

// What real drivers failed of, one line each. A case without a line says nothing of its cause.
func TestCausesOfRecordedLogs(t *testing.T) {
	logs := recordedLogs(t)
	var got strings.Builder
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		fmt.Fprintln(&got, strings.TrimSpace(fmt.Sprintf("%-18s %s", name, logCause(logs[name]))))
	}
	testutil.Golden(t, "testdata/causes/causes.txt", got.String())
}

// The three minors say the same of the same failure, as far as the text is not Spark's own.
func TestCausesAreTheSameInAllMinors(t *testing.T) {
	logs := recordedLogs(t)
	for name, log := range logs {
		minor, test, _ := strings.Cut(name, "/")
		if minor != "4.1" {
			continue
		}
		for _, older := range []string{"3.5/", "4.0/"} {
			if text, ok := logs[older+test]; ok && (logCause(text) == "") != (logCause(log) == "") {
				t.Errorf("%s%s: %q, but %s: %q", older, test, logCause(text), name, logCause(log))
			}
		}
	}
}

func TestLogCause(t *testing.T) {
	const (
		stack = "\tat org.example.Main.main(Main.java:7)\n"
		info  = "26/11/22 19:16:13 INFO SparkContext: Successfully stopped SparkContext\n"
	)
	cases := map[string]struct {
		reason string
		log    string
		want   string
	}{
		"Empty":     {reason: "logs may not be read, or are gone"},
		"Quiet":     {reason: "an exit code may be all there is", log: info},
		"Warned":    {reason: "a warning stopped nothing", log: "26/11/22 19:16:13 WARN TaskSetManager: Lost task 0.0\njava.lang.IllegalStateException: once\n" + stack + "Caused by: java.io.IOException: once\n" + info},
		"Deepest":   {reason: "the last cause led to the others", log: inMain + "a.B: b\n" + stack + "Caused by: c.D: d\n" + stack + "Caused by: e.F: f\n" + stack + info, want: "e.F: f"},
		"Repeated":  {reason: "the exception around it says the same and more", log: inMain + "java.io.IOException: Cannot run program \"python9\": error=2\n" + stack + "Caused by: java.io.IOException: error=2\n" + stack, want: `java.io.IOException: Cannot run program "python9": error=2`},
		"Wrapped":   {reason: "the exception around it only says the same", log: inMain + "java.lang.RuntimeException: c.D: d\n" + stack + "Caused by: c.D: d\n" + stack, want: "c.D: d"},
		"Suppress":  {reason: "what was suppressed did not cause it", log: inMain + "a.B: b\n" + stack + "\tSuppressed: c.D: d\n\t" + stack + "\tCaused by: e.F: f\n\t" + stack, want: "a.B: b"},
		"Lines":     {reason: "a message may have lines", log: inMain + "a.B: not a time.\nFailed to parse: often\n" + stack, want: "a.B: not a time. Failed to parse: often"},
		"Plan":      {reason: "the plan of a query is no message", log: inMain + "a.B: no column `x`;\n'Project ['x]\n+- Range (0, 3)\n\n" + stack, want: "a.B: no column `x`;"},
		"Task":      {reason: "numbers of tasks and addresses change with each attempt", log: inMain + "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.7 executor 1): ExecutorLostFailure (executor 1 exited) Reason: lost\nDriver stacktrace:\n" + stack, want: "ExecutorLostFailure (executor 1 exited) Reason: lost"},
		"After":     {reason: "what is logged while Spark stops did not cause its end", log: inMain + "a.B: b\n" + stack + "26/11/22 19:16:13 ERROR Utils: Uncaught exception in thread shutdown-hook-0\nc.D: d\n" + stack, want: "a.B: b"},
		"Logged":    {reason: "an application may log its failure and exit", log: "26/11/22 19:16:13 ERROR Main: failed\na.B: b\n" + stack + info, want: "a.B: b"},
		"NotReady":  {reason: "a server waits a second for its own pod in vain, and carries on", log: "26/11/22 22:28:23 ERROR Utils: Uncaught exception in thread main\n" + notReadyYet + " with name:[x-server] in namespace [y].\n" + stack + info},
		"Client":    {reason: "a server carries on after a query that failed", log: "26/11/22 22:17:36 ERROR ErrorUtils: Spark Connect RPC error during: execute. UserId: user. SessionId: 7.\norg.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] x\n" + stack + info},
		"ClientToo": {reason: "also if records are structured", log: `{"level":"ERROR","msg":"Spark Connect RPC error during: execute. UserId: user","exception":{"class":"a.B","msg":"b"}}`},
		"Layout":    {reason: "a layout of the user's own", log: "2026-11-22T19:16:13,123Z [main] ERROR org.example.Main - failed\na.B: b\n" + stack, want: "a.B: b"},
		"Thread":    {reason: "another thread is the best guess if nothing else failed", log: "Exception in thread \"worker-1\" a.B: b\n" + stack, want: "a.B: b"},
		"NotThread": {reason: "but the main thread is the end", log: inMain + "a.B: b\n" + stack + "Exception in thread \"worker-1\" c.D: d\n" + stack, want: "a.B: b"},
		"Cut":       {reason: "the beginning of the exception was not read", log: stack + "Caused by: a.B: b\n" + stack + info, want: "a.B: b"},
		"CutNoise":  {reason: "nor is it what ended the driver", log: stack + "Caused by: a.B: b\n" + stack + inMain + "c.D: d\n" + stack, want: "c.D: d"},
		"Python":    {reason: "the last line of a traceback", log: traceback + "\n  File \"/app/a.py\", line 1, in <module>\n    f()\n    ^^^\nValueError: x\n" + info, want: "ValueError: x"},
		"Bare":      {reason: "an exception need not have a message", log: traceback + "\n  File \"/app/a.py\", line 1, in <module>\nAssertionError\n", want: "AssertionError"},
		"Chained":   {reason: "Python prints the last exception last", log: traceback + "\n  File \"/a.py\", line 1\nKeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n" + traceback + "\n  File \"/a.py\", line 2\nValueError: x\n", want: "ValueError: x"},
		"MoreFirst": {reason: "of two that Python chains, the one that says the same and more", log: traceback + "\n  File \"/a.py\", line 1\nOSError: [Errno 2] no such file: '/x'\n\nDuring handling of the above exception, another exception occurred:\n\n" + traceback + "\n  File \"/a.py\", line 2\nValueError: no such file\n", want: "OSError: [Errno 2] no such file: '/x'"},
		"Again":     {reason: "the last traceback ended it", log: traceback + "\n  File \"/a.py\", line 1\nKeyError: 1\nretrying\n" + traceback + "\n  File \"/a.py\", line 2\nValueError: x\n", want: "ValueError: x"},
		"Lost":      {reason: "the exception of a worker without its end is still that of Java", log: inMain + "org.apache.spark.api.python.PythonException: " + traceback + "\n" + stack + "Caused by: c.D: d\n" + stack, want: "c.D: d"},
		"WorkerLog": {reason: "a traceback within a record is no end of the main thread", log: inMain + "a.B: b\n" + stack + "26/11/22 19:16:13 ERROR Utils: x\norg.apache.spark.api.python.PythonException: " + traceback + "\n  File \"/a.py\", line 1, in f\nValueError: x\n\n" + stack, want: "a.B: b"},
		"Py4JAlone": {reason: "what is printed after it is not what it passes on", log: traceback + "\n  File \"/a.py\", line 1\npy4j.protocol.Py4JNetworkError: gone\nbye\n", want: "py4j.protocol.Py4JNetworkError: gone"},
		"TwoNamed":  {reason: "a message may begin with a class, too", log: "26/11/22 19:16:13 ERROR Main: failed\na.B: b\nc.D: d\n" + stack, want: "a.B: b c.D: d"},
		"Object":    {reason: "JSON in a message is no record", log: inMain + "a.B: cannot read\n{\"a\": 1}\n" + stack, want: `a.B: cannot read {"a": 1}`},
		"Ignored":   {reason: "what Python ignores ended nothing", log: traceback + "\n  File \"/a.py\", line 1\nKeyError: 1\nException ignored in: <function f>\n" + traceback + "\n  File \"/a.py\", line 2\nValueError: x\n", want: "KeyError: 1"},
		"Py4J":      {reason: "Python only passes it on", log: traceback + "\n  File \"/a.py\", line 1\npy4j.protocol.Py4JJavaError: An error occurred while calling o27.parquet.\n: a.B: b\n" + stack + "Caused by: c.D: d\n" + stack, want: "c.D: d"},
		"Worker":    {reason: "and so does Java of an exception in a worker", log: inMain + "org.apache.spark.api.python.PythonException: " + traceback + "\n  File \"/a.py\", line 1, in f\nValueError: x\n\n" + stack, want: "ValueError: x"},
		"JSON":      {reason: "records may be structured", log: `{"ts":"2026-11-22T19:51:34.630Z","level":"ERROR","msg":"failed","exception":{"class":"a.B","msg":"b","stacktrace":[]},"logger":"Main"}` + "\n" + `{"level":"INFO","msg":"stopped"}`, want: "a.B: b"},
		"JSONStack": {reason: "a record is no part of its message", log: `{"level":"ERROR","msg":"failed","exception":{"class":"a.B","msg":"b"}}` + "\n" + stack, want: "a.B: b"},
		"JSONLines": {reason: "with a traceback in the message", log: `{"level":"ERROR","msg":"x","exception":{"class":"org.apache.spark.api.python.PythonException","msg":"Traceback (most recent call last):\n  File \"/a.py\", line 1\nValueError: x\n"}}`, want: "ValueError: x"},
		"Class":     {reason: "spark-submit prints no exception", log: "Error: Failed to load class org.example.Missing.\n" + info, want: "Failed to load class org.example.Missing."},
		"Forbidden": {reason: "the API server's words are the cause, and not the client's around them", log: inMain + "org.apache.spark.SparkException: External scheduler cannot be instantiated\n" + stack + `Caused by: io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: GET at: https://kubernetes.default.svc/api/v1/namespaces/jobs/pods/pi-driver. Message: pods "pi-driver" is forbidden: User "system:serviceaccount:jobs:default" cannot get resource "pods" in API group "" in the namespace "jobs". Received status: Status(apiVersion=v1, code=403).` + "\n" + stack,
			want: `io.fabric8.kubernetes.client.KubernetesClientException: pods "pi-driver" is forbidden: User "system:serviceaccount:jobs:default" cannot get resource "pods" in API group "" in the namespace "jobs"`},
		"Exec":     {reason: "an image for another architecture", log: "exec /opt/entrypoint.sh: exec format error", want: "exec /opt/entrypoint.sh: exec format error"},
		"First":    {reason: "what follows from it is printed after it", log: "Unrecognized option: -Xmagic\nFatal Python error: y\n", want: "Unrecognized option: -Xmagic"},
		"Quit":     {reason: "Java ends itself", log: info + "Terminating due to java.lang.OutOfMemoryError: Java heap space\n", want: "Terminating due to java.lang.OutOfMemoryError: Java heap space"},
		"Crash":    {reason: "a library crashed Java", log: "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGSEGV (0xb) at pc=0x00007f, pid=7, tid=8\n", want: "SIGSEGV (0xb)"},
		"Password": {reason: "everyone in the namespace reads it", log: inMain + "a.B: jdbc:postgresql://db/x?user=me&password=hunter2&ssl=on refused\n" + stack, want: "a.B: jdbc:postgresql://db/x?user=me&password=(redacted)&ssl=on refused"},
		"UserInfo": {reason: "a URL may have a password, too", log: inMain + "a.B: cannot read https://me:hunter2@repo/x.jar\n" + stack, want: "a.B: cannot read https://(redacted)@repo/x.jar"},
		"Controls": {reason: "it is printed on terminals", log: inMain + "a.B: red\x00\tblue\x9b\n" + stack, want: "a.B: red blue"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := logCause(tc.log); got != tc.want {
				t.Errorf("%s:\n got %q\nwant %q", tc.reason, got, tc.want)
			}
		})
	}
}

// Whatever a log holds, its line is short, printable and said again of the same log.
func FuzzLogCause(f *testing.F) {
	for _, log := range recordedLogs(f) {
		f.Add(log)
	}
	f.Add(inMain + "a.B: " + strings.Repeat("é", maxLine) + "\n\tat x\n")
	f.Add(`{"level":"ERROR","exception":{"class":"a.B","msg":"\u001b[31m\n"}}`)
	f.Fuzz(func(t *testing.T, log string) {
		defer heaptest.Bound(t, len(log))()
		line := logCause(log)
		if len(line) > maxLine || !utf8.ValidString(line) || line != strings.TrimSpace(line) {
			t.Errorf("%d bytes: %q", len(line), line)
		}
		if strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("control characters: %q", line)
		}
		if again := logCause(log); again != line {
			t.Errorf("%q, then %q", line, again)
		}
	})
}
