// SPDX-License-Identifier: Apache-2.0

// Package admission admits one attempt of an application. It builds the pods, checks them, asks the scheduler, and builds them again with the scheduler's
// decoration. The controller, the webhook and the command line tool share it. It is pure: the objects that a scheduler needs are an argument.
package admission

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// Checked is an application with its built pods and its errors.
type Checked struct {
	resolve.Application
	// Built is the submission without a scheduler; empty if the objections contain an error.
	Built spark.Submission
	// Objections are the errors that prevent a run.
	Objections []*spark.ConfError

	// sized is set if the only errors are violated limits: the size of the pods is then known.
	sized bool
}

// build is spark.Build; a test counts its calls.
var build = spark.Build

// Validate builds and checks the pods of an application: everything except the cluster and the scheduler.
func Validate(a resolve.Application) Checked {
	c := Checked{Application: a}
	profile, err := spark.ProfileOf(a.App)
	if err == nil {
		c.Built, err = build(a.App, a.Identity, profile)
	}
	if a.App.Malformed != "" {
		c.Objections = a.Problems
		return c
	}
	c.Objections = append(c.Objections, a.Problems...)
	c.Objections = append(c.Objections, withoutNames(a, validation.Check(a.App, c.Built, err))...)
	c.sized = len(c.Objections) == 0
	if err == nil && a.Record.State.Starting() { // a started attempt was checked when it started
		c.Objections = append(c.Objections, validation.CheckCounted(a.App, c.Built)...)
		c.Objections = append(c.Objections, a.Policies.Check(a.App, c.Built)...)
		c.Objections = append(c.Objections, a.Policies.CheckRetention(a.App.Namespace, a.App.Fields, a.Retention)...)
	}
	return c
}

// withoutNames removes errors about names that the user did not write: they are derived from the application's name or id, and that source already has an
// error of its own.
func withoutNames(a resolve.Application, found []*spark.ConfError) []*spark.ConfError {
	if !slices.ContainsFunc(a.Problems, func(p *spark.ConfError) bool { return p.Field == spark.FieldName || p.Key == spark.ConfAppID }) {
		return found
	}
	return slices.DeleteFunc(found, func(p *spark.ConfError) bool {
		return slices.Contains([]string{a.App.Name, a.Identity.AppID, spark.DriverName(a.App, a.Identity)}, p.Value)
	})
}

// Warnings returns warnings about accepted fields that have a surprising effect.
func (c Checked) Warnings() field.ErrorList {
	return validation.ErrorList(c.App, validation.Warnings(c.App))
}

func sentences(app spark.Application, problems []*spark.ConfError) []string {
	all := make([]string, 0, len(problems))
	for _, p := range problems {
		all = append(all, validation.Explain(app, p))
	}
	return all
}

// Candidate is a checked attempt that waits for its scheduler's answer.
type Candidate struct {
	// Reads lists the objects that the scheduler needs.
	Reads []scheduler.Read

	checked Checked
	plugin  scheduler.Plugin
	attempt scheduler.Attempt
	// err is the plugin's error about its placeholder pods or its reads.
	err error
	// complete adds the objects to create to an admission that admits the attempt.
	complete func(scheduler.Admission) Result
}

// Result is the answer for an attempt. Submission is empty unless the attempt is admitted.
type Result struct {
	scheduler.Admission
	Submission spark.Submission
	// Objections are the errors in the spec that cause a rejection; empty for other causes.
	Objections []*spark.ConfError
	// Err is the plugin's error, for the operator's log. A *scheduler.PanicError has a stack. The attempt waits.
	Err error
}

// NewCandidate validates an application and chooses its scheduler. If it returns no candidate, the Result is final: the spec cannot run, or its scheduler is
// unknown. annotations are the annotations of the application's namespace, which may choose the scheduler; nil if unknown.
func NewCandidate(a resolve.Application, registry *scheduler.Registry, annotations map[string]string) (*Candidate, Result) {
	c := Validate(a)
	if len(c.Objections) > 0 {
		return nil, objected(c.App, c.Objections)
	}
	candidate := &Candidate{checked: c}
	candidate.complete = candidate.decorated
	return candidate.prepared(registry.Prepare(c.request(annotations), c.attempt(), c.made()))
}

// prepared completes the candidate. It returns nil and the refusal if no scheduler was chosen or the attempt was refused.
func (c *Candidate) prepared(p scheduler.Prepared, refused scheduler.Admission) (*Candidate, Result) {
	c.plugin, c.attempt, c.Reads, c.err = p.Plugin, p.Attempt, p.Reads, p.Err
	switch {
	case p.Plugin == nil:
		refused.Choice = p.Attempt.Choice
		return nil, Result{Admission: refused}
	case refused.Verdict != "":
		return nil, Result{Admission: c.signed(refused)}
	}
	return c, Result{Admission: scheduler.Admission{Choice: p.Attempt.Choice}}
}

// made returns the objects of custom kinds that are created with the driver.
func (c Checked) made() []*unstructured.Unstructured {
	var made []*unstructured.Unstructured
	for _, object := range c.Built.Resources {
		if u, ok := object.(*unstructured.Unstructured); ok {
			made = append(made, u)
		}
	}
	return made
}

// request returns the input for the choice of a scheduler. It keeps the choice of the previous attempt, unless this operator did not have that scheduler
// then: an administrator may have enabled it since.
func (c Checked) request(annotations map[string]string) scheduler.SelectionRequest {
	w := scheduler.SelectionRequest{Scheduling: c.App.Scheduling, Namespace: c.App.Namespace, NamespaceAnnotations: annotations, Fields: c.App.Fields}
	if c.App.Scheduling.PodScheduler != "" {
		w.Driver = &c.Built.PodSets.DriverAttributes
	}
	r := c.Record
	unserved := r.State.Starting() && r.Scheduling.HeldAttempt == 0 &&
		(r.Cause.Reason == scheduler.ReasonSchedulerUnknown || r.Cause.Reason == scheduler.ReasonSchedulerDisabled)
	if r.Scheduling.Scheduler != "" && r.SameSpec(c.Desired) && !unserved {
		recorded := r.Scheduling.Choice
		recorded.Group = ""
		w.Recorded = &recorded
	}
	return w
}

// attempt returns the scheduler's view of the attempt, before a scheduler is chosen. A new attempt counts as queued now, so it comes last.
func (c Checked) attempt() scheduler.Attempt {
	a := AttemptOf(c.Application, AttemptID(c.Identity, c.Record.Attempt), c.Record.Attempt)
	if a.QueuedAt = c.Record.QueuedAt; a.QueuedAt.IsZero() {
		a.QueuedAt = c.Now
	}
	a.QueuedAt = a.QueuedAt.Truncate(time.Second) // as in the status: more precision would change the order after a restart
	a.Now, a.PodSets, a.SparkID = c.Now, c.Built.PodSets, c.Identity.AppID
	for _, o := range c.made() {
		a.Made = append(a.Made, scheduler.Ref{GroupVersionKind: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()})
	}
	a.PriorityClass, a.Resources, a.Parameters = c.App.Scheduling.PriorityClassName, c.App.Scheduling.Reserved(), c.App.Scheduling.Parameters
	return a
}

// Plugin returns the chosen scheduler, for later calls of package scheduler.
func (c *Candidate) Plugin() scheduler.Plugin { return c.plugin }

// Attempt returns the attempt as the scheduler sees it.
func (c *Candidate) Attempt() scheduler.Attempt { return c.attempt }

// SetQuota sets the room that other attempts will still take, for plugins with Descriptor.Quota.
func (c *Candidate) SetQuota(o scheduler.Outstanding) { c.attempt.Quota = o }

// Shares returns the plugin's shares of namespaces, given the reservations o.
func (c *Candidate) Shares(o scheduler.Outstanding, seen scheduler.Snapshot) scheduler.Shares {
	a := c.attempt
	a.Quota = o
	return scheduler.SharesOf(c.plugin, a, seen)
}

// SetPriority sets the attempt's priority from the snapshot, for plugins with Descriptor.Quota.
func (c *Candidate) SetPriority(s scheduler.Snapshot) {
	c.attempt.Priority = scheduler.PriorityOf(c.attempt, s)
}

// Unavailable returns the answer of an unavailable scheduler.
func (c *Candidate) Unavailable(why scheduler.Admission) Result {
	return Result{Admission: c.signed(why)}
}

// Admit asks the scheduler. If the scheduler admits the attempt, Admit builds the submission with the scheduler's decoration.
func (c *Candidate) Admit(snapshot scheduler.Snapshot) Result {
	return c.Build(c.Ask(snapshot))
}

// Ask asks the scheduler. An admitted attempt has no submission yet: Build adds it, which is the expensive part.
func (c *Candidate) Ask(snapshot scheduler.Snapshot) Result {
	if c.err != nil {
		return c.failed(c.err)
	}
	answer, err := scheduler.AdmitAttempt(c.plugin, c.attempt, snapshot)
	if err != nil {
		return c.failed(err)
	}
	if found := c.limited(answer.Apply); len(found) > 0 {
		r := objected(c.checked.App, found)
		r.Choice = c.signed(answer).Choice
		return r
	}
	return Result{Admission: c.signed(answer)}
}

// Build adds the submission to a result of Ask that admits the attempt. Other results stay unchanged. If the build fails, the attempt is not admitted.
func (c *Candidate) Build(r Result) Result {
	if r.Verdict != scheduler.Admit {
		return r
	}
	return c.complete(r.Admission)
}

// limited returns the policy violations in the scheduler's objects.
func (c *Candidate) limited(objects []*unstructured.Unstructured) []*spark.ConfError {
	return c.checked.Policies.CheckApplied(c.checked.App, objects)
}

// Forbidden lists the policy violations of the attempt, one sentence each, as if it were created now. When the attempt started, it was checked under the
// policies of that time.
func (c *Candidate) Forbidden() []string {
	return sentences(c.checked.App, c.checked.Policies.Check(c.checked.App, c.checked.Built))
}

// AssumeAdmitted returns the result for an attempt that its scheduler admits. It is for callers that cannot ask the scheduler.
func (c *Candidate) AssumeAdmitted() Result {
	return c.complete(c.signed(scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted}))
}

// decorated adds the submission to an admission that admits the attempt.
func (c *Candidate) decorated(answer scheduler.Admission) Result {
	app, err := scheduler.Decorate(c.plugin, c.attempt, c.checked.App)
	if err != nil {
		return c.failed(err)
	}
	profile, err := spark.ProfileOf(app)
	if err != nil {
		return rejected(err.Error())
	}
	submission, err := build(app, c.checked.Identity, profile)
	if err != nil {
		r := rejected(validation.Explain(c.checked.App, err))
		r.Choice = answer.Choice
		return r
	}
	return Result{Admission: answer, Submission: submission}
}

// failed returns a wait, because the error is the scheduler's and not the application's.
func (c *Candidate) failed(err error) Result {
	return Result{Admission: c.signed(scheduler.Failed(err)), Err: err}
}

// signed adds the scheduler's name to an answer.
func (c *Candidate) signed(a scheduler.Admission) scheduler.Admission {
	a.Choice = c.attempt.Choice
	if a.Group != nil {
		a.Choice.Group = a.Group.Kind + " " + a.Group.Name
	}
	if a.Verdict != scheduler.Admit {
		a.Message += " (" + c.attempt.Scheduler + ")"
	}
	return a
}

// ObserveReads lists the objects that the scheduler needs for a submitted attempt.
func (c *Candidate) ObserveReads(f scheduler.PodStatuses) []scheduler.Read {
	reads, err := scheduler.ObserveReads(c.plugin, c.attempt, f)
	if err != nil {
		return nil
	}
	return reads
}

// Observe asks the observing plugin for the state of a submitted attempt.
func (c *Candidate) Observe(observer scheduler.Plugin, snapshot scheduler.Snapshot, f scheduler.PodStatuses) (scheduler.Observation, error) {
	o, err := scheduler.Observe(observer, c.attempt, snapshot, f)
	if err != nil {
		return o, err
	}
	if len(c.limited(o.Apply)) > 0 {
		o.Apply = nil // an observation does not change objects
	}
	if o.Eviction != nil {
		o.Reason = o.Eviction.Reason
	}
	o.Message += " (" + c.attempt.Scheduler + ")"
	return o, nil
}

func objected(app spark.Application, objections []*spark.ConfError) Result {
	r := rejected(strings.Join(sentences(app, objections), "; "))
	r.Objections = objections
	return r
}

func rejected(message string) Result {
	return Result{Admission: scheduler.Admission{Verdict: scheduler.Reject, Reason: lifecycle.ReasonInvalidSpec, Message: message}}
}

// AttemptID returns a DNS label that is unique among all attempts of all applications.
func AttemptID(id spark.Identity, number int32) string {
	return "spark-" + id.NameID + "-" + strconv.Itoa(int(max(1, number)))
}

// AttemptOf returns an attempt without the sizes of its pods, which a release does not need.
func AttemptOf(a resolve.Application, id string, number int32) scheduler.Attempt {
	return scheduler.Attempt{
		App: scheduler.App{
			Kind:      a.Family.GroupKind(),
			Namespace: a.App.Namespace, Name: a.App.Name, UID: a.App.UID, Labels: a.App.Labels,
		},
		Number: max(1, number), ID: id, Fields: a.App.Fields,
		User: scheduler.User{Name: a.Desired.Submitter.User, Groups: a.Desired.Submitter.Groups},
	}
}
