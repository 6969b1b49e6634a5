// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	values := map[string]string{
		"spark.tag":          "7",
		"spark.image":        "repo/${env:TEAM}:${spark.tag}",
		"spark.unresolved":   "${spark.none}-${env:NONE}-${system:user.name}-${other}",
		"spark.twice":        "${spark.tag}${spark.tag}",
		"spark.self":         "a${spark.self}",
		"spark.a":            "${spark.b}",
		"spark.b":            "${spark.a}",
		"spark.default":      "${spark.kubernetes.namespace}/${spark.driver.memory}",
		"spark.fallback":     "${spark.kubernetes.driver.container.image}",
		ConfImage:            "image",
		"spark.open":         "${spark.tag",
		"spark.empty":        "${}",
		"spark.dollar":       "$1 ${spark.backslash}",
		"spark.backslash":    `\$0`,
		"spark.nested.twice": "${spark.image}+${spark.image}",
	}
	env := map[string]string{"TEAM": "data"}
	tests := []struct{ key, want, problem, reason string }{
		{"spark.tag", "7", "", "no reference"},
		{"spark.image", "repo/data:7", "", "a variable and a property"},
		{"spark.unresolved", values["spark.unresolved"], "", "what cannot be resolved stays"},
		{"spark.twice", "77", "", "the same reference twice is not a cycle"},
		{"spark.nested.twice", "repo/data:7+repo/data:7", "", "nor is it deeper down"},
		{"spark.self", "", "refers to itself through ${spark.self}", "cycle of one"},
		{"spark.a", "", "refers to itself", "cycle of two"},
		{"spark.default", "default/1g", "", "defaults of unset properties"},
		{"spark.fallback", "image", "", "the fallback of an unset property"},
		{"spark.open", "${spark.tag", "", "not a reference"},
		{"spark.empty", "${}", "", "not a reference"},
		{"spark.dollar", `$1 \$0`, "", "replacements are literal"},
	}
	for _, test := range tests {
		c := newConf(values, env)
		got, _ := c.text(test.key)
		if test.problem == "" {
			if got != test.want || c.err != nil {
				t.Errorf("%s = %q, %v, want %q: %s", test.key, got, c.err, test.want, test.reason)
			}
			continue
		}
		conf, ok := errors.AsType[*ConfError](c.err)
		if !ok || conf.Key != test.key || !strings.Contains(conf.Problem, test.problem) {
			t.Errorf("%s: error %v, want %q: %s", test.key, c.err, test.problem, test.reason)
		}
	}
}

// A tenant must not be able to keep the operator busy with references that double at each step.
func TestExpandIsBounded(t *testing.T) {
	values := map[string]string{"spark.z": ""}
	for c := 'a'; c < 'z'; c++ {
		next := "${spark." + string(c+1) + "}"
		values["spark."+string(c)] = next + next
	}
	c := newConf(values, nil)
	c.text("spark.a")
	if c.err == nil || !strings.Contains(c.err.Error(), "too many") {
		t.Errorf("error %v, want one about too many references", c.err)
	}
}

func TestTypedReaders(t *testing.T) {
	read := map[string]func(c *conf) any{
		"flag":   func(c *conf) any { return c.flag("spark.x", true) },
		"number": func(c *conf) any { return c.number("spark.x") },
		"port":   func(c *conf) any { return c.port("spark.x", 7078) },
		"factor": func(c *conf) any { return c.double("spark.x", 0, true) },
		"size":   func(c *conf) any { return c.mebibytes("spark.x") },
		"list":   func(c *conf) any { return c.list("spark.x") },
	}
	tests := []struct {
		reader, text string
		want         any
		problem      string
		reason       string
	}{
		{"flag", " TRUE ", true, "", "trimmed, in any case"},
		{"flag", "false", false, "", "plain"},
		{"flag", "yes", true, "not a boolean", "only two words"},
		{"flag", "", true, "not a boolean", "set to nothing is not unset"},
		{"number", " 4 ", int64(4), "", "trimmed"},
		{"number", "4.0", int64(0), "not a whole number", "fraction"},
		{"number", "4294967296", int64(2147483647), "not a whole number", "more than 32 bits"},
		{"port", "30000", int32(30000), "", "plain"},
		{"port", " 30000", int32(0), "not a port", "ports are not trimmed"},
		{"port", "${spark.y}", int32(0), "not a port", "ports are not expanded"},
		{"factor", "0.5", 0.5, "", "plain"},
		{"factor", "0", 0.0, "greater than 0", "zero"},
		{"factor", "x", 0.0, "not a number", "text"},
		{"size", "2g", int64(2048), "", "plain"},
		{"size", "-100m", int64(-100), "", "Spark lets negative sizes through"},
		{"size", "1.5g", int64(0), "not a size", "fraction"},
		{"list", "a, b,,", []string{"a", "b"}, "", "trimmed"},
		{"list", "${spark.y},c", []string{"y1", "y2", "c"}, "", "expanded before it is split"},
	}
	for _, test := range tests {
		c := newConf(map[string]string{"spark.x": test.text, "spark.y": "y1,y2"}, nil)
		got := read[test.reader](c)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s of %q, %s (-want +got):\n%s", test.reader, test.text, test.reason, diff)
		}
		if c.err == nil != (test.problem == "") || c.err != nil && !strings.Contains(c.err.Error(), test.problem) {
			t.Errorf("%s of %q: error %v, want %q: %s", test.reader, test.text, c.err, test.problem, test.reason)
		}
	}
}

func TestFirstRefusalStays(t *testing.T) {
	c := newConf(map[string]string{"spark.x": "?", "spark.y": "!"}, nil)
	c.number("spark.x")
	c.number("spark.y")
	if conf, ok := errors.AsType[*ConfError](c.err); !ok || conf.Key != "spark.x" {
		t.Errorf("error %v, want the first one", c.err)
	}
}

func TestAlternativesAndFallbacks(t *testing.T) {
	c := newConf(map[string]string{
		"spark.yarn.driver.memoryOverhead": "300m",
		ConfImage:                          "all",
		ConfExecutorImage:                  "executor",
	}, nil)
	for key, want := range map[string]string{
		ConfDriverMemoryOverhead: "300m",
		ConfDriverImage:          "all",
		ConfExecutorImage:        "executor",
		ConfNamespace:            "default",
	} {
		if got, ok := c.text(key); got != want || !ok {
			t.Errorf("%s = %q, %t, want %q", key, got, ok, want)
		}
	}
	if _, ok := c.text("spark.none"); ok {
		t.Error("an unknown property has a value")
	}
}

func TestFamilies(t *testing.T) {
	c := newConf(map[string]string{
		"spark.kubernetes.driver.label.a":        "1",
		"spark.kubernetes.driver.label.b.c/d":    "2",
		"spark.kubernetes.driver.labels":         "3",
		"spark.kubernetes.driver.service.label.": "4",
		"spark.kubernetes.node.selector.n":       "5",
		"spark.kubernetes.driver.node.selector":  "6",
	}, nil)
	if diff := cmp.Diff(map[string]string{"a": "1", "b.c/d": "2"}, c.family(ConfDriverLabelPrefix)); diff != "" {
		t.Errorf("driver labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"n": "5"}, c.family(ConfNodeSelectorPrefix)); diff != "" {
		t.Errorf("node selectors (-want +got):\n%s", diff)
	}
	if got := c.family(ConfDriverNodeSelectorPrefix); got != nil {
		t.Errorf("driver node selectors %v, want none", got)
	}
}

func TestConfErrorText(t *testing.T) {
	tests := []struct {
		err          ConfError
		want, reason string
	}{
		{ConfError{Key: "spark.x", Value: "2gx", Problem: "not a size"}, `spark.x: "2gx": not a size`, "all parts"},
		{ConfError{Key: "spark.x", Problem: "missing"}, `spark.x: missing`, "nothing was given"},
		{ConfError{Field: FieldMainFile, Value: "a\n", Problem: "bad"}, `mainApplicationFile: "a\n": bad`, "a field, and one line"},
		{ConfError{Key: "k", Value: strings.Repeat("é", 100), Problem: "p"},
			`k: "` + strings.Repeat("é", 60) + `...": p`, "long values are cut"},
	}
	for _, test := range tests {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %s, want %s: %s", got, test.want, test.reason)
		}
	}
}

func TestField(t *testing.T) {
	app := Application{Origins: map[string]Origin{ConfDriverMemory: {Field: "driver.memory"}, ConfImage: {Field: "image", Policy: "small"}}, Fields: Fields{"": "spec"}}
	if got := app.Field(ConfDriverMemory); got != "spec.driver.memory" {
		t.Errorf("got %s, want the typed field", got)
	}
	if got := app.Field(ConfImage); got != `defaults.image of the operator's policy "small"` {
		t.Errorf("got %s, want the policy's default", got)
	}
	if got := app.Field("spark.x"); got != `spec.sparkConf["spark.x"]` {
		t.Errorf("got %s, want the entry of sparkConf", got)
	}
}
