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

package lifecycle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEvents(t *testing.T) {
	at := func(s State, c Cause) Record {
		r := Record{State: s, Attempt: 1, DriverName: "pi-driver", Cause: c}
		if r.Started() && c != reject.Cause && c.Reason != ReasonSubmissionRefused {
			r.Executions = 1
		}
		return r
	}
	quota := Cause{ReasonQuotaExceeded, "exceeded quota: team"}
	failure := Cause{ReasonDriverFailed, "driver container failed with ExitCode: 1, Reason: Error"}
	refusal := Cause{ReasonSubmissionRefused, `serviceaccount "spark" not found`}
	cases := map[string]struct {
		reason   string
		from, to Record
		want     []Event
	}{
		"Submitted":      {reason: "the incumbent's reason and words", from: at(New, Cause{}), to: at(Submitted, Cause{}), want: []Event{{Reason: "SparkApplicationSubmitted", Action: "Submit", Message: "SparkApplication pi was submitted: driver pod pi-driver was created"}}},
		"SubmittedLater": {reason: "the same after waiting", from: at(Queued, quota), to: at(Submitted, Cause{}), want: []Event{{Reason: "SparkApplicationSubmitted", Action: "Submit", Message: "SparkApplication pi was submitted: driver pod pi-driver was created"}}},
		"Running":        {reason: "the driver's start", from: at(Submitted, Cause{}), to: at(Running, Cause{}), want: []Event{{Reason: "SparkDriverRunning", Action: "Observe", Message: "Driver pi-driver is running"}}},
		"FellBack":       {reason: "a pod that is pending again is no second submission", from: at(Running, Cause{}), to: at(Submitted, Cause{})},
		"Completed":      {reason: "one event for the outcome", from: at(Succeeding, Cause{}), to: at(Succeeded, Cause{}), want: []Event{{Reason: "SparkApplicationCompleted", Action: "Complete", Message: "SparkApplication pi completed"}}},
		"Ending":         {reason: "nothing is concluded yet", from: at(Running, Cause{}), to: at(Succeeding, Cause{})},
		"EndingBadly":    {reason: "nothing is concluded yet", from: at(Running, Cause{}), to: at(Failing, failure)},
		"Failed":         {reason: "the outcome with its cause", from: at(Failing, failure), to: at(Failed, failure), want: []Event{{Warning: true, Reason: "SparkApplicationFailed", Action: "Complete", Message: "SparkApplication pi failed: " + failure.Message}}},
		"Invalid":        {reason: "a spec that cannot run fails without having run", from: at(New, Cause{}), to: at(Failed, reject.Cause), want: []Event{{Warning: true, Reason: "SparkApplicationFailed", Action: "Complete", Message: "SparkApplication pi failed: " + reject.Cause.Message}}},
		"Refused":        {reason: "the API server's words", from: at(New, Cause{}), to: at(SubmissionFailed, refusal), want: []Event{{Warning: true, Reason: "SparkApplicationSubmissionFailed", Action: "Submit", Message: "failed to submit SparkApplication pi: " + refusal.Message}}},
		"Waiting":        {reason: "why it does not start", from: at(New, Cause{}), to: at(Queued, quota), want: []Event{{Warning: true, Reason: "SparkApplicationWaiting", Action: "Submit", Message: quota.Message}}},
		"Suspended":      {reason: "what the user asked for is no warning", from: at(New, Cause{}), to: at(Queued, Cause{ReasonSuspended, "spec.suspend is true"}), want: []Event{{Reason: "SparkApplicationWaiting", Action: "Submit", Message: "spec.suspend is true"}}},
		"OtherWait":      {reason: "a new reason is news", from: at(Queued, hold.Cause), to: at(Queued, quota), want: []Event{{Warning: true, Reason: "SparkApplicationWaiting", Action: "Submit", Message: quota.Message}}},
		"SameWait":       {reason: "other numbers in the sentence are no news", from: at(Queued, quota), to: at(Queued, Cause{ReasonQuotaExceeded, "exceeded quota: team, used: 9"})},
		"SameFailure":    {reason: "an outcome is told once", from: at(Failed, failure), to: at(Failed, failure)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Events("pi", tc.from, tc.to)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Over every decision of the small world: a reconcile tells at most one thing (a driver that is recognised late was
// submitted and does something already), with all its words, and nothing at all when the record stays as it was.
func TestEventsOverTheDomain(t *testing.T) {
	told := 0
	domain(func(name string, app Application, rec Record, obs Observation, gate Gate) {
		p := Decide(app, rec, obs, gate, Env{Now: later})
		var results []Result
		for _, a := range p.Actions {
			results = append(results, Result{Kind: a.Kind, Class: ClassDone})
		}
		to := Settle(p, results, Env{Now: later}).Record
		all := Events("pi", rec, to)
		told += len(all)
		if len(all) > 2 || len(all) == 2 && all[0].Reason != "SparkApplicationSubmitted" {
			t.Errorf("%s: %d events for one reconcile", name, len(all))
		}
		for _, e := range all {
			if e.Reason == "" || e.Action == "" || e.Message == "" || strings.ContainsAny(e.Reason, " .:") {
				t.Errorf("%s: an event needs a one-word reason, an action and a sentence: %+v", name, e)
			}
		}
		if again := Events("pi", to, to); len(again) != 0 {
			t.Errorf("%s: told again without a transition: %+v", name, again)
		}
	})
	if told == 0 {
		t.Error("no decision of the whole domain told anything")
	}
}
