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
	// QueuedAt is when the attempt began to wait.
	QueuedAt time.Time
	// NamespaceAnnotations are those of the application's namespace, which may choose its scheduler; nil if they are not
	// known.
	NamespaceAnnotations map[string]string
	// Recorded is the choice of a scheduler that was made for this attempt before; nil for none.
	Recorded *scheduler.Choice
	// User is whoever created the application; empty if nobody recorded it.
	User scheduler.User
	// SpecHash identifies what the application is made from; the driver pod carries it.
	SpecHash string
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
		return nil, Prepared{Gate: gateOf(admission), Choice: resolution.Choice, Plan: scheduler.Plan{Admission: admission}}
	}
	attempt.Scheduler, attempt.Source, attempt.Queue = resolution.Scheduler, resolution.Source, resolution.Queue
	attempt.UsableQueues = resolution.UsableQueues
	return &Candidate{request: r, profile: profile, plugin: resolution.Plugin, attempt: attempt}, Prepared{Choice: resolution.Choice}
}

// Plugin is the scheduler that was chosen, for the calls of package scheduler that come after the submission.
func (c *Candidate) Plugin() scheduler.Plugin { return c.plugin }

// Attempt is what the scheduler is asked about.
func (c *Candidate) Attempt() scheduler.Attempt { return c.attempt }

// SetQuota tells what other attempts will still take, before Reads. It is for plugins that ask for it.
func (c *Candidate) SetQuota(o scheduler.Outstanding) { c.attempt.Quota = o }

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
	return prepared
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
	number := max(1, r.Attempt)
	return scheduler.Attempt{
		App:           scheduler.App{Namespace: app.Namespace, Name: app.Name, UID: app.UID, Labels: app.Labels},
		Number:        number,
		ID:            "spark-" + r.Identity.NameID + "-" + strconv.Itoa(int(number)),
		QueuedAt:      r.QueuedAt,
		PriorityClass: app.Scheduling.PriorityClassName,
		User:          r.User,
		Shapes:        shapes,
		Resources:     app.Scheduling.Resources,
		Parameters:    app.Scheduling.Parameters,
	}, nil
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
	}
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
