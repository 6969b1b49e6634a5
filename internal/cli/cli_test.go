// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// execute runs the program and returns what it printed, both streams, and its exit code.
func execute(t *testing.T, in string, args ...string) (out, errOut string, code int) {
	t.Helper()
	streams, stdin, stdout, stderr := genericiooptions.NewTestIOStreams()
	stdin.WriteString(in)
	code = Run(args, streams)
	return stdout.String(), stderr.String(), code
}

func TestOutput(t *testing.T) {
	pi, err := os.ReadFile("testdata/pi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		args   []string
		in     string
		env    map[string]string
		code   int
	}{
		"render":      {reason: "all objects, reproducibly", args: []string{"render", "-f", "testdata/pi.yaml"}},
		"render-json": {reason: "one document", args: []string{"render", "-f", "testdata/pi.yaml", "-o", "json"}},
		"render-attempt": {
			reason: "as in a cluster", in: string(pi),
			args: []string{"render", "-f", "-", "--uid", "7b0f0a52-0000-4000-8000-000000000001", "--submit-time", "2026-11-21T09:00:00Z"},
		},
		"render-bad":     {reason: "the operator's words", args: []string{"render", "-f", "testdata/bad.yaml"}, code: 1},
		"render-missing": {reason: "a file that is not there", args: []string{"render", "-f", "testdata/none.yaml"}, code: 1},
		"render-format":  {reason: "a format that is not there", args: []string{"render", "-f", "testdata/pi.yaml", "-o", "xml"}, code: 1},
		"render-time":    {reason: "no time", args: []string{"render", "-f", "testdata/pi.yaml", "--submit-time", "now"}, code: 1},
		"render-config":  {reason: "defaults of the policies reach the pods, and the UI knows its path", args: []string{"render", "-f", "testdata/pi.yaml", "--config", "testdata/operator.yaml"}},
		"render-refused": {
			reason: "what a policy forbids", args: []string{"render", "-f", "testdata/pi.yaml", "--config", "testdata/strict.yaml"}, code: 1,
		},
		"render-no-config":  {reason: "a configuration that is not there", args: []string{"render", "-f", "testdata/pi.yaml", "--config", "testdata/none.yaml"}, code: 1},
		"render-bad-config": {reason: "a configuration that the operator would not take", args: []string{"render", "-f", "testdata/pi.yaml", "--config", "testdata/pi.yaml"}, code: 1},
		"validate-config":   {reason: "the line of what a policy forbids", args: []string{"validate", "-f", "testdata/pi.yaml", "--config", "testdata/strict.yaml"}, code: 1},
		"validate-limits":   {reason: "ways around limits, and around the queues that a namespace may use", args: []string{"validate", "-f", "testdata/around-limits.yaml", "--config", "testdata/limits.yaml"}, code: 1},
		"validate-apache":   {reason: "the other family, and its older version", args: []string{"validate", "-f", "testdata/apache.yaml"}, code: 1},
		"validate-clusters": {reason: "standalone clusters", args: []string{"validate", "-f", "testdata/clusters.yaml"}, code: 1},
		"render-apache":     {reason: "the other family", args: []string{"render", "-f", "testdata/apache-pi.yaml", "-n", "team"}},
		"render-help":       {reason: "help with examples", args: []string{"render", "--help"}},
		"validate":          {reason: "nothing is wrong", args: []string{"validate", "-f", "testdata/pi.yaml"}},
		"validate-bad":      {reason: "every line that is wrong", args: []string{"validate", "-f", "testdata/bad.yaml"}, code: 1},
		"validate-syntax": {
			reason: "not YAML", in: "a: b\n---\nkind: Pod\n  name: x\n", args: []string{"validate", "-f", "-"}, code: 1,
		},
		"validate-argument": {reason: "a file without its flag", args: []string{"validate", "testdata/pi.yaml"}, code: 1},
		"validate-nothing":  {reason: "a file must be named", args: []string{"validate"}, code: 1},
		"convert": {
			reason: "files, variables and what cannot be carried over",
			args: []string{
				"convert", "--", "/opt/spark/bin/spark-submit", "--master", "k8s://example", "--deploy-mode", "cluster", "--name", "My Job",
				"--properties-file", "testdata/spark-submit/p.conf", "--num-executors", "3", "--conf", "spark.ui.port=${env:UI_PORT}",
				"--conf", "spark.kubernetes.authenticate.submission.oauthToken=secret", "--queue", "a",
				"--py-files", "helpers.zip", "local:///app/job.py", "--name", "not ours",
			},
			env: map[string]string{"UI_PORT": "4050", "PYSPARK_PYTHON": "python3.11"},
		},
		"convert-plain": {
			reason: "spark-submit's flags are told from ours by --", args: []string{
				"convert", "--spark-version", "4.1.4", "-o", "json", "--master", "k8s://example",
			}, code: 1,
		},
		"convert-refused": {
			reason: "what spark-submit refuses", args: []string{"convert", "--", "spark-submit", "--master", "mars", "a.jar"}, code: 1,
		},
		"convert-yarn":   {reason: "submitted to another kind of cluster", args: []string{"convert", "--", "spark-submit", "--master", "yarn", "a.jar"}},
		"convert-status": {reason: "no submission", args: []string{"convert", "--", "spark-submit", "--status", "a"}, code: 1},
		"wait-help":      {reason: "exit codes", args: []string{"wait", "--help"}},
		"version":        {reason: "the releases that it knows", args: []string{"version"}},
		"typo":           {reason: "a command that there is not, and the one that was meant", args: []string{"explian", "x"}, code: 1},
		"help":           {reason: "called as a plugin", args: []string{"--help"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "SPARK_USER", "MASTER"} {
				t.Setenv(variable, "")
				if err := os.Unsetenv(variable); err != nil {
					t.Fatal(err)
				}
			}
			for variable, value := range tc.env {
				t.Setenv(variable, value)
			}
			out, errOut, code := execute(t, tc.in, tc.args...)
			if code != tc.code {
				t.Errorf("%s: exit code %d, want %d: %s", tc.reason, code, tc.code, errOut)
			}
			testutil.Golden(t, "testdata/"+name+".golden", "# stdout\n"+out+"# stderr\n"+errOut)
		})
	}
}

// What convert prints, render takes.
func TestConvertedIsRendered(t *testing.T) {
	out, errOut, code := execute(t, "", "convert", "--", "spark-submit", "--master", "k8s://example", "--deploy-mode", "cluster",
		"--class", "Main", "--conf", "spark.kubernetes.container.image=spark:4.1.4", "--conf", "spark.odd=\f\u007f\u0085", "local:///a.jar", "a b")
	if code != 0 {
		t.Fatal(errOut)
	}
	rendered, errOut, code := execute(t, out, "render", "-f", "-")
	if code != 0 || !strings.Contains(rendered, `spark.odd=\\f`) {
		t.Errorf("exit code %d, %s\n%s", code, errOut, rendered)
	}
}

func TestConvertReadsDirectories(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"spark-defaults.conf": "spark.kubernetes.container.image spark:3.5.9\n", "log4j2.properties": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SPARK_CONF_DIR", dir)
	t.Setenv("HADOOP_CONF_DIR", filepath.Join(dir, "none"))
	out, errOut, code := execute(t, "", "convert", "--", "--master", "k8s://example", "--deploy-mode", "cluster", "--class", "Main", "local:///a.jar")
	if code != 0 {
		t.Fatal(errOut)
	}
	for _, text := range []string{"sparkVersion: 3.5.9", "image: spark:3.5.9", "spark.kubernetes.hadoop.configMapName: main-hadoop-conf"} {
		if !strings.Contains(out, text) {
			t.Errorf("the manifest lacks %q:\n%s", text, out)
		}
	}
	for _, text := range []string{"SPARK_CONF_DIR: ", "log4j2.properties", "kubectl create configmap main-hadoop-conf"} {
		if !strings.Contains(errOut, text) {
			t.Errorf("the findings lack %q:\n%s", text, errOut)
		}
	}
}

func TestCompletion(t *testing.T) {
	for shell, text := range map[string]string{"bash": "__start_kubectl-spark", "zsh": "#compdef", "fish": "complete -c"} {
		var out bytes.Buffer
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
		if code := Run([]string{"completion", shell}, streams); code != 0 || !strings.Contains(out.String(), text) {
			t.Errorf("%s: exit code %d, no %q in %d bytes", shell, code, text, out.Len())
		}
	}
	out, _, _ := execute(t, "", "__complete", "render", "-o", "")
	if !strings.Contains(out, "yaml\njson\n") {
		t.Errorf("formats to complete: %q", out)
	}
}
