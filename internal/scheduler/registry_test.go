// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// stub is a plugin that returns what a test sets.
type stub struct {
	name, schedulerName string
	findings            field.ErrorList
	admission           Admission
	decorate            func(Attempt, *Decoration)
	asked               *int
	objects             Admission
	planErr             error
	reads               []Read
	descriptor          Descriptor
}

func (s stub) Describe() Descriptor {
	d := s.descriptor
	d.Name, d.SchedulerName = s.name, s.schedulerName
	return d
}
func (s stub) Validate(Attempt) field.ErrorList { return s.findings }
func (s stub) Reads(Attempt) []Read             { return s.reads }

func (s stub) Admit(Attempt, Snapshot) (Admission, error) {
	if s.asked != nil {
		*s.asked++
	}
	answer := s.admission
	answer.Apply, answer.Delete = s.objects.Apply, s.objects.Delete
	return answer, s.planErr
}

func (s stub) Decorate(a Attempt, d *Decoration) error {
	if s.decorate != nil {
		s.decorate(a, d)
	}
	return nil
}

func registry(t *testing.T, fallback string, names ...string) *Registry {
	t.Helper()
	plugins := make([]Plugin, 0, len(names))
	for _, name := range names {
		plugins = append(plugins, stub{name: name})
	}
	r, err := NewRegistry(fallback, plugins...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewRegistryErrors(t *testing.T) {
	cases := map[string]struct {
		reason   string
		fallback string
		names    []string
		says     []string
	}{
		"Twice":       {reason: "one of two would never be asked", fallback: "a", names: []string{"a", "b", "a"}, says: []string{`"a"`, "two"}},
		"NoFallback":  {reason: "applications without a choice would never start", fallback: "c", names: []string{"b", "a"}, says: []string{"batchScheduler.default", `"c"`, "a, b"}},
		"EmptyChoice": {reason: "no name is no scheduler", fallback: "", names: []string{"a"}, says: []string{`""`, "known: a"}},
		"NoPlugins":   {reason: "nothing is known", fallback: "a", says: []string{`"a"`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var plugins []Plugin
			for _, n := range tc.names {
				plugins = append(plugins, stub{name: n})
			}
			_, err := NewRegistry(tc.fallback, plugins...)
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

// A further name of a plugin must mean that plugin alone.
func TestAliasErrors(t *testing.T) {
	for name, says := range map[string]string{"a": `batchScheduler.plugins.a.schedulerNames: "a" is taken`, NoScheduler: `"none" is taken`, "": `"" is taken`} {
		_, err := NewRegistry("a", stub{name: "a"}, stub{name: name, descriptor: Descriptor{AliasOf: "a"}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", name, err, says)
		}
	}
}

// What is enabled and set for a plugin is so for its further names.
func TestAliasFollowsItsPlugin(t *testing.T) {
	alias := stub{name: "b", descriptor: Descriptor{AliasOf: "a", DefaultQueue: "own", Supports: Support{Queues: true}}}
	r, err := NewRegistryFor(Policy{Default: "b", Enabled: []string{"a"}, DefaultQueues: map[string]string{"a": "batch"}}, stub{name: "a"}, alias)
	if err != nil {
		t.Fatal(err)
	}
	if got, refused := r.Resolve(SelectionRequest{}); got.Scheduler != "b" || got.Queue != "batch" {
		t.Errorf("%+v, %+v", got, refused)
	}
	r, err = NewRegistryFor(Policy{Default: "b"}, stub{name: "a"}, alias)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b"}, r.Names()); diff != "" {
		t.Errorf("an alias does not enable its plugin (-want +got):\n%s", diff)
	}
}

func TestNamesAreSorted(t *testing.T) {
	if diff := cmp.Diff([]string{"a", "b", "c"}, registry(t, "c", "c", "a", "b").Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
