// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

func parse(t *testing.T, sections string) OperatorConfiguration {
	t.Helper()
	c, err := Parse([]byte(head + sections))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNamespaces(t *testing.T) {
	cases := map[string]struct {
		reason   string
		text     string
		wide     bool
		matching labels.Set
		others   labels.Set
	}{
		"All":      {reason: "nothing is said", text: "", wide: true},
		"List":     {reason: "a list needs no look at others", text: "namespaces: [a]"},
		"Selector": {reason: "labels are checked everywhere", text: "namespaceSelector: 'team in (a, b), spark'", wide: true, matching: labels.Set{"team": "a", "spark": ""}, others: labels.Set{"team": "a"}},
		"Both":     {reason: "the list adds to the selector", text: "namespaces: [a]\nnamespaceSelector: spark=yes", wide: true, matching: labels.Set{"spark": "yes"}, others: labels.Set{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := parse(t, tc.text)
			if c.ClusterWide() != tc.wide {
				t.Errorf("%s: cluster-wide %v, want %v", tc.reason, c.ClusterWide(), tc.wide)
			}
			selector := c.Selector()
			if (selector != nil) != (tc.matching != nil) {
				t.Fatalf("%s: selector %v", tc.reason, selector)
			}
			if selector != nil && (!selector.Matches(tc.matching) || selector.Matches(tc.others)) {
				t.Errorf("%s: %s matches %v: %v, %v: %v", tc.reason, selector, tc.matching, selector.Matches(tc.matching), tc.others, selector.Matches(tc.others))
			}
		})
	}
	if wrong := (OperatorConfiguration{NamespaceSelector: "a in"}).Selector(); wrong == nil || wrong.Matches(labels.Set{"a": ""}) {
		t.Error("a selector that cannot be read matches nothing")
	}
}

func TestNeedsRestart(t *testing.T) {
	cases := map[string]struct {
		reason   string
		text     string
		sections []string
		same     bool
	}{
		"Same":       {reason: "nothing has changed", text: "namespaces: [a]", same: true},
		"Comment":    {reason: "nothing has changed", text: "namespaces: [a] # ours", same: true},
		"Namespaces": {reason: "taken over", text: "namespaces: [a, b]"},
		"Selector":   {reason: "taken over", text: "namespaces: [a]\nnamespaceSelector: x"},
		"Policies":   {reason: "taken over", text: "namespaces: [a]\npolicies: [{name: x, namespaces: [a]}]"},
		"Workers":    {reason: "read at the start only", text: "namespaces: [a]\nworkers: 3", sections: []string{"workers"}, same: true},
		"Several":    {reason: "all are named", text: "health: {bindAddress: \"0\"}\nbatchScheduler: {default: volcano}", sections: []string{"health", "batchScheduler"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			started, changed := parse(t, "namespaces: [a]"), parse(t, tc.text)
			started.File = "/etc/config.yaml"
			if diff := cmp.Diff(tc.sections, started.NeedsRestart(changed)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got := started.SameTenancy(changed); got != tc.same {
				t.Errorf("%s: same tenancy %v, want %v", tc.reason, got, tc.same)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "read configuration") {
		t.Errorf("a file that does not exist: %v", err)
	}
	for text, says := range map[string]string{head + "workers: 0": path + ": workers: 0", head + "workers: 3": ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(path)
		switch {
		case says == "" && (err != nil || c.File != path || c.Workers != 3):
			t.Errorf("%+v, %v", c, err)
		case says != "" && (err == nil || !strings.Contains(err.Error(), says)):
			t.Errorf("the error does not say %q: %v", says, err)
		}
	}
}
