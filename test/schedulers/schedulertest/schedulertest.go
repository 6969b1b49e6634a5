// SPDX-License-Identifier: Apache-2.0

// Package schedulertest holds what the tests of all scheduler plugins share, those outside of this repository included:
// an attempt to begin with, and the guarantees that every plugin must give.
package schedulertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// Start is when the attempts of these tests began to wait.
var Start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// Attempt is the first attempt of an application in namespace team-a: a driver of 1 CPU and 2 GiB, and 3 executors of 2
// CPU and 4 GiB each, 7 CPU and 14 GiB in all.
func Attempt(plugin string) scheduler.Attempt {
	return scheduler.Attempt{
		App:    scheduler.App{Namespace: "team-a", Name: "pi", UID: "7b0f0a52-0000-4000-8000-000000000001"},
		Number: 1, ID: "spark-0123456789abcdef-1", QueuedAt: Start, Choice: scheduler.Choice{Scheduler: plugin, Source: scheduler.SourceApplication},
		PodSets: spark.PodSets{Driver: PodResources("1", "2Gi"), Executor: PodResources("2", "4Gi"), Initial: 3, Min: 3, Max: 3},
	}
}

// PodResources is a pod as Spark makes it: CPU is requested, memory is requested and limited.
func PodResources(cpu, memory string) spark.PodResources {
	return spark.PodResources{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)},
	}
}

// Object reads an object from YAML.
func Object(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		tb.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

// Keeps checks the guarantees that hold for any attempt and any snapshot: nothing panics, nothing that was given is changed,
// the same question has the same answer, a verdict has a reason and a sentence, a wait has an end, what is applied can be
// applied, and the pods get nothing that was not announced.
func Keeps(tb testing.TB, p scheduler.Plugin, a scheduler.Attempt, s scheduler.Snapshot, f scheduler.PodStatuses) {
	tb.Helper()
	before := encode(tb, a, s, f)
	plan, err := scheduler.AdmitAttempt(p, a, s)
	if err != nil {
		tb.Fatalf("Admit: %v", err)
	}
	again, _ := scheduler.AdmitAttempt(p, a, s)
	if diff := cmp.Diff(plan, again); diff != "" {
		tb.Errorf("two answers to one question (-first +second):\n%s", diff)
	}
	keepsPlan(tb, p, plan)
	if _, err := scheduler.Decorate(p, a, spark.Application{}); err != nil {
		tb.Errorf("Decorate: %v", err)
	}
	if _, err := scheduler.Reads(p, a); err != nil {
		tb.Errorf("Reads: %v", err)
	}
	if _, err := scheduler.Placeholders(p, a); err != nil {
		tb.Errorf("Placeholders: %v", err)
	}
	if _, err := scheduler.ObserveReads(p, a, f); err != nil {
		tb.Errorf("ObserveReads: %v", err)
	}
	if o, err := scheduler.Observe(p, a, s, f); err != nil || o.Stage == "" || o.Reason == "" || o.Message == "" {
		tb.Errorf("Observe: %+v, %v", o, err)
	}
	if _, err := scheduler.Release(p, a); err != nil {
		tb.Errorf("Release: %v", err)
	}
	if diff := cmp.Diff(before, encode(tb, a, s, f)); diff != "" {
		tb.Errorf("what was given was changed (-before +after):\n%s", diff)
	}
}

func keepsPlan(tb testing.TB, p scheduler.Plugin, plan scheduler.Admission) {
	tb.Helper()
	if plan.Verdict == "" || plan.Reason == "" || plan.Message == "" {
		tb.Errorf("no verdict, reason or sentence: %+v", plan)
	}
	if plan.Verdict == scheduler.Wait && plan.RetryAfter == 0 {
		tb.Errorf("a wait that only luck ends: %+v", plan)
	}
	owns := map[string]bool{}
	for _, kind := range p.Describe().Owns {
		owns[kind.String()] = true
	}
	for _, o := range plan.Apply {
		if _, hasStatus := o.Object["status"]; hasStatus || o.GetName() == "" || !owns[o.GroupVersionKind().String()] {
			tb.Errorf("applied must be a named object of an owned kind, without a status: %v", o.Object)
		}
	}
	for _, ref := range plan.Delete {
		if ref.Name == "" || !owns[ref.String()] {
			tb.Errorf("deleted must be a named object of an owned kind: %+v", ref)
		}
	}
}

// encode writes values down, to see whether they change.
func encode(tb testing.TB, a scheduler.Attempt, s scheduler.Snapshot, f scheduler.PodStatuses) string {
	tb.Helper()
	if len(a.Parameters) == 0 {
		a.Parameters = nil // empty text is no JSON
	}
	objects := map[string]any{}
	for read, object := range s {
		if object != nil {
			objects[fmt.Sprintf("%#v", read)] = object.Object
		}
	}
	text, err := json.Marshal([]any{a, fmt.Sprint(a.Quota.Ahead), objects, f})
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// Fuzz feeds a plugin generated attempts. The snapshot answers every read with the result of found; nil is an empty cluster.
func Fuzz(f *testing.F, p scheduler.Plugin, found func(scheduler.Read) *unstructured.Unstructured) {
	f.Add("", "", "", int32(0), "1", int64(0), "Running", "n1")
	f.Add("default", "high", `{"gangSchedulingStyle":"Hard"}`, int32(3), "2500m", int64(7), "Pending", "")
	f.Add("root.a..b", "x y", `{"executorGang":true,"afterStart":7}`, int32(-1), "0", int64(1<<62), "Failed", "")
	f.Add("\x00", "\xff", `[{"a":`, int32(1<<30), "9E", int64(-5), "", "n")
	long := strings.Repeat("${spark.a}.", 100_000)
	f.Add(long, long, `{"`+long+`":"`+long+`"}`, int32(1<<30), "1", int64(2), long, long)
	f.Fuzz(func(t *testing.T, queue, class, parameters string, executors int32, cpu string, id int64, phase, node string) {
		defer heaptest.Bound(t, len(queue)+len(class)+len(parameters)+len(phase)+len(node))()
		quantity, err := resource.ParseQuantity(cpu)
		if err != nil {
			return // the API server would not have stored it
		}
		a := Attempt(p.Describe().Name)
		a.Queue, a.PriorityClass, a.PodSets.Initial = queue, class, executors
		a.PodSets.Executor.Requests[corev1.ResourceCPU] = quantity
		if json.Valid([]byte(parameters)) {
			a.Parameters = json.RawMessage(parameters)
		}
		facts := scheduler.PodStatuses{Now: Start, Executors: []scheduler.PodStatus{{ExecutorID: id, Phase: corev1.PodPhase(phase)}}}
		if id%2 == 0 {
			facts.Driver = &scheduler.PodStatus{Name: "d", Phase: corev1.PodPhase(phase), Node: node, SchedulerName: p.Describe().SchedulerName}
		}
		Keeps(t, p, a, Answer(t, p, a, facts, found), facts)
	})
}

// Answer returns a snapshot with everything that the plugin reads.
func Answer(tb testing.TB, p scheduler.Plugin, a scheduler.Attempt, f scheduler.PodStatuses,
	found func(scheduler.Read) *unstructured.Unstructured) scheduler.Snapshot {
	tb.Helper()
	reads, err := scheduler.Reads(p, a)
	if err != nil {
		tb.Fatal(err)
	}
	more, err := scheduler.ObserveReads(p, a, f)
	if err != nil {
		tb.Fatal(err)
	}
	s := scheduler.Snapshot{}
	for _, read := range append(reads, more...) {
		s[read] = nil
		if found != nil {
			s[read] = found(read)
		}
	}
	return s
}

// Bench measures what one waiting application costs: Validate, Plan and Decorate.
func Bench(b *testing.B, p scheduler.Plugin, a scheduler.Attempt, s scheduler.Snapshot) {
	b.Helper()
	b.ReportAllocs()
	app := spark.Application{}
	for b.Loop() {
		if _, err := scheduler.AdmitAttempt(p, a, s); err != nil {
			b.Fatal(err)
		}
		if _, err := scheduler.Decorate(p, a, app); err != nil {
			b.Fatal(err)
		}
	}
}

// Numbers returns the same JSON with all numbers of one type, for comparisons.
func Numbers(content map[string]any) map[string]any {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}
