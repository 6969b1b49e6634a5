// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason string
		argv   []string
		want   Command
		err    string
	}{
		"everything": {
			reason: "flags, --conf and what belongs to the application",
			argv: []string{
				"--master", "k8s://h", "--class=Main", "-c", "spark.a=b=c", "--conf", "spark.b=", "--proxy-user", "bob", "-v",
				"--properties-file", "p", "--load-spark-defaults", "--queue", "q", "--supervise", "a.jar", "--conf", "x", "",
			},
			want: Command{
				Flags: map[string]string{"spark.master": "k8s://h"}, Confs: map[string]string{"spark.a": "b=c", "spark.b": ""},
				MainClass: "Main", ProxyUser: "bob", PropertiesFile: "p", LoadDefaults: true, Ignored: []string{"--queue", "--supervise"},
				Resource: "a.jar", Arguments: []string{"--conf", "x", ""},
			},
		},
		"last wins": {
			reason: "a flag or property that is given twice", argv: []string{"--name", "a", "--name", "b", "-c", "spark.a=1", "-c", "spark.a=2"},
			want: Command{Flags: map[string]string{"spark.app.name": "b"}, Confs: map[string]string{"spark.a": "2"}},
		},
		"carriage returns": {
			reason: "the launcher's script loses them", argv: []string{"--conf", "spark.a=x\r\n", "a\r.jar", "\r"},
			want: Command{Flags: map[string]string{}, Confs: map[string]string{"spark.a": "x\n"}, Resource: "a.jar", Arguments: []string{""}},
		},
		"value like a flag": {
			reason: "the value of a flag may begin with a dash", argv: []string{"--driver-java-options", "-Da=b", "--name", "--x"},
			want: Command{Flags: map[string]string{"spark.driver.extraJavaOptions": "-Da=b", "spark.app.name": "--x"}, Confs: map[string]string{}},
		},
		"no equals":      {reason: "neither key nor value", argv: []string{"--conf", "spark.x"}, err: `--conf: "spark.x": the value is missing`},
		"no value":       {reason: "the end of the line", argv: []string{"--name"}, err: "--name: the value is missing"},
		"empty joined":   {reason: "the launcher wants something after =", argv: []string{"--name=", "a"}, err: "--name=: spark-submit has no such flag"},
		"unknown":        {reason: "a typo", argv: []string{"--nom", "a"}, err: "--nom: spark-submit has no such flag"},
		"not submission": {reason: "nothing to convert", argv: []string{"--kill", "a"}, err: ErrNotSubmission.Error()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.argv)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: error %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
	if _, err := Parse([]string{"--status", "a"}); !errors.Is(err, ErrNotSubmission) {
		t.Errorf("--status: %v", err)
	}
}

func TestProperties(t *testing.T) {
	cases := map[string]struct {
		text, key, want string
	}{
		"blank separates":     {"spark.a  b c ", "spark.a", "b c"},
		"equals":              {"spark.a = b=c", "spark.a", "b=c"},
		"colon":               {"spark.a:b", "spark.a", "b"},
		"escaped separator":   {`spark.k\ x\:y=1`, "spark.k x:y", "1"},
		"comment":             {"#spark.a=1\n!spark.a=2\n  # spark.a=3\nspark.a=4", "spark.a", "4"},
		"continued":           {"spark.a=b\\\n   c", "spark.a", "bc"},
		"escaped backslash":   {"spark.a=b\\\\\nspark.c=d", "spark.a", `b\`},
		"continued at end":    {"spark.a=b\\", "spark.a", "b"},
		"line ends stay":      {`spark.a=x\n`, "spark.a", "x\n"},
		"blanks go":           {`spark.a=\tx\t`, "spark.a", "x"},
		"no value":            {"spark.a", "spark.a", ""},
		"unicode":             {`spark.a=\u00e9ü`, "spark.a", "éü"},
		"beyond 16 bits":      {`spark.a=\ud83d\ude00`, "spark.a", "😀"},
		"half a character":    {`spark.a=\ud83dx`, "spark.a", "\ufffdx"},
		"unknown escape":      {`spark.a=\q`, "spark.a", "q"},
		"windows line ends":   {"spark.a=1\r\nspark.b=2", "spark.a", "1"},
		"last wins":           {"spark.a=1\nspark.a=2", "spark.a", "2"},
		"form feed separates": {"spark.a\fb", "spark.a", "b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Properties(tc.text)
			if value, ok := got[tc.key]; err != nil || !ok || value != tc.want {
				t.Errorf("%q: %v, %v, want %s = %q", tc.text, got, err, tc.key, tc.want)
			}
		})
	}
	for _, text := range []string{`spark.a=\u12`, `spark.\uzzzz=1`, "spark.a=1\nspark.b=\\u00"} {
		if _, err := Properties(text); err == nil || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%q: %v, want the line of what is no character", text, err)
		}
	}
}

func FuzzProperties(f *testing.F) {
	for _, seed := range []string{"a=b", `a\`, `\u00e9=\ud83d\ude00`, "a\\\n b", "=", ":\f ", strings.Repeat("a=${spark.a}\n", 50_000), strings.Repeat("a\\\n", 100_000)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		defer heaptest.Bound(t, len(text))()
		_, _ = Properties(text)
	})
}

func TestConfiguration(t *testing.T) {
	machine := Machine{
		Env: map[string]string{
			"SPARK_CONF_DIR": "/conf", "MASTER": "k8s://env", "SPARK_DRIVER_MEMORY": "1g", "SPARK_EXECUTOR_CORES": "8",
			"SPARK_SUBMIT_OPTS": "-Xmx1g -Dspark.jvm=jvm -Dspark.all=jvm -Dother=x",
		},
		Files: map[string][]byte{
			"/conf/spark-defaults.conf": []byte("spark.defaults=d\nspark.all=defaults\nspark.executor.cores=4"),
			"/case/p.conf":              []byte("spark.file=f\nspark.all=file\nspark.flagged=file"),
			"/case/bad.conf":            []byte(`spark.a=\u1`),
		},
		Dir: "/case",
	}
	cases := map[string]struct {
		reason string
		argv   []string
		major  int
		want   map[string]string
	}{
		"defaults": {
			reason: "without a properties file", major: 3,
			want: map[string]string{"spark.all": "defaults", "spark.defaults": "d", "spark.executor.cores": "4"},
		},
		"file": {
			reason: "a properties file replaces the defaults", argv: []string{"--properties-file", "p.conf"}, major: 4,
			want: map[string]string{"spark.all": "file", "spark.file": "f", "spark.flagged": "file", "spark.executor.cores": "8"},
		},
		"both": {
			reason: "the file is laid over the defaults", argv: []string{"--properties-file", "/case/p.conf", "--load-spark-defaults"}, major: 4,
			want: map[string]string{
				"spark.all": "file", "spark.file": "f", "spark.flagged": "file", "spark.executor.cores": "4", "spark.defaults": "d",
			},
		},
		"not both": {
			reason: "Spark 3 reads one of them", argv: []string{"--properties-file", "p.conf", "--load-spark-defaults"}, major: 3,
			want: map[string]string{"spark.all": "file", "spark.file": "f", "spark.flagged": "file", "spark.executor.cores": "8"},
		},
		"conf and flags": {
			reason: "flags win over --conf, which wins over files", major: 4,
			argv: []string{"--properties-file", "file:///case/p.conf", "--driver-memory", "3g", "-c", "spark.driver.memory=2g", "-c", "spark.all=conf"},
			want: map[string]string{
				"spark.all": "conf", "spark.file": "f", "spark.flagged": "file", "spark.driver.memory": "3g", "spark.executor.cores": "8",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			command, err := Parse(tc.argv)
			if err != nil {
				t.Fatal(err)
			}
			got, err := command.Configuration(machine, tc.major)
			want := map[string]string{"spark.master": "k8s://env", "spark.driver.memory": "1g", "spark.jvm": "jvm"}
			for key, value := range tc.want {
				want[key] = value
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
	for file, text := range map[string]string{"none.conf": "no such file", "bad.conf": "line 1"} {
		command := Command{PropertiesFile: file}
		if _, err := command.Configuration(machine, 4); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", file, err, text)
		}
	}
}

func TestMachine(t *testing.T) {
	machine := Machine{Env: map[string]string{"SPARK_HOME": "/opt/spark"}, Files: map[string][]byte{"/a/b": nil, "/a/c/d": nil}, Dir: "/a"}
	for name, want := range map[string]string{
		"b": "/a/b", "./c/../b": "/a/b", "/x": "/x", "file:/x": "/x", "file:///x": "/x", "local:///x/y": "/x/y",
	} {
		if got := machine.Path(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := machine.ConfDir(); got != "/opt/spark/conf" {
		t.Errorf("Spark's configuration is in %s", got)
	}
	if got := (Machine{}).ConfDir(); got != "" {
		t.Errorf("a machine without Spark has its configuration in %s", got)
	}
	if diff := cmp.Diff(map[string][]byte{"b": nil}, machine.FilesIn("/a/")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
