// SPDX-License-Identifier: Apache-2.0

// Package prepare answers "may it start, and what is to be created?" for one attempt of an application. The operator and
// the command line tool share it. It is pure: what a scheduler wants to see of the cluster is an argument.
package prepare

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// Request is one attempt of an application.
type Request struct {
	App spark.Application
	// Problems are the fields that conversion could make nothing of.
	Problems []*spark.ConfError
	Identity spark.Identity
	// Attempt counts from 1; 0 is taken for 1.
	Attempt int32
	// SpecHash identifies what the application is made from; the driver pod carries it.
	SpecHash string
	// QueuedAt is when the attempt began to wait.
	QueuedAt time.Time
	// NamespaceAnnotations are those of the application's namespace, which may choose its scheduler; nil if they are not
	// known.
	NamespaceAnnotations map[string]string
	// Recorded is the choice of a scheduler that was made for this attempt before; nil for none.
	Recorded *scheduler.Choice
	// User is whoever created the application; empty if nobody recorded it.
	User scheduler.User
}

// Prepared is the answer. Submission is empty unless the gate says Admitted.
type Prepared struct {
	Gate       lifecycle.Gate
	Submission spark.Submission
	// Choice is the scheduler and the queue, as far as they are known.
	Choice scheduler.Choice
	// Plan is the scheduler's whole answer, with the objects of its own; empty if it was not asked.
	Plan scheduler.Plan
	// Trouble is what kept the scheduler's plugin from answering, for the operator's log: a *scheduler.PanicError has a
	// stack. The gate waits then.
	Trouble error
}

// Candidate is a request that passed the checks and waits for its scheduler's word.
type Candidate struct {
	request Request
	profile spark.Profile
	plugin  scheduler.Plugin
	attempt scheduler.Attempt
	// trouble is why the plugin could not say what it wants to see.
	trouble error
}

// Examine checks a request. Without a candidate the answer is final: the specification cannot run, or its scheduler is
// not known.
func Examine(r Request, registry *scheduler.Registry) (*Candidate, Prepared) {
	if sentences := Objections(r); len(sentences) > 0 {
		return nil, rejected(strings.Join(sentences, "; "))
	}
	profile, err := spark.ProfileFor(r.App.SparkVersion)
	if err != nil {
		return nil, rejected(err.Error())
	}
	attempt, err := attemptOf(r, profile)
	if err != nil {
		return nil, rejected(validation.Explain(r.App, err))
	}
	resolution, admission := registry.Resolve(scheduler.Wish{
		Scheduling: r.App.Scheduling, Namespace: r.App.Namespace, NamespaceAnnotations: r.NamespaceAnnotations, Recorded: r.Recorded,
	})
	if resolution.Plugin == nil {
		return nil, chosen(Prepared{Gate: gateOf(admission), Choice: resolution.Choice, Plan: scheduler.Plan{Admission: admission}})
	}
	attempt = chosenFor(attempt, resolution)
	return &Candidate{request: r, profile: profile, plugin: resolution.Plugin, attempt: attempt}, Prepared{Choice: resolution.Choice}
}

// Plugin is the scheduler that was chosen, for the calls of package scheduler that come after the submission.
func (c *Candidate) Plugin() scheduler.Plugin { return c.plugin }

// Attempt is what the scheduler is asked about.
func (c *Candidate) Attempt() scheduler.Attempt { return c.attempt }

// SetQuota tells what other attempts will still take, before Reads. It is for plugins that ask for it.
func (c *Candidate) SetQuota(o scheduler.Outstanding) { c.attempt.Quota = o }

// ObserveReads names what the scheduler wants to see of a submitted attempt.
func (c *Candidate) ObserveReads(f scheduler.Facts) []scheduler.Read {
	reads, err := scheduler.ObserveReads(c.plugin, c.attempt, f)
	if err != nil {
		return nil
	}
	return reads
}

// Unavailable is the answer for a scheduler that cannot be asked.
func (c *Candidate) Unavailable(why scheduler.Admission) Prepared {
	choice := scheduler.Choice{Scheduler: c.attempt.Scheduler, Source: c.attempt.Source, Queue: c.attempt.Queue}
	return named(Prepared{Gate: gateOf(why), Choice: choice, Plan: scheduler.Plan{Admission: why}})
}

// Reads names what the scheduler wants to see. If its plugin fails to say so, Prepare reports it.
func (c *Candidate) Reads() []scheduler.Read {
	var reads []scheduler.Read
	reads, c.trouble = scheduler.Reads(c.plugin, c.attempt)
	return reads
}

// Prepare asks the scheduler and builds the submission.
func (c *Candidate) Prepare(snapshot scheduler.Snapshot) Prepared {
	prepared := c.answer(snapshot)
	prepared.Choice = scheduler.Choice{Scheduler: c.attempt.Scheduler, Source: c.attempt.Source, Queue: c.attempt.Queue}
	return named(prepared)
}

func (c *Candidate) answer(snapshot scheduler.Snapshot) Prepared {
	if c.trouble != nil {
		return troubled(c.trouble)
	}
	plan, err := scheduler.Admit(c.plugin, c.attempt, snapshot)
	if err != nil {
		return troubled(err)
	}
	prepared := Prepared{Gate: gateOf(plan.Admission), Plan: plan}
	if prepared.Gate.Verdict != lifecycle.Admitted {
		return prepared
	}
	return c.build(prepared)
}

// Assume builds the submission as if the scheduler had let the attempt start: for those who cannot ask it.
func (c *Candidate) Assume(p Prepared) Prepared {
	p.Gate = lifecycle.Gate{Verdict: lifecycle.Admitted, Cause: lifecycle.Cause{Reason: lifecycle.ReasonAdmitted}, Choice: p.Gate.Choice}
	return c.build(p)
}

// build adds the submission to an answer that admits the attempt.
func (c *Candidate) build(prepared Prepared) Prepared {
	r := c.request
	app, err := scheduler.Decorate(c.plugin, c.attempt, r.App)
	if err != nil {
		return troubled(err)
	}
	if prepared.Submission, err = spark.Build(labelled(app, r), r.Identity, c.profile); err != nil {
		return rejected(validation.Explain(r.App, err))
	}
	return prepared
}

// troubled is a wait: the trouble is the scheduler's, not the application's.
func troubled(err error) Prepared {
	failed := scheduler.Failed(err)
	return Prepared{Gate: gateOf(failed), Plan: scheduler.Plan{Admission: failed}, Trouble: err}
}

// Objections are what the checks say against a request, a sentence each.
func Objections(r Request) []string {
	problems := validation.Report(r.App, r.Problems)
	sentences := make([]string, 0, len(problems))
	for _, p := range problems {
		sentences = append(sentences, validation.Explain(r.App, p))
	}
	return sentences
}

// Remarks are what the checks say without stopping a request, a sentence each.
func Remarks(r Request) []string {
	warnings := validation.Warnings(r.App)
	sentences := make([]string, 0, len(warnings))
	for _, w := range warnings {
		sentences = append(sentences, validation.Explain(r.App, w))
	}
	return sentences
}

func rejected(message string) Prepared {
	return Prepared{Gate: lifecycle.Gate{
		Verdict: lifecycle.Rejected,
		Cause:   lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: message},
	}}
}

// attemptOf is the scheduler's view of a run.
func attemptOf(r Request, profile spark.Profile) (scheduler.Attempt, error) {
	app := r.App
	shapes, err := spark.PodShapes(app, profile)
	if err != nil {
		return scheduler.Attempt{}, err
	}
	a := AttemptOf(app, AttemptID(r.Identity, r.Attempt), r.Attempt)
	a.QueuedAt, a.User, a.Shapes = r.QueuedAt, r.User, shapes
	a.PriorityClass, a.Resources, a.Parameters = app.Scheduling.PriorityClassName, app.Scheduling.Resources, app.Scheduling.Parameters
	return a, nil
}

// chosenFor tells an attempt the scheduler and the queue that were chosen for it.
func chosenFor(a scheduler.Attempt, r scheduler.Resolution) scheduler.Attempt {
	a.Scheduler, a.Source, a.Queue = r.Scheduler, r.Source, r.Queue
	a.UsableQueues, a.QueueFrom = r.UsableQueues, r.QueueFrom
	return a
}

// AttemptID is unique among all attempts of all applications, and a DNS label.
func AttemptID(id spark.Identity, number int32) string {
	return "spark-" + id.NameID + "-" + strconv.Itoa(int(max(1, number)))
}

// AttemptOf is an attempt as far as it is known without its sizes: for what is done when it is over.
func AttemptOf(app spark.Application, id string, number int32) scheduler.Attempt {
	return scheduler.Attempt{
		App:    scheduler.App{Namespace: app.Namespace, Name: app.Name, UID: app.UID, Labels: app.Labels},
		Number: max(1, number), ID: id,
	}
}

// ViewOf puts a scheduler's observation into the words of the lifecycle.
func ViewOf(o scheduler.Observation, name string) lifecycle.SchedulerView {
	cause := lifecycle.Cause{Reason: lifecycle.Reason(o.Reason), Message: o.Message + " (" + name + ")"}
	view := lifecycle.SchedulerView{RetryAfter: o.RetryAfter}
	switch {
	case o.Stage == scheduler.StageRefused:
		view.Verdict, view.Cause = lifecycle.SchedulerRefused, cause
	case o.Eviction != nil:
		cause.Reason = lifecycle.Reason(o.Eviction.Reason)
		view.Verdict, view.Cause = lifecycle.SchedulerEvicted, cause
	case o.StopApp:
		view.Verdict, view.Cause = lifecycle.SchedulerWithdrew, cause
	case o.Stage == scheduler.StageQueued || o.Stage == scheduler.StageReserving || o.Stage == scheduler.StageShort:
		view.Waiting = cause
	}
	return view
}

func gateOf(a scheduler.Admission) lifecycle.Gate {
	verdicts := map[scheduler.Verdict]lifecycle.Verdict{
		scheduler.Go: lifecycle.Admitted, scheduler.Wait: lifecycle.Waiting,
		scheduler.NotReady: lifecycle.Waiting, scheduler.Never: lifecycle.Rejected,
	}
	return lifecycle.Gate{
		Verdict:    verdicts[a.Verdict],
		Cause:      lifecycle.Cause{Reason: lifecycle.Reason(a.Reason), Message: a.Message},
		RetryAfter: a.RetryAfter,
		Warning:    a.Warning,
	}
}

// named tells the gate whose word it is.
func named(p Prepared) Prepared {
	p = chosen(p)
	if g := p.Plan.Group; g != nil {
		p.Gate.Choice.Group = g.Kind + " " + g.Name
	}
	p.Gate.Objects = len(p.Plan.Apply)+len(p.Plan.Delete) > 0
	if p.Gate.Verdict != lifecycle.Admitted && p.Gate.Cause.Reason != lifecycle.ReasonInvalidSpec && p.Choice.Scheduler != "" {
		p.Gate.Cause.Message += " (" + p.Choice.Scheduler + ")"
	}
	return p
}

// chosen tells the gate the choice, also of a scheduler that there is not.
func chosen(p Prepared) Prepared {
	p.Gate.Choice = lifecycle.Choice{Scheduler: p.Choice.Scheduler, Source: string(p.Choice.Source), Queue: p.Choice.Queue}
	return p
}

// labelled marks the pods of both roles as this attempt's. The driver hands its executors' labels on to them.
func labelled(app spark.Application, r Request) spark.Application {
	app.OperatorConf = maps.Clone(app.OperatorConf)
	app.OperatorConf[spark.ConfDriverLabelPrefix+lifecycle.LabelSubmission] = r.Identity.SubmissionID
	app.OperatorConf[spark.ConfExecutorLabelPrefix+lifecycle.LabelSubmission] = r.Identity.SubmissionID
	if r.SpecHash != "" {
		app.OperatorConf[spark.ConfDriverLabelPrefix+lifecycle.LabelSpecHash] = r.SpecHash
	}
	return app
}
