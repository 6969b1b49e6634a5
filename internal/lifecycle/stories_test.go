// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// step is one reconcile of a story: what is seen, and what the API server answers.
type step struct {
	says string
	// after is the time since the step before; ten seconds unless given.
	after     time.Duration
	seen      lifecycle.Driver
	executors []lifecycle.Executor
	// sessions are what a server says of them, if it is asked.
	sessions lifecycle.Sessions
	// gate admits unless given.
	gate scheduler.Admission
	// refuses is what the API server answers to a Submit, trouble to any action; both with the message.
	refuses lifecycle.Class
	trouble lifecycle.Class
	message string
	// app changes the user's object before the step; the change lasts.
	app func(*lifecycle.Application)
	// lost drops the status write: the operator dies before it, or it meets a conflict.
	lost bool
}

// storyRun runs a story: it does what the engine does, and keeps the status as the API server does, with times in
// seconds and in the words of v1beta2.
type storyRun struct {
	b      strings.Builder
	now    time.Time
	app    lifecycle.Application
	status v1beta2.SparkApplicationStatus
	clocks map[string]time.Time
	// drainSince and idle are what the status of a server has besides.
	drainSince time.Time
	idle       lifecycle.Idle
	// leaves gets what each step comes to and stores, unless that is lost.
	leaves func(step, lifecycle.Driver, lifecycle.Outcome, v1beta2.SparkApplicationStatus)
}

var storyStart = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// tell runs a story and returns a paragraph for each step.
func tell(s story) string {
	var t storyRun
	t.play(s)
	return t.b.String()
}

func (t *storyRun) play(s story) {
	t.now, t.app, t.status, t.clocks = storyStart, storyApp(), s.status, map[string]time.Time{}
	if s.app != nil {
		s.app(&t.app)
	}
	for i, step := range s.steps {
		if step.after == 0 && i > 0 {
			step.after = 10 * time.Second
		}
		t.now = t.now.Add(step.after)
		t.step(step)
	}
}

func (t *storyRun) step(s step) {
	env := lifecycle.Env{Now: t.now}
	if s.app != nil {
		s.app(&t.app)
	}
	rec := kubeflow.FromStatus(&t.status)
	rec.DrainSince, rec.Idle = t.drainSince, t.idle
	t.app.SubmissionID, t.app.SparkAppID = fmt.Sprintf("s-%d", max(1, rec.Attempt)), fmt.Sprintf("spark-%d", max(1, rec.Attempt))
	if rec.SubmissionID != "" {
		t.app.SubmissionID = rec.SubmissionID
	}
	seen := t.dated(s.seen)
	gate := scheduler.Admission{}
	if lifecycle.NeedsAdmission(t.app, rec, seen, env) {
		if gate = s.gate; gate.Verdict == "" {
			gate = admitted
		}
	}
	obs := lifecycle.Observation{Driver: seen, Executors: s.executors}
	if lifecycle.NeedsSessions(t.app, rec, seen, env) {
		obs.Sessions = s.sessions
		obs.Sessions.At = t.now
	}
	plan := lifecycle.Decide(t.app, rec, obs, gate, env)
	results, did := t.act(s, plan)
	o := lifecycle.Settle(plan, results, env)
	next := kubeflow.ToStatus(&t.status, o, env.Now)
	if t.leaves != nil && !s.lost {
		t.leaves(s, seen, o, next)
	}
	t.paragraph(s, seen, gate, did, o, next)
	wrote := !t.app.Deleting && (!equality.Semantic.DeepEqual(t.status, next) || t.idle != o.Record.Idle)
	switch {
	case t.app.Deleting, slices.Contains(did, "DeleteApplication: Done"):
	case s.lost:
		t.say("store", "the operator dies before it")
	case wrote:
		t.shown(next, o.Record)
		if t.idle != o.Record.Idle {
			t.say("", "idle since "+o.Record.Idle.Since.Format("15:04:05"))
		}
		for _, e := range lifecycle.Events("SparkApplication", "pi", rec, o.Record) {
			t.say(map[bool]string{true: "warns", false: "tells"}[e.Warning], e.Reason+": "+e.Message)
		}
		t.status, t.drainSince, t.idle = next, o.Record.DrainSince, o.Record.Idle
	default:
		t.say("store", "nothing has changed")
	}
	t.b.WriteString("\n")
}

func (t *storyRun) act(s step, plan lifecycle.Plan) (results []lifecycle.Result, did []string) {
	for _, a := range plan.Actions {
		r := lifecycle.Result{Kind: a.Kind, Class: lifecycle.ClassDone}
		if s.trouble != "" {
			r.Class, r.Message = s.trouble, s.message
		}
		if s.refuses != "" && a.Kind == lifecycle.Submit {
			r.Class, r.Message = s.refuses, s.message
		}
		results = append(results, r)
		text := string(a.Kind)
		if a.Kind == lifecycle.DeleteResources {
			text += fmt.Sprintf(" of attempt %d", a.Attempt)
		}
		did = append(did, fmt.Sprintf("%s: %s", text, r.Class))
		if r.Class != lifecycle.ClassDone {
			break
		}
	}
	return results, did
}

// dated gives a driver its owner, and the times at which the story first showed it as it is.
func (t *storyRun) dated(d lifecycle.Driver) lifecycle.Driver {
	if d.Presence != lifecycle.Present {
		return d
	}
	if d.Ownership == "" {
		if d.Ownership = lifecycle.Previous; d.SubmissionID == t.app.SubmissionID {
			d.Ownership = lifecycle.Current
		}
	}
	since := func(what string) time.Time {
		key := d.UID + what
		if t.clocks[key].IsZero() {
			t.clocks[key] = t.now
		}
		return t.clocks[key]
	}
	d.CreatedAt = since("created")
	if d.Phase != lifecycle.DriverPending || d.Waiting.Reason != "" && d.Waiting.Reason != lifecycle.ReasonUnschedulable {
		d.ScheduledAt = since("scheduled")
	}
	if d.Phase != lifecycle.DriverPending {
		d.StartedAt = since("started")
	}
	if d.Deleting {
		d.GoneAt = since("deleted").Add(30 * time.Second)
	}
	return d
}

func (t *storyRun) say(what, text string) { fmt.Fprintf(&t.b, "    %-6s %s\n", what, text) }

func (t *storyRun) paragraph(s step, seen lifecycle.Driver, gate scheduler.Admission, did []string, o lifecycle.Outcome, next v1beta2.SparkApplicationStatus) {
	fmt.Fprintf(&t.b, "%s  %s\n", t.now.Format("15:04:05"), s.says)
	sees := "driver " + sight(seen)
	if n := len(s.executors); n > 0 {
		sees += fmt.Sprintf(", %d executors", n)
	}
	if gate.Verdict != "" {
		sees += ", admission " + string(gate.Verdict)
	}
	t.say("sees", sees)
	for _, d := range did {
		t.say("does", d)
	}
	when := "never again by itself"
	switch {
	case o.Err != nil:
		when = "again with back-off: " + o.Err.Error()
	case o.Requeue > 0:
		when = "again in " + o.Requeue.String()
	}
	t.say("looks", when)
}

// shown is what a status write shows to a user.
func (t *storyRun) shown(s v1beta2.SparkApplicationStatus, r lifecycle.Record) {
	state := string(s.AppState.State)
	if state != strings.ToUpper(string(r.State)) {
		state += " (" + string(r.State) + ")"
	}
	text := fmt.Sprintf("%s, attempt %d, %d submitted, %d executed", state, s.Attempt, s.SubmissionAttempts, s.ExecutionAttempts)
	if len(s.Released) > 0 {
		text += ", released " + strings.Join(s.Released, " and ")
	}
	t.say("store", text)
	if s.AppState.ErrorMessage != "" {
		t.say("", "error: "+s.AppState.ErrorMessage)
	}
	for i, c := range s.Conditions {
		if i < len(t.status.Conditions) && t.status.Conditions[i].Status == c.Status && t.status.Conditions[i].Reason == c.Reason && t.status.Conditions[i].Message == c.Message {
			continue
		}
		t.say("", fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	if e := s.Executors; e != nil && !equality.Semantic.DeepEqual(e, t.status.Executors) {
		t.say("", fmt.Sprintf("executors: %d pending, %d running, %d completed, %d failed, %d unknown; %d shown",
			e.Pending, e.Running, e.Completed, e.Failed, e.Unknown, len(s.ExecutorState)))
	}
	if n := len(s.Attempts); n > 0 && s.Attempts[n-1].EndTime != nil && !equality.Semantic.DeepEqual(s.Attempts, t.status.Attempts) {
		a := s.Attempts[n-1]
		text := fmt.Sprintf("attempt %d ended: %s %s", a.Attempt, a.Reason, a.FailureClass)
		t.say("", strings.TrimSpace(text))
	}
}

func sight(d lifecycle.Driver) string {
	if d.Presence != lifecycle.Present {
		return string(d.Presence)
	}
	text := string(d.Ownership) + " " + string(d.Phase)
	if d.Ready {
		text += " ready"
	}
	if d.Deleting {
		text += " being deleted"
	}
	return text
}

func TestStories(t *testing.T) {
	all := stories()
	for name, s := range all {
		t.Run(name, func(t *testing.T) { testutil.Golden(t, "testdata/stories/"+name+".txt", tell(s)) })
	}
	testutil.NoStaleGolden(t, "testdata/stories/*.txt", all)
}
