/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package scheduler

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// stub is a plugin that answers what it is told to.
type stub struct {
	name, schedulerName string
	findings            []Finding
	admission           Admission
	decorate            func(Attempt, *Decoration)
	asked               *int
}

func (s stub) Describe() Descriptor       { return Descriptor{Name: s.name, SchedulerName: s.schedulerName} }
func (s stub) Validate(Attempt) []Finding { return s.findings }
func (s stub) Reads(Attempt) []Read       { return nil }

func (s stub) Plan(Attempt, Snapshot) Admission {
	if s.asked != nil {
		*s.asked++
	}
	return s.admission
}

func (s stub) Decorate(a Attempt, d *Decoration) {
	if s.decorate != nil {
		s.decorate(a, d)
	}
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

func TestNamesAreSorted(t *testing.T) {
	if diff := cmp.Diff([]string{"a", "b", "c"}, registry(t, "c", "c", "a", "b").Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResolve(t *testing.T) {
	r := registry(t, "kube", "volcano", "kube", "yunikorn")
	cases := map[string]struct{ reason, choice, want string }{
		"None":    {reason: "the cluster's default", choice: "", want: "kube"},
		"Default": {reason: "by its name", choice: "kube", want: "kube"},
		"Other":   {reason: "by its name", choice: "yunikorn", want: "yunikorn"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, admission := r.Resolve(spark.Scheduling{Scheduler: tc.choice})
			if p == nil {
				t.Fatalf("%s: no plugin: %+v", tc.reason, admission)
			}
			if got := p.Describe().Name; got != tc.want || admission != (Admission{}) {
				t.Errorf("%s: got %q and %+v, want %q", tc.reason, got, admission, tc.want)
			}
		})
	}
}

func TestResolveUnknown(t *testing.T) {
	r := registry(t, "kube", "volcano", "kube")
	for _, name := range []string{"vulcano", "Kube", " kube"} {
		p, a := r.Resolve(spark.Scheduling{Scheduler: name})
		if p != nil {
			t.Fatalf("%q resolves to %q: names are exact", name, p.Describe().Name)
		}
		if a.Verdict != NotReady || a.Reason != ReasonSchedulerUnknown || a.RetryAfter <= 0 {
			t.Errorf("%q is a wait with a timer, since the operator may be configured: %+v", name, a)
		}
		for _, text := range []string{"spec.batchScheduler", name, "kube, volcano"} {
			if !strings.Contains(a.Message, text) {
				t.Errorf("the sentence does not say %q: %s", text, a.Message)
			}
		}
	}
}

func TestAdmit(t *testing.T) {
	wait := Admission{Verdict: Wait, Reason: "Full", Message: "3 ahead"}
	cases := map[string]struct {
		reason   string
		findings []Finding
		want     Admission
		asked    int
	}{
		"Plan":    {reason: "the plugin's answer as it is", want: wait, asked: 1},
		"Finding": {reason: "what is wrong in the spec needs no look at the cluster", findings: []Finding{{Field: "spec.a", Problem: "must be b"}}, want: Admission{Verdict: Never, Reason: ReasonInvalidParameters, Message: "spec.a: must be b"}},
		"Several": {reason: "all mistakes at once", findings: []Finding{{Field: "spec.a", Problem: "must be b"}, {Field: "spec.c", Problem: "must be d"}}, want: Admission{Verdict: Never, Reason: ReasonInvalidParameters, Message: "spec.a: must be b; spec.c: must be d"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asked := 0
			got := Admit(stub{findings: tc.findings, admission: wait, asked: &asked}, Attempt{}, nil)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if asked != tc.asked {
				t.Errorf("%s: Plan was asked %d times, want %d", tc.reason, asked, tc.asked)
			}
		})
	}
}

func decorated() spark.Application {
	return spark.Application{
		Name:     "pi",
		Driver:   spark.Role{Overlay: spark.PodOverlay{SchedulerName: "mine", Tolerations: []corev1.Toleration{{Key: "a"}}}},
		Executor: spark.Role{Overlay: spark.PodOverlay{PriorityClassName: "low"}},
	}
}

func TestDecorate(t *testing.T) {
	p := stub{name: "x", schedulerName: "x-scheduler", decorate: func(a Attempt, d *Decoration) {
		d.Driver.Labels = map[string]string{"group": a.ID}
		d.Executor.Annotations = map[string]string{"group": a.ID}
		d.Driver.Tolerations = append(d.Driver.Tolerations, corev1.Toleration{Key: "b"})
	}}
	app := decorated()
	got := Decorate(p, Attempt{ID: "g1"}, app)
	want := decorated()
	want.Driver.Overlay.SchedulerName, want.Executor.Overlay.SchedulerName = "x-scheduler", "x-scheduler"
	want.Driver.Overlay.Labels = map[string]string{"group": "g1"}
	want.Executor.Overlay.Annotations = map[string]string{"group": "g1"}
	want.Driver.Overlay.Tolerations = []corev1.Toleration{{Key: "a"}, {Key: "b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decorated application (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(decorated(), app); diff != "" {
		t.Errorf("the application given was changed (-want +got):\n%s", diff)
	}
}

// A plugin without a scheduler of its own leaves the user's choice alone.
func TestDecorateKeepsSchedulerName(t *testing.T) {
	got := Decorate(stub{name: "kube"}, Attempt{}, decorated())
	if got.Driver.Overlay.SchedulerName != "mine" || got.Executor.Overlay.SchedulerName != "" {
		t.Errorf("scheduler names %q and %q, want the user's", got.Driver.Overlay.SchedulerName, got.Executor.Overlay.SchedulerName)
	}
}

// The plugin's name for the pods can be refined by the plugin itself, which is asked last.
func TestDecorateHasTheLastWord(t *testing.T) {
	p := stub{schedulerName: "x", decorate: func(_ Attempt, d *Decoration) { d.Executor.SchedulerName = "y" }}
	got := Decorate(p, Attempt{}, decorated())
	if got.Driver.Overlay.SchedulerName != "x" || got.Executor.Overlay.SchedulerName != "y" {
		t.Errorf("scheduler names %q and %q, want x and y", got.Driver.Overlay.SchedulerName, got.Executor.Overlay.SchedulerName)
	}
}
