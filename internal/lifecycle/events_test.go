// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func TestEvents(t *testing.T) {
	at := func(r Record, c Cause) Record { r.Cause = c; return r }
	quota := Cause{ReasonQuotaExceeded, "exceeded quota: team"}
	failure := ran(Failed).Cause
	refusal := Cause{ReasonSubmissionRefused, `serviceaccount "spark" not found`}
	one := func(warning bool, reason, action, message string) []Event {
		return []Event{{Warning: warning, Reason: reason, Action: action, Message: message}}
	}
	created := one(false, "SparkApplicationSubmitted", "Submit", "SparkApplication pi was submitted: driver pod pi-driver was created")
	second, tight := created2(), ran(Submitted)
	tight.Scheduling.Warning = "too little quota"
	beyond := func(what string) Record {
		r := ran(Running)
		r.Exposure.Trouble = JoinCauses([]Cause{{ReasonExposureForbidden, what}, {ReasonExposureRefused, "and more"}})
		return r
	}
	missing := ran(Running)
	missing.Exposure.Trouble = Cause{ReasonExposureRefused, "no"}
	forbidden := func(what string) []Event {
		return one(true, "SparkApplicationExposureForbidden", "Expose", "SparkApplication pi violates a policy: "+what+"; and more")
	}
	outdated, reached, back, late, asked, whose := ran(Running), ran(Running), ran(Running), ran(Running), ran(Running), ran(Failed)
	outdated.Placement, reached.Placement, back.Placement = Placement{Made: "a", Outdated: true}, Placement{Made: "b"}, Placement{Made: "a"}
	late.Placement = Placement{Made: "a", Outdated: true, Problem: "no right to it"}
	asked.Rerun.Ignored, whose.Submitter.User = "soon", "alice"
	placed := func(from string) []Event {
		return one(false, "SparkApplicationWebhookFieldsUpdated", "Observe", "SparkApplication pi does not run again: the edited placement of executors takes effect "+from)
	}
	cases := map[string]struct {
		reason   string
		from, to Record
		want     []Event
	}{
		"Submitted":       {reason: "the Kubeflow operator's reason and words", to: ran(Submitted), want: created},
		"SubmittedTight":  {reason: "it starts, with a report", to: tight, want: one(true, "SparkApplicationSubmitted", "Submit", "SparkApplication pi was submitted: driver pod pi-driver was created; warning: too little quota")},
		"SubmittedLater":  {reason: "the same after waiting", from: at(queued(), quota), to: ran(Submitted), want: created},
		"SubmittedAgain":  {reason: "the same on each attempt", from: again(Rerunning), to: second, want: created},
		"Running":         {reason: "the driver's start", from: ran(Submitted), to: ran(Running), want: one(false, "SparkDriverRunning", "Observe", "Driver pi-driver is running")},
		"Forbidden":       {reason: "it is reported once", from: ran(Running), to: beyond("a"), want: forbidden("a")},
		"ForbiddenOther":  {reason: "something else is asked for", from: beyond("a"), to: beyond("b"), want: forbidden("b")},
		"ForbiddenStill":  {reason: "it was reported", from: beyond("a"), to: beyond("a")},
		"NotExposed":      {reason: "what the API server refuses is in the condition only", from: ran(Running), to: missing},
		"FellBack":        {reason: "a pod that is pending again is no second submission", from: ran(Running), to: ran(Submitted)},
		"Ending":          {reason: "nothing is concluded yet", from: ran(Running), to: ran(Succeeding)},
		"Completed":       {reason: "one event for the outcome", from: ran(Succeeding), to: ran(Succeeded), want: one(false, "SparkApplicationCompleted", "Complete", "SparkApplication pi completed")},
		"DriverFailed":    {reason: "each failed attempt says why", from: ran(Running), to: ran(Failing), want: one(true, "SparkDriverFailed", "Observe", "Driver pi-driver failed: "+failure.Message)},
		"Failed":          {reason: "the outcome with its cause", from: ran(Failing), to: ran(Failed), want: one(true, "SparkApplicationFailed", "Complete", "SparkApplication pi failed: "+failure.Message)},
		"PendingRerun":    {reason: "the Kubeflow operator's reason", from: ran(Failing), to: again(Rerunning), want: one(true, "SparkApplicationPendingRerun", "Rerun", "SparkApplication pi is pending rerun: the application runs again")},
		"Invalidated":     {reason: "what the user wanted is no warning", from: ran(Running), to: at(ran(Invalidating), Cause{ReasonSpecChanged, "the spec has changed"}), want: one(false, "SparkApplicationInvalidating", "Rerun", "SparkApplication pi is stopped: the spec has changed")},
		"Suspending":      {reason: "the Kubeflow operator's reason", from: ran(Running), to: ran(Suspending), want: one(false, "SparkApplicationSuspending", "Suspend", "SparkApplication pi is suspending")},
		"SuspendedNow":    {reason: "once, not at every look", from: ran(Suspending), to: ran(Suspended), want: one(false, "SparkApplicationSuspended", "Suspend", "SparkApplication pi is suspended")},
		"StaysSuspended":  {reason: "once, not at every look", from: ran(Suspended), to: ran(Suspended)},
		"Resuming":        {reason: "the Kubeflow operator's reason", from: ran(Suspended), to: again(Resuming), want: one(false, "SparkApplicationResuming", "Resume", "SparkApplication pi is resuming")},
		"Invalid":         {reason: "a spec that cannot run fails without having run", to: rejected(), want: one(true, "SparkApplicationFailed", "Complete", "SparkApplication pi failed: "+causeOf(reject).Message)},
		"Refused":         {reason: "the API server's words", to: at(refusedFirst(), refusal), want: one(true, "SparkApplicationSubmissionFailed", "Submit", "failed to submit SparkApplication pi: "+refusal.Message)},
		"RefusedForGood":  {reason: "the outcome", from: at(refusedFirst(), refusal), to: at(rejected(), refusal), want: one(true, "SparkApplicationFailed", "Complete", "SparkApplication pi failed: "+refusal.Message)},
		"Waiting":         {reason: "why it does not start", to: at(queued(), quota), want: one(true, "SparkApplicationWaiting", "Submit", quota.Message)},
		"SuspendedBefore": {reason: "what the user asked for is no warning", to: at(queued(), Cause{ReasonSuspended, "spec.suspend is true"}), want: one(false, "SparkApplicationWaiting", "Submit", "spec.suspend is true")},
		"Predecessor":     {reason: "case 018: it passes by itself", to: at(queued(), Cause{ReasonPreviousApplication, "a"}), want: one(false, "SparkApplicationWaiting", "Submit", "a")},
		"OtherWait":       {reason: "a new reason is news", from: queued(), to: at(queued(), quota), want: one(true, "SparkApplicationWaiting", "Submit", quota.Message)},
		"Admitted":        {reason: "the scheduler has let it start: nothing is waited for", from: at(queued(), quota), to: at(queued(), Cause{ReasonAdmitted, "there is room"})},
		"SameWait":        {reason: "other numbers in the sentence are no news", from: at(queued(), quota), to: at(queued(), Cause{ReasonQuotaExceeded, "exceeded quota: team, used: 9"})},
		"Placed":          {reason: "the driver has it", from: outdated, to: reached, want: placed("for new executors")},
		"PlacedAsBefore":  {reason: "the edit was taken back", from: outdated, to: back},
		"PlacedUnasked":   {reason: "no edit was made", from: back, to: reached},
		"PlacedLater":     {reason: "it cannot reach the driver", from: outdated, to: late, want: placed("from the next attempt on: no right to it")},
		"PlacedLaterAlso": {reason: "it was reported", from: late, to: late},
		"RerunIgnored":    {reason: "who asked for a run learns that there is none", from: ran(Running), to: asked, want: one(true, "SparkApplicationRerunIgnored", "Rerun", `SparkApplication pi ignores the rerun request "soon": it is not a present time in RFC 3339`)},
		"RerunStill":      {reason: "it was reported", from: asked, to: asked},
		"RerunTakenBack":  {reason: "nothing is asked for any more", from: asked, to: ran(Running)},
		"FailedOfUser":    {reason: "whoever looks for refusals finds out whose they were", from: ran(Failing), to: whose, want: one(true, "SparkApplicationFailed", "Complete", "SparkApplication pi of user alice failed: "+failure.Message)},
		"SameFailure":     {reason: "an outcome is reported once", from: ran(Failed), to: ran(Failed)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Events("SparkApplication", "pi", tc.from, tc.to)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// created2 is the record of a second attempt that has got its driver.
func created2() Record {
	app := testApp()
	app.SubmissionID, app.SparkAppID = "s-2", "spark-2"
	return submitted(again(Rerunning), app, false, later)
}

// However much is wrong, it is stored and read back whole.
func TestToldIsBounded(t *testing.T) {
	all := []Cause{{ReasonExposureForbidden, strings.Repeat("x", maxCondition)}, {ReasonExposureInvalid, "y"}}
	if got := JoinCauses(all); got.Reason != ReasonExposureForbidden || len(got.Message) > maxCondition {
		t.Errorf("%s with %d bytes", got.Reason, len(got.Message))
	}
	if got := JoinCauses(nil); got != (Cause{}) {
		t.Errorf("of nothing: %v", got)
	}
}

// events.k8s.io allows 1024 bytes of note; client-go does not cut, the API server refuses the event.
func TestEventsFitTheAPI(t *testing.T) {
	long := strings.Repeat("x", 4096) // a termination message may be that long
	from, to := ran(Failing), ran(Failed)
	to.Cause.Message = long
	for _, e := range Events("SparkApplication", "pi", from, to) {
		if len(e.Message) > 1024 {
			t.Errorf("%s has a message of %d bytes: the API server takes 1024", e.Reason, len(e.Message))
		}
	}
}

// A driver that is recognized after a crash while it already runs was submitted, too.
func TestRecognizedDriverTellsItsSubmission(t *testing.T) {
	p := Decide(testApp(), Record{}, Observation{Driver: driver(Current, DriverRunning)}, scheduler.Admission{}, Env{Now: later})
	to := Settle(p, nil, Env{Now: later}).Record
	var told []string
	for _, e := range Events("SparkApplication", "pi", Record{}, to) {
		told = append(told, e.Reason)
	}
	if !strings.Contains(strings.Join(told, " "), "SparkApplicationSubmitted") {
		t.Errorf("told %v: whoever waits for SparkApplicationSubmitted waits for ever", told)
	}
}

// A driver that is recognized after its end was submitted, too.
func TestEndedDriverTellsItsSubmission(t *testing.T) {
	to := Settle(Decide(testApp(), Record{}, Observation{Driver: driver(Current, DriverSucceeded)}, scheduler.Admission{}, Env{Now: later}), nil, Env{Now: later}).Record
	if all := Events("SparkApplication", "pi", Record{}, to); len(all) != 2 || all[0].Reason != "SparkApplicationSubmitted" || all[1].Reason != "SparkDriverRunning" {
		t.Errorf("told %+v: whoever waits for SparkApplicationSubmitted waits for ever", all)
	}
}

// The kind begins the reasons and the sentences, so that an event tells what it is about. Those about drivers are the same for all.
func TestEventsNameTheKind(t *testing.T) {
	for _, to := range States() {
		of := func(kind string) []Event {
			return Events(kind, "pi", Record{}, Record{State: to, Attempt: 1, Attempts: []Attempt{{Number: 1}}, DriverName: "pi-driver"})
		}
		want := of("SparkApplication")
		for i := range want {
			want[i].Reason = strings.Replace(want[i].Reason, "SparkApplication", "Job", 1)
			want[i].Message = strings.ReplaceAll(want[i].Message, "SparkApplication", "Job")
		}
		if diff := cmp.Diff(want, of("Job")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", to, diff)
		}
	}
}
