// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

const head = "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: pi}\n"

// documents reads a manifest that has no mistakes in its syntax.
func documents(t *testing.T, text string) []Document {
	t.Helper()
	read, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestRead(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		lines  []int
		kinds  []string
	}{
		"one":         {"the usual case", "kind: A\n", []int{1}, []string{"A"}},
		"several":     {"separated by ---", "kind: A\n---\nkind: B\n--- # third\nkind: C\n", []int{1, 3, 5}, []string{"A", "B", "C"}},
		"comments":    {"documents without content are none", "# x\n---\n\n---\n# y\nkind: A\n---\n", []int{6}, []string{"A"}},
		"json":        {"JSON is YAML, too", "{\n\"kind\": \"A\"}", []int{1}, []string{"A"}},
		"json stream": {"objects that follow each other, as jq writes them (finding 24)", "# of jq\n---\n{\n\"kind\": \"A\"}\n\n{\"kind\": \"B\"} {\"kind\": \"C\"}\n", []int{3, 6, 6}, []string{"A", "B", "C"}},
		"flow":        {"YAML that looks like JSON", "{kind: A, list: [a]}\n", []int{1}, []string{"A"}},
		"directive":   {"a release of YAML (finding 24)", "# x\n%YAML 1.1\n---\nkind: A\n", []int{4}, []string{"A"}},
		"in a text":   {"an indented --- separates nothing", "kind: A\ntext: |\n  ---\n  x\n", []int{1}, []string{"A"}},
		"windows":     {"line ends of another world", "kind: A\r\n---\r\nkind: B\r\n", []int{1, 3}, []string{"A", "B"}},
		"no object":   {"something else", "- a\n- b\n", []int{1}, []string{""}},
		"empty":       {"nothing at all", "", nil, nil},
		"application": {"ours", head, []int{1}, []string{"SparkApplication"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var lines []int
			var kinds []string
			for _, document := range documents(t, tc.text) {
				lines, kinds = append(lines, document.Line), append(kinds, document.Kind)
				if (document.Object != nil) != (document.Kind == "SparkApplication") {
					t.Errorf("%s: application %+v", tc.reason, document.Object)
				}
			}
			if diff := cmp.Diff(tc.lines, lines) + cmp.Diff(tc.kinds, kinds); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadRefusesWhatIsNoYAML(t *testing.T) {
	for text, want := range map[string]string{
		"a: b\n---\nkind: A\n x: y\n": "line 4",
		"a: [\n":                      "line",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// shown is what is shown of problems.
func shown(problems []Problem) []Finding {
	var all []Finding
	for _, p := range problems {
		all = append(all, p.Finding)
	}
	return all
}

func TestProblems(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   []Finding
	}{
		"none":    {"a good one", "spec: {type: Scala}\n", nil},
		"unknown": {"a typo", "spec:\n  typo: x\n", []Finding{{5, Error, "spec.typo: unknown field; the operator would not see it; did you mean type?"}}},
		"nested": {
			"a typo further down", "spec:\n  driver:\n    memori: 1g\n",
			[]Finding{{6, Error, "spec.driver.memori: unknown field; the operator would not see it; did you mean memory?"}},
		},
		"in a list": {
			"the second of them", "spec:\n  driver:\n    secrets:\n    - {name: a, path: b, secretType: Generic}\n    - name: c\n      paht: d\n",
			[]Finding{{9, Error, "spec.driver.secrets[1].paht: unknown field; the operator would not see it; did you mean path?"}},
		},
		"case":   {"fields are case-sensitive", "spec:\n  sparkversion: 4.1.4\n", []Finding{{5, Error, "spec.sparkversion: unknown field; the operator would not see it; did you mean sparkVersion?"}}},
		"number": {"not a number", "spec:\n  driver:\n    cores: two\n", []Finding{{6, Error, "spec.driver.cores: a string is not valid here; write a whole number"}}},
		"text":   {"not a text", "spec:\n  sparkVersion: 4\n", []Finding{{5, Error, "spec.sparkVersion: a number is not valid here; write a string, in quotes if it looks like a number"}}},
		"list":   {"not a list", "spec:\n  arguments: x\n", []Finding{{5, Error, "spec.arguments: a string is not valid here; write a list"}}},
		"map":    {"not a map", "spec:\n  sparkConf: x\n", []Finding{{5, Error, "spec.sparkConf: a string is not valid here; write a map"}}},
		"bool":   {"not a boolean", "spec:\n  suspend: 1\n", []Finding{{5, Error, "spec.suspend: a number is not valid here; write true or false"}}},
		"properties": {
			"finding 11: all of them, each with key and line", "spec:\n  sparkConf:\n    spark.a: true\n    spark.b: x\n    spark.c: 200\n",
			[]Finding{
				{6, Error, `spec.sparkConf["spark.a"]: a bool is not valid here; write a string, in quotes if it looks like a number`},
				{8, Error, `spec.sparkConf["spark.c"]: a number is not valid here; write a string, in quotes if it looks like a number`},
			},
		},
		"index": {
			"finding 11: each with its index", "spec:\n  arguments: [a, 1]\n  driver:\n    sidecars:\n    - image: a\n    - image: 2\n",
			[]Finding{
				{5, Error, "spec.arguments[1]: a number is not valid here; write a string, in quotes if it looks like a number"},
				{9, Error, "spec.driver.sidecars[1].image: a number is not valid here; write a string, in quotes if it looks like a number"},
			},
		},
		"open": {
			"finding 4: the API server stores it, so it runs", "spec:\n  driver:\n    template: {spec: {containers: [{nam: x}]}}\n",
			[]Finding{{6, Warning, "spec.driver.template.spec.containers[0].nam: unknown field; it has no effect; did you mean name?"}},
		},
		"duration": {
			"finding 6", "spec:\n  deadlines: {run: 1d}\n  driver: {template: {spec: {containers: [{name: a, resources: {limits: {memory: 1GB}}}]}}}\n",
			[]Finding{
				{5, Error, `spec.deadlines.run: "1d": not a duration; write a number and a unit, such as "90s", "30m" or "24h"`},
				{6, Error, `spec.driver.template.spec.containers[0].resources.limits["memory"]: "1GB": not a quantity; write a number with a unit, such as "500m", "512Mi" or "2Gi"`},
			},
		},
		"large":          {"finding 21: it is a whole number", "spec:\n  executor:\n    instances: 99999999999999\n", []Finding{{6, Error, "spec.executor.instances: 99999999999999 is too large; write a number of at most 2147483647"}}},
		"huge":           {"finding 21: no other number is shown", "spec:\n  executor:\n    instances: 92233720368547758070\n", []Finding{{6, Error, "spec.executor.instances: the number is too large; write a number of at most 2147483647"}}},
		"half":           {"not a whole number", "spec:\n  executor: {instances: 1.5}\n", []Finding{{5, Error, "spec.executor.instances: 1.5 is not valid here; write a whole number"}}},
		"endless":        {"nobody waits for hours", "spec:\n  driver: {template: {spec: {containers: [{resources: {limits: {cpu: \"1e-100000000\"}}}]}}}\n", []Finding{{5, Error, `spec.driver.template.spec.containers[0].resources.limits["cpu"]: "1e-100000000": a quantity with a too large exponent; write a number between 1n and 1E`}}},
		"twice":          {"case 002: kubectl takes the last", "spec:\n  type: A\n  type: B\n", []Finding{{6, Warning, "spec.type: written twice, in lines 5 and 6; the last one counts: B"}}},
		"twice a block":  {"case 002: a block is not shown", "spec:\n  driver: {cores: 1}\n  driver: {cores: 2}\n", []Finding{{6, Warning, "spec.driver: written twice, in lines 5 and 6; the last one counts"}}},
		"twice a secret": {"case 002: nor what Spark would redact", "spec:\n  sparkConf:\n    a.password: b\n    a.password: c\n", []Finding{{7, Warning, `spec.sparkConf["a.password"]: written twice, in lines 6 and 7; the last one counts: (redacted)`}}},
		"null":           {"case 001: Helm writes empty keys, and the API server drops them", "spec:\n  sparkConf:\n  volumes: null\n  driver: {env: , labels: , cores: null, template: {spec: {containers: null}}}\n  hadoopConf: {a: null}\n", nil},
		"null in a list": {"the API server keeps it, and refuses it", "spec:\n  arguments: [a, null]\n", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := shown(documents(t, head+tc.text)[0].Problems)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What the definition of a kind refuses, kubectl apply refuses.
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		want         []Finding
	}{
		"required": {"finding 12: no type, no driver", "spec: {sparkVersion: 4.1.4, executor: {}, mainApplicationFile: a}\n", []Finding{{4, Error, "spec.driver: is required"}, {4, Error, "spec.type: is required"}}},
		"null":     {"finding 12: no driver either", "spec:\n  type: Scala\n  sparkVersion: 4.1.4\n  executor: {}\n  driver: null\n  mainApplicationFile: a\n", []Finding{{8, Error, "spec.driver: is required"}}},
		"empty": {
			"case 001: what is null is absent, but for an entry of a list",
			"spec:\n  type: Scala\n  sparkVersion: 4.1.4\n  executor: {coreLimit: null}\n  driver: {env: , labels: null}\n  mainApplicationFile: a\n  sparkConf:\n  arguments: [null]\n",
			[]Finding{{11, Error, `spec.arguments[0]: must be of type string: "null"`}},
		},
		"least": {
			"finding 12: bounds of numbers", "spec:\n  type: Scala\n  sparkVersion: 4.1.4\n  driver: {}\n  executor: {}\n  mainApplicationFile: a\n  restartPolicy:\n    onFailureRetries: -1\n  monitoring:\n    prometheus:\n      port: 80\n",
			[]Finding{
				{13, Error, "spec.monitoring.prometheus.jmxExporterJar: is required"},
				{14, Error, "spec.monitoring.prometheus.port: should be greater than or equal to 1024"},
				{11, Error, "spec.restartPolicy.onFailureRetries: should be greater than or equal to 0"},
			},
		},
		"word":  {"a word of a list", "spec: {type: Kotlin, sparkVersion: 4.1.4, driver: {}, executor: {}, mainApplicationFile: a}\n", []Finding{{4, Error, `spec.type: "Kotlin": should be one of [Java Python Scala R]`}}},
		"large": {"finding 21: said once", "spec: {type: Scala, sparkVersion: 4.1.4, driver: {}, executor: {instances: 99999999999999}, mainApplicationFile: a}\n", nil},
		"types": {"those are told of with what would be right", "spec: {type: Scala, sparkVersion: 4.1.4, driver: {cores: two}, executor: {}, mainApplicationFile: a, sparkConf: {spark.a: 1}}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := shown(documents(t, head+tc.spec)[0].Refused)
			if diff := cmp.Diff(tc.want, got, cmpopts.SortSlices(func(a, b Finding) bool { return a.Message < b.Message })); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// kubectl get -o yaml prints several objects as one list.
func TestLists(t *testing.T) {
	const item = "metadata: {name: pi}\n  spec:\n    typo: x\n"
	for name, text := range map[string]string{
		"List":  "apiVersion: v1\nkind: List\nitems:\n- apiVersion: sparkoperator.k8s.io/v1beta2\n  kind: SparkApplication\n  " + item,
		"Typed": "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplicationList\n# its items name no kind\nitems:\n\n- " + item,
	} {
		read := documents(t, text)
		if len(read) != 1 || read[0].Object == nil || read[0].Name != "pi" || len(read[0].Problems) != 1 || read[0].Problems[0].Line != 8 {
			t.Errorf("finding 5: %s: %+v", name, read)
		}
	}
}

func TestLineOf(t *testing.T) {
	document := documents(t, "# a comment\n---\n"+head+`spec:
  sparkConf:
    spark.a: x
    "spark.b c": y
  driver: &role
    memory: 1g
    env:
    - name: A
    - name: B
      value: b
  executor: *role
`)[0]
	for field, want := range map[string]int{
		"":                            3,
		"metadata":                    5,
		"metadata.name":               5,
		"spec":                        6,
		`spec.sparkConf["spark.a"]`:   8,
		`spec.sparkConf["spark.b c"]`: 9,
		`spec.sparkConf["spark.z"]`:   7,
		"spec.driver.memory":          11,
		"spec.driver.cores":           10,
		"spec.driver.env[1].value":    15,
		"spec.driver.env[7]":          12,
		"spec.executor.memory":        11,
		"status":                      3,
		"spec.driver.memory.x[0]":     11,
		"no path!":                    3,
	} {
		if got := document.LineOf(field); got != want {
			t.Errorf("%s is in line %d, want %d", field, got, want)
		}
	}
}

// A manifest that was written can be read, whatever texts are in it.
func TestYAMLCanBeReadBack(t *testing.T) {
	for _, text := range []string{"plain", "a\nb\r\n", "\f\x01\x7f", "\u0085\u009f", "\ufeff\ufffe\uffff", "日本 é 😀", "yes", "0x1", "- a: b", `"\u007f"`} {
		content, err := YAML(map[string]string{"text": text})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got map[string]string
		if err := yaml.Unmarshal(content, &got); err != nil || got["text"] != text {
			t.Errorf("%q became %q, %v", text, got["text"], err)
		}
	}
	if _, err := YAML(func() {}); err == nil {
		t.Error("a function has no YAML")
	}
}

// expansions are aliases of aliases: a document of 2 KB that stands for gigabytes.
func expansions() string {
	text := "a: &a [" + strings.Repeat("x,", 9) + "x]\n"
	for c := 'b'; c <= 'j'; c++ {
		text += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "*" + string(c-1) + "]\n"
	}
	return text
}

func FuzzRead(f *testing.F) {
	f.Add(head + "spec: {driver: {cores: x}, a: b}\n---\n- x\n")
	f.Add("a: &x [*x]\n")
	for _, conf := range heaptest.Bombs() {
		text, err := YAML(map[string]any{
			"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "spec": map[string]any{"sparkConf": conf},
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(head + "spec:\n  arguments:\n" + strings.Repeat("  - ${spark.a}\n", 5000))
	f.Add(expansions())
	f.Fuzz(func(t *testing.T, text string) {
		defer heaptest.Bound(t, len(text))()
		read, err := Read([]byte(text))
		if err != nil {
			return
		}
		for i := range read {
			read[i].LineOf("spec.driver.env[1].value")
		}
	})
}
