// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// choosy is a scheduler that says of its attempt what there is to object to, and marks pods with their queue.
type choosy struct{ batch }

func (choosy) Validate(a scheduler.Attempt) field.ErrorList {
	var findings field.ErrorList
	if text := string(a.Parameters); text != "" {
		findings = append(findings, scheduler.Invalid(a.Field(scheduler.FieldParameters), text))
	}
	if strings.Contains(a.Queue, "..") {
		findings = append(findings, scheduler.Invalid(a.QueueField(), "not a path"))
	}
	if a.PodSets.Initial == 7 {
		panic("seven")
	}
	return findings
}

func (choosy) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	scheduler.SetIn(&d.Executor.Labels, "group", a.Queue)
	return nil
}

// dryRun is what is known about pi without the cluster; change may be nil.
func dryRun(t *testing.T, p scheduler.Policy, change func(*request)) (request, DryRunResult, *scheduler.Registry) {
	t.Helper()
	registry, err := scheduler.NewRegistryFor(p, choosy{batch{admission: goes}}, kube.Plugin{}, other{})
	if err != nil {
		t.Fatal(err)
	}
	r := request{Application: load(testutil.Pi(), lifecycle.Record{})}
	if change != nil {
		change(&r)
	}
	return r, DryRun(r.Application, registry), registry
}

// other is a scheduler that is not enabled.
type other struct{ batch }

func (other) Describe() scheduler.Descriptor { return scheduler.Descriptor{Name: "other"} }

func (other) Validate(a scheduler.Attempt) field.ErrorList {
	return field.ErrorList{scheduler.Invalid(a.Field(scheduler.FieldScheduler), "nobody has asked it")}
}

func TestForesee(t *testing.T) {
	strict := scheduler.Policy{Default: "batch", Enabled: []string{"batch", "kube"}, AllowedQueues: []scheduler.QueueRule{{Namespaces: []string{"jobs"}, Queues: []string{"team-a", "team-a..*"}}}}
	open := scheduler.Policy{Default: "batch", Enabled: []string{"batch", "kube"}}
	annotated := func(p scheduler.Policy) scheduler.Policy { p.NamespaceDefaults = true; return p }
	asks := func(name, queue, parameters string) func(*request) {
		return func(r *request) {
			r.App.Scheduling = spark.Scheduling{Scheduler: name, Queue: queue, Parameters: []byte(parameters)}
		}
	}
	labeled := func(name, queue string) func(*request) {
		return func(r *request) {
			asks(name, queue, "")(r)
			r.App.Conf[spark.ConfExecutorLabelPrefix+"group"] = "mine"
		}
	}
	const (
		notYours = `spec.batchSchedulerOptions.queue: queue "team-b" may not be used from namespace "jobs"; queues you may use: team-a, team-a..*`
		default_ = `spec.batchSchedulerOptions.queue: queue "default" may not be used from namespace "jobs"; queues you may use: team-a, team-a..*`
		path     = "spec.batchSchedulerOptions.queue: not a path"
		marked   = `spec.batchScheduler: the executor pod has the label group: "mine", which the scheduler plugin batch sets to "team-a"; remove it`
	)
	cases := map[string]struct {
		reason     string
		policy     scheduler.Policy
		change     func(*request)
		objections []string
		remarks    []string
		errs       int
	}{
		"Good":       {reason: "a queue that it may use", policy: strict, change: asks("batch", "team-a", "")},
		"Parameters": {reason: "the plugin objects to its own options", policy: open, change: asks("batch", "", "odd"), objections: []string{"spec.batchSchedulerOptions.parameters: odd"}},
		"Default":    {reason: "nobody but the configuration chooses, which is known", policy: open, change: asks("", "", "odd"), objections: []string{"spec.batchSchedulerOptions.parameters: odd"}},
		"OptedOut":   {reason: "the plain scheduler has no options", policy: open, change: asks("none", "", `{"a": 1}`), objections: []string{"spec.batchSchedulerOptions.parameters.a: is not a parameter of kube; it has none"}},
		"Forbidden":  {reason: "a queue that is not the namespace's, and all else that is wrong", policy: strict, change: asks("batch", "team-b", "odd"), objections: []string{notYours, "spec.batchSchedulerOptions.parameters: odd"}},
		"Leaves":     {reason: "the default queue is not for everybody", policy: strict, change: asks("batch", "", ""), objections: []string{default_}},
		"Path":       {reason: "a queue that cannot be one", policy: strict, change: asks("batch", "team-a..b", ""), objections: []string{path}},
		"Marked":     {reason: "pods that contradict the choice", policy: open, change: labeled("batch", "team-a"), objections: []string{marked}},
		"Unknown": {
			reason: "a later operator may know it", policy: open, change: asks("vulcano", "team-b", "odd"),
			remarks: []string{`spec.batchScheduler: "vulcano" is not known to this operator; known: batch, kube; the application waits until then`},
		},
		"Disabled": {
			reason: "an administrator may enable it", policy: open, change: asks("other", "", "odd"),
			remarks: []string{`spec.batchScheduler: "other" is not enabled (batchScheduler.enabled in the operator's configuration); known: batch, kube; the application waits until then`},
		},
		"Annotated":      {reason: "the namespace may choose another scheduler", policy: annotated(strict), change: asks("", "team-b", "odd")},
		"AnnotatedQueue": {reason: "the namespace may choose the queue only", policy: annotated(strict), change: asks("batch", "", "odd"), objections: []string{"spec.batchSchedulerOptions.parameters: odd"}},
		"AnnotatedPath": {
			reason: "what is wrong with the default queue may be none of the application's business",
			policy: annotated(scheduler.Policy{Default: "batch", DefaultQueues: map[string]string{"batch": "a..b"}}), change: asks("batch", "", ""),
		},
		"AnnotatedMarks": {reason: "marks may be those of the queue that the namespace chooses", policy: annotated(open), change: labeled("batch", "")},
		"SaysBoth":       {reason: "nothing is left to the namespace", policy: annotated(strict), change: asks("batch", "team-b", ""), objections: []string{notYours}},
		"Invalid": {reason: "the checks say what is wrong, and its size is not known", errs: 1, policy: strict, change: func(r *request) {
			asks("batch", "team-b", "odd")(r)
			r.App.Conf[spark.ConfDriverMemory] = "2gb"
		}},
		"Panics": {reason: "the plugin's trouble is not the application's", policy: open, change: func(r *request) {
			asks("batch", "", "odd")(r)
			r.App.Conf[spark.ConfExecutorInstances] = "7"
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, f, registry := dryRun(t, tc.policy, tc.change)
			if diff := cmp.Diff(tc.objections, validation.Sentences(f.Errors), cmpopts.EquateEmpty()); diff != "" && tc.errs == 0 {
				t.Errorf("%s: errors (-want +got):\n%s", tc.reason, diff)
			}
			if tc.errs > 0 && len(f.Errors) != tc.errs {
				t.Errorf("%s: %v, want %d errors", tc.reason, f.Errors, tc.errs)
			}
			if diff := cmp.Diff(tc.remarks, validation.Sentences(f.Warnings), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: warnings (-want +got):\n%s", tc.reason, diff)
			}
			// a reconcile knows the annotations
			candidate, answer := NewCandidate(r.Application, registry, map[string]string{scheduler.AnnotationQueue: "team-a"})
			if candidate != nil {
				answer = candidate.Admit(nil)
			}
			if len(f.Errors) > 0 && answer.Verdict != scheduler.Reject || len(f.Warnings) > 0 && answer.Verdict != scheduler.Unavailable {
				t.Errorf("%s: a reconcile says %s: %s", tc.reason, answer.Verdict, answer.Message)
			}
			for _, e := range f.Errors {
				if !strings.Contains(answer.Message, e.Detail) && e.Field != r.App.Fields.Path(scheduler.FieldParameters) {
					t.Errorf("%s: %q are not the words of a reconcile: %s", tc.reason, e.Detail, answer.Message)
				}
			}
		})
	}
}
