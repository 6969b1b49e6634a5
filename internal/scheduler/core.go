// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// PanicError reports a plugin's panic. Stack is for the operator's log; the message is short enough for a status.
type PanicError struct {
	Plugin, Call string
	Value        any
	Stack        []byte
}

// Error names the plugin, its method and the panic's value.
func (e *PanicError) Error() string {
	return fmt.Sprintf("the scheduler plugin %s panicked in %s: %v", e.Plugin, e.Call, e.Value)
}

// call turns a plugin's panic into an error, and adds the plugin's name to errors.
func call[T any](p Plugin, name string, f func() (T, error)) (result T, err error) {
	plugin := "of type " + fmt.Sprintf("%T", p)
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Plugin: plugin, Call: name, Value: value, Stack: debug.Stack()}
		}
	}()
	plugin = p.Describe().Name
	if result, err = f(); err != nil {
		err = fmt.Errorf("the scheduler plugin %s failed in %s: %w", plugin, name, err)
	}
	return result, err
}

// Validate returns the plugin's errors about the attempt itself.
func Validate(p Plugin, a Attempt) (field.ErrorList, error) {
	return call(p, "Validate", func() (field.ErrorList, error) { return p.Validate(a), nil })
}

// Reads returns the objects that Admit needs.
func Reads(p Plugin, a Attempt) ([]Read, error) {
	return call(p, "Reads", func() ([]Read, error) { return p.Reads(a), nil })
}

// Prepared is an attempt that is ready for its scheduler.
type Prepared struct {
	Attempt Attempt
	// Plugin is the chosen plugin, chained behind the admission plugins; nil if none was chosen.
	Plugin Plugin
	// Reads are the objects that Admit needs.
	Reads []Read
	// Err is the plugin's error about its placeholder pods or its reads.
	Err error
}

// Prepare chooses the plugin and the queue of an attempt, and adds the placeholder pods. made are the objects that are created together with the pods.
// refused has a verdict in three cases: no plugin can be chosen, a pod would enter a queue that its namespace may not use, or a pod names another user or
// application.
func (r *Registry) Prepare(w SelectionRequest, a Attempt, made []*unstructured.Unstructured) (p Prepared, refused Admission) {
	resolution, refused := r.Resolve(w)
	p.Attempt, p.Plugin = resolution.Complete(a), resolution.Plugin
	if p.Plugin == nil {
		return p, refused
	}
	p.Attempt.PodClasses, p.Attempt.PlacedBy = r.placement(p.Plugin, p.Attempt)
	if p.Attempt.Placeholders, p.Err = Placeholders(p.Plugin, p.Attempt); p.Err == nil {
		p.Reads, p.Err = Reads(p.Plugin, p.Attempt)
	}
	if wrong, found := r.ForbiddenQueue(p.Plugin, p.Attempt, made); found {
		return p, wrong.Admission()
	}
	if wrong, found := r.ForeignMark(p.Plugin, p.Attempt); found {
		return p, wrong.Admission()
	}
	return p, Admission{}
}

// AdmitAttempt calls the plugin's Validate and then Admit. Whatever the plugin, it refuses pods that contradict the chosen scheduler. On an error, the answer
// is Unavailable and explains the error.
func AdmitAttempt(p Plugin, a Attempt, s Snapshot) (Admission, error) {
	findings, err := Validate(p, a)
	if err != nil {
		return Failed(err), err
	}
	if len(findings) > 0 {
		return Admission{Verdict: Reject, Reason: ReasonInvalidParameters, Message: sentence(findings)}, nil
	}
	if admission, ok, err := conflict(p, a); err != nil {
		return Failed(err), err
	} else if ok {
		return admission, nil
	}
	answer, err := call(p, "Admit", func() (Admission, error) { return p.Admit(a, s) })
	if err != nil {
		return Failed(err), err
	}
	return answer, nil
}

func sentence(findings field.ErrorList) string {
	parts := make([]string, 0, len(findings))
	for _, f := range findings {
		parts = append(parts, f.Field+": "+f.Detail)
	}
	return strings.Join(parts, "; ")
}

// ObserveReads returns the objects that Observe needs.
func ObserveReads(p Plugin, a Attempt, f PodStatuses) ([]Read, error) {
	observer, ok := can[Observer](p)
	if !ok {
		return nil, nil
	}
	return call(p, "ObserveReads", func() ([]Read, error) { return observer.ObserveReads(a, f), nil })
}

// Observe returns the state of a submitted attempt in its scheduler. If the plugin is no Observer, Pods derives the state from the pods. Whatever the plugin,
// Observe detects that another scheduler took over the driver.
func Observe(p Plugin, a Attempt, s Snapshot, f PodStatuses) (Observation, error) {
	observer, ok := can[Observer](p)
	return call(p, "Observe", func() (Observation, error) {
		if o, captured := capturedByOther(a, p.Describe(), f); captured {
			return o, nil
		}
		if !ok {
			return Pods(a, f), nil
		}
		return observer.Observe(a, s, f)
	})
}

// capturedByOther detects a driver whose scheduler name was changed after its creation. The admission controllers of some schedulers change all pods of a
// namespace.
func capturedByOther(a Attempt, d Descriptor, f PodStatuses) (Observation, bool) {
	if f.Driver == nil || f.Driver.Phase != "Pending" || f.Driver.Node != "" || d.SchedulerName == "" || f.Driver.SchedulerName == d.SchedulerName {
		return Observation{}, false
	}
	return Observation{
		Stage: StageQueued, Reason: ReasonCapturedByOther,
		Message: fmt.Sprintf("the %s pod was created for the scheduler %q, but has the scheduler name %q now: something in the cluster, e.g. "+
			"the admission controller of another scheduler, rewrites the pods of this namespace",
			a.Word(spark.WordDriver), d.SchedulerName, f.Driver.SchedulerName),
	}, true
}

// Release returns the plugin's objects to delete when the attempt is over.
func Release(p Plugin, a Attempt) ([]Ref, error) {
	releaser, ok := can[Releaser](p)
	if !ok {
		return nil, nil
	}
	return call(p, "Release", func() ([]Ref, error) { return releaser.Release(a), nil })
}
