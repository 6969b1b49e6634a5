// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var usual = map[string]int{"latency": 40, "burst": 100}

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason, list string
		want         []Step
	}{
		"One":   {reason: "a scenario with its size", list: "latency:3", want: []Step{{"latency", 3}}},
		"Usual": {reason: "without a size", list: "latency", want: []Step{{"latency", 40}}},
		"Many":  {reason: "in their order, the same twice", list: "burst:1000, latency,burst:5", want: []Step{{"burst", 1000}, {"latency", 40}, {"burst", 5}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.list, usual)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	cases := map[string]struct {
		reason, list string
		says         []string
	}{
		"Nothing": {reason: "nothing to do", list: "", says: []string{`scenario ""`, "burst, latency"}},
		"Unknown": {reason: "no such scenario", list: "sleep:3", says: []string{`"sleep"`, "burst, latency", "latency:40"}},
		"Word":    {reason: "no number", list: "burst:many", says: []string{`"burst:many"`, `"many"`, "at least 1"}},
		"Zero":    {reason: "no applications", list: "burst:0", says: []string{"at least 1"}},
		"Both":    {reason: "all mistakes at once", list: "burst:-1,sleep", says: []string{`"burst:-1"`, `"sleep"`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.list, usual)
			if err == nil {
				t.Fatalf("%s: accepted", tc.reason)
			}
			for _, text := range tc.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: the error does not say %q: %v", tc.reason, text, err)
				}
			}
		})
	}
}

func TestString(t *testing.T) {
	if got := (Step{"burst", 5}).String(); got != "burst:5" {
		t.Errorf("%s, want burst:5", got)
	}
}
