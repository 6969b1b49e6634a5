// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// choosy is a scheduler that says of its attempt what there is to object to, and marks pods with their queue.
type choosy struct{ batch }

func (choosy) Validate(a scheduler.Attempt) []scheduler.Finding {
	var findings []scheduler.Finding
	if text := string(a.Parameters); text != "" {
		findings = append(findings, scheduler.Finding{Field: scheduler.FieldParameters, Problem: text})
	}
	if strings.Contains(a.Queue, "..") {
		findings = append(findings, scheduler.Finding{Field: a.QueueField(), Problem: "not a path"})
	}
	if a.Shapes.Initial == 7 {
		panic("seven")
	}
	return findings
}

func (choosy) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	scheduler.SetIn(&d.Executor.Labels, "group", a.Queue)
	return nil
}

// foreseen is what is known about pi before anybody looks; change may be nil.
func foreseen(t *testing.T, policy scheduler.Policy, change func(*Request)) (r Request, objections, remarks []string, registry *scheduler.Registry) {
	t.Helper()
	registry, err := scheduler.NewRegistryFor(policy, choosy{}, kube.Plugin{}, other{})
	if err != nil {
		t.Fatal(err)
	}
	o := pi()
	app, problems := kubeflow.Normalise(o)
	r = Request{App: app, Problems: problems, Identity: spark.NewIdentity(o.UID, 1, start), Attempt: 1}
	if change != nil {
		change(&r)
	}
	found, remarks := Foresee(r, registry)
	for _, f := range found {
		objections = append(objections, f.Field+": "+f.Problem)
	}
	return r, objections, remarks, registry
}

// other is a scheduler that is not enabled.
type other struct{ batch }

func (other) Describe() scheduler.Descriptor { return scheduler.Descriptor{Name: "other"} }

func (other) Validate(scheduler.Attempt) []scheduler.Finding {
	return []scheduler.Finding{{Field: scheduler.FieldScheduler, Problem: "nobody has asked it"}}
}

func TestForesee(t *testing.T) {
	strict := scheduler.Policy{Default: "batch", Enabled: []string{"batch", "kube"}, AllowedQueues: []scheduler.QueueRule{{Namespaces: []string{"jobs"}, Queues: []string{"team-a", "team-a..*"}}}}
	open := scheduler.Policy{Default: "batch", Enabled: []string{"batch", "kube"}}
	annotated := func(p scheduler.Policy) scheduler.Policy { p.NamespaceDefaults = true; return p }
	asks := func(name, queue, parameters string) func(*Request) {
		return func(r *Request) {
			r.App.Scheduling = spark.Scheduling{Scheduler: name, Queue: queue, Parameters: []byte(parameters)}
		}
	}
	labelled := func(name, queue string) func(*Request) {
		return func(r *Request) {
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
		change     func(*Request)
		objections []string
		remarks    []string
	}{
		"Good":       {reason: "a queue that it may use", policy: strict, change: asks("batch", "team-a", "")},
		"Parameters": {"the plugin objects to its own options", open, asks("batch", "", "odd"), []string{"spec.batchSchedulerOptions.parameters: odd"}, nil},
		"Default":    {"nobody but the configuration chooses, which is known", open, asks("", "", "odd"), []string{"spec.batchSchedulerOptions.parameters: odd"}, nil},
		"OptedOut":   {"the plain scheduler has no options", open, asks("none", "", `{"a": 1}`), []string{"spec.batchSchedulerOptions.parameters.a: is not a parameter of kube"}, nil},
		"Forbidden":  {"a queue that is not the namespace's, and all else that is wrong", strict, asks("batch", "team-b", "odd"), []string{notYours, "spec.batchSchedulerOptions.parameters: odd"}, nil},
		"Leaves":     {"the default queue is not for everybody", strict, asks("batch", "", ""), []string{default_}, nil},
		"Path":       {"a queue that cannot be one", strict, asks("batch", "team-a..b", ""), []string{path}, nil},
		"Marked":     {"pods that contradict the choice", open, labelled("batch", "team-a"), []string{marked}, nil},
		"Unknown": {
			"a later operator may know it", open, asks("vulcano", "team-b", "odd"), nil,
			[]string{`spec.batchScheduler: "vulcano" is not known to this operator; known: batch, kube; the application waits until it is`},
		},
		"Disabled": {
			"somebody may enable it", open, asks("other", "", "odd"), nil,
			[]string{`spec.batchScheduler: "other" is not enabled (batchScheduler.enabled in the operator's configuration); known: batch, kube; the application waits until it is`},
		},
		"Annotated":      {reason: "the namespace may choose another scheduler", policy: annotated(strict), change: asks("", "team-b", "odd")},
		"AnnotatedQueue": {"the namespace may choose the queue only", annotated(strict), asks("batch", "", "odd"), []string{"spec.batchSchedulerOptions.parameters: odd"}, nil},
		"AnnotatedPath": {
			reason: "what is wrong with the default queue may be none of the application's business",
			policy: annotated(scheduler.Policy{Default: "batch", DefaultQueues: map[string]string{"batch": "a..b"}}), change: asks("batch", "", ""),
		},
		"AnnotatedMarks": {reason: "marks may be those of the queue that the namespace chooses", policy: annotated(open), change: labelled("batch", "")},
		"SaysBoth":       {"nothing is left to the namespace", annotated(strict), asks("batch", "team-b", ""), []string{notYours}, nil},
		"KnownNamespace": {
			"who knows the annotations gets the whole answer", annotated(strict), func(r *Request) {
				r.NamespaceAnnotations = map[string]string{scheduler.AnnotationQueue: "team-b"}
			}, []string{notYours}, nil,
		},
		"Invalid": {reason: "the checks say what is wrong, and its size is not known", policy: strict, change: func(r *Request) {
			asks("batch", "team-b", "odd")(r)
			r.App.Conf[spark.ConfDriverMemory] = "2gb"
		}},
		"Panics": {reason: "the plugin's trouble is not the application's", policy: open, change: func(r *Request) {
			asks("batch", "", "odd")(r)
			r.App.Conf[spark.ConfExecutorInstances] = "7"
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, objections, remarks, registry := foreseen(t, tc.policy, tc.change)
			if diff := cmp.Diff(tc.objections, objections); diff != "" {
				t.Errorf("%s: objections (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.remarks, remarks); diff != "" {
				t.Errorf("%s: remarks (-want +got):\n%s", tc.reason, diff)
			}
			if r.NamespaceAnnotations == nil { // a reconcile knows them
				r.NamespaceAnnotations = map[string]string{scheduler.AnnotationQueue: "team-a"}
			}
			candidate, prepared := Examine(r, registry)
			if candidate != nil {
				prepared = candidate.Prepare(nil)
			}
			if got := prepared.Gate; len(objections) > 0 && got.Verdict != lifecycle.Rejected || len(remarks) > 0 && got.Verdict != lifecycle.Waiting {
				t.Errorf("%s: a reconcile says %s: %s", tc.reason, got.Verdict, got.Cause.Message)
			}
			said := len(objections) == 0 || slices.ContainsFunc(objections, func(o string) bool {
				_, words, _ := strings.Cut(o, ": ")
				return strings.Contains(prepared.Gate.Cause.Message, words)
			})
			if !said {
				t.Errorf("%s: %q are not the words of a reconcile: %s", tc.reason, objections, prepared.Gate.Cause.Message)
			}
		})
	}
}
