// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// DryRunResult is the result of checks without access to the cluster. The webhook uses them, and so do commands for manifests in files.
type DryRunResult struct {
	// Errors are reasons for a permanent rejection.
	Errors field.ErrorList
	// Warnings concern accepted fields: a surprising effect, or a wait until an administrator changes the operator's configuration. A warning that concerns no
	// field has no path.
	Warnings field.ErrorList
	// Assumptions are requirements on the cluster, and other obstacles to the start. Most of them concern no field.
	Assumptions field.ErrorList
	// Unavailable explains why no scheduler would accept the application now; "" if a scheduler would.
	Unavailable string

	checked   Checked
	candidate *Candidate
}

// priorityClass is the only kind whose objects an application itself names.
const priorityClass = "PriorityClass"

// DryRun checks an application as the operator would, as if its scheduler had capacity. It does not check a scheduler or queue that an annotation of the
// namespace chooses.
func DryRun(a resolve.Application, registry *scheduler.Registry) DryRunResult {
	c := Validate(a)
	f := DryRunResult{Errors: validation.ErrorList(c.App, c.Objections), checked: c}
	if a.App.Malformed == "" {
		f.Warnings = c.Warnings()
	}
	if c.sized {
		f.schedule(registry, c.request(nil), c.attempt())
	}
	if e := validation.NeedsIvy(c.App); e != nil {
		f.assume(c.App.PathOf(e), "%s", e.Problem)
	}
	if c.App.Suspend {
		f.assume(c.App.Fields.Path("suspend"), "nothing is created while it is true")
	}
	return f
}

// schedule chooses the scheduler and adds its findings.
func (f *DryRunResult) schedule(registry *scheduler.Registry, request scheduler.SelectionRequest, attempt scheduler.Attempt) {
	asked := f.checked.App.Scheduling
	resolution, answer := registry.Resolve(request)
	if answer.Verdict == scheduler.Unavailable {
		f.Unavailable = answer.Message
		for _, e := range resolution.Refused {
			f.Warnings = append(f.Warnings, remark(e.Field, e.Detail+"; the "+attempt.Word(spark.WordApplication)+" waits until then"))
		}
		return
	}
	if resolution.Plugin == nil { // with an allowed queue the plugin would be asked
		resolution.Plugin, _ = registry.Plugin(resolution.Scheduler)
	}
	f.candidate = &Candidate{checked: f.checked, plugin: resolution.Plugin, attempt: resolution.Complete(attempt)}
	f.candidate.complete = f.candidate.decorated
	annotated := registry.NamespaceDefaults()
	schedulerKnown := !annotated || asked.Scheduler != ""
	queueKnown := schedulerKnown && (!annotated || asked.Queue != "")
	if queueKnown {
		f.Errors = append(f.Errors, resolution.Refused...)
	}
	if queueKnown && answer.Verdict != scheduler.Reject {
		if wrong, found := registry.ForbiddenQueue(f.candidate.plugin, f.candidate.attempt, f.checked.made()); found {
			f.Errors = append(f.Errors, scheduler.Invalid(wrong.Path, wrong.Problem))
		}
	}
	if schedulerKnown {
		f.Warnings = append(f.Warnings, registry.Ignored(f.candidate.attempt.Scheduler, asked, f.checked.App.Fields)...)
		f.marks(registry)
		f.findings(queueKnown)
	}
	if len(f.Errors) == 0 {
		f.ask(queueKnown)
	}
	if annotated && (resolution.Source == scheduler.SourceCluster || asked.Queue == "" && resolution.Plugin.Describe().Supports.Queues) {
		f.assume("", "no annotation of namespace %s may choose a scheduler or a queue", f.checked.App.Namespace)
	}
}

// marks adds an error if pods name another user or application.
func (f *DryRunResult) marks(registry *scheduler.Registry) {
	switch wrong, found := registry.ForeignMark(f.candidate.plugin, f.candidate.attempt); {
	case !found:
	case wrong.Uncertain():
		f.assume("", "%s", wrong.Assumption())
	default:
		f.Errors = append(f.Errors, contradiction(f.candidate.attempt.Field(scheduler.FieldScheduler), wrong.Problem()))
	}
}

// findings adds the errors of the plugin's Validate. The reconcile reports a failure of the plugin.
func (f *DryRunResult) findings(queueKnown bool) {
	all, err := scheduler.Validate(f.candidate.plugin, f.candidate.attempt)
	if err != nil {
		return
	}
	for _, finding := range all {
		if queueKnown || finding.Field != f.candidate.attempt.QueueField() {
			f.Errors = append(f.Errors, finding)
		}
	}
}

// ask asks the plugin as if every object that the application names existed.
func (f *DryRunResult) ask(queueKnown bool) {
	snapshot := scheduler.Snapshot{}
	reads, _ := scheduler.Reads(f.candidate.plugin, f.candidate.attempt) // the reconcile reports a failure
	for _, read := range reads {
		if read.Kind != priorityClass {
			continue // the scheduler's own object, which is assumed to admit the application
		}
		snapshot[read] = &unstructured.Unstructured{}
		f.assume("", "%s %s must exist", read.Kind, read.Name)
	}
	answer, err := scheduler.AdmitAttempt(f.candidate.plugin, f.candidate.attempt, snapshot)
	switch {
	case err != nil || answer.Verdict == scheduler.Admit:
	case answer.Verdict != scheduler.Reject:
		f.assume("", "the scheduler %s must admit it; the objects that it needs are not shown", f.candidate.attempt.Scheduler)
	case queueKnown: // the result may depend on the queue
		f.Errors = append(f.Errors, contradiction(f.candidate.attempt.Field(scheduler.FieldScheduler), answer.Message))
	}
}

// Objects returns the objects that the operator would create, in order. If there are no errors, it returns none only if no scheduler is available.
func (f DryRunResult) Objects() ([]spark.Object, error) {
	if len(f.Errors) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(validation.Sentences(f.Errors), "; "))
	}
	if f.candidate == nil {
		return nil, fmt.Errorf("%s", f.Unavailable)
	}
	result := f.candidate.AssumeAdmitted()
	if result.Verdict != scheduler.Admit {
		return nil, fmt.Errorf("%s", result.Message)
	}
	for _, object := range result.Submission.Resources {
		f.checked.Owner.Mark(object)
	}
	objects := append(result.Submission.Resources, result.Submission.Driver)
	if secret := result.Submission.TokenSecret; secret != nil {
		forever := f.checked.Owner
		forever.SubmissionID = "" // the object belongs to no attempt
		forever.Mark(secret)
		objects = append([]spark.Object{secret}, objects...) // the rendered Secret has no token, because the token is random
	}
	for _, object := range objects {
		f.checked.Owner.Own(object)
	}
	return objects, nil
}

// contradiction is the error for pods that Kubernetes would accept but the scheduler would not.
func contradiction(path, problem string) *field.Error {
	return &field.Error{Type: field.ErrorTypeNotSupported, Field: path, BadValue: field.OmitValueType{}, Detail: problem}
}

// remark returns a note about an accepted field; path is "" if it concerns no field.
func remark(path, text string) *field.Error {
	return &field.Error{Field: path, BadValue: field.OmitValueType{}, Detail: text}
}

// assume adds an assumption.
func (f *DryRunResult) assume(path, text string, args ...any) {
	f.Assumptions = append(f.Assumptions, remark(path, fmt.Sprintf(text, args...)))
}
