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
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const words = `pods "pi-driver" is forbidden: the API server's words`

func TestSettleSubmit(t *testing.T) {
	fresh := Record{Attempt: 1, Generation: 3}
	queued := Record{Attempt: 1, Generation: 3, State: Queued, Cause: hold.Cause}
	cases := map[string]struct {
		reason  string
		record  Record
		class   Class
		want    Record
		requeue time.Duration
		err     bool
	}{
		"Done": {
			reason: "a created driver is counted once and has its time", record: fresh, class: ClassDone, requeue: heartbeat,
			want: Record{State: Submitted, Attempt: 1, Generation: 3, Submissions: 1, Executions: 1, SubmittedAt: later, SparkAppID: "spark-1", DriverName: "pi-driver"},
		},
		"DoneAfterWaiting": {
			reason: "what it waited for is no cause any more", record: queued, class: ClassDone, requeue: heartbeat,
			want: Record{State: Submitted, Attempt: 1, Generation: 3, Submissions: 1, Executions: 1, SubmittedAt: later, SparkAppID: "spark-1", DriverName: "pi-driver"},
		},
		"Quota": {
			reason: "no room is a wait with the API server's words", record: fresh, class: ClassQuota, requeue: quotaRetry,
			want: Record{State: Queued, Attempt: 1, Generation: 3, Cause: Cause{ReasonQuotaExceeded, words}, DriverName: "pi-driver"},
		},
		"QuotaAgain": {
			reason: "the latest cause is the one shown", record: queued, class: ClassQuota, requeue: quotaRetry,
			want: Record{State: Queued, Attempt: 1, Generation: 3, Cause: Cause{ReasonQuotaExceeded, words}, DriverName: "pi-driver"},
		},
		"Terminating": {
			reason: "the namespace's end comes for the application too", record: fresh, class: ClassTerminating, requeue: operatorRetry,
			want: Record{State: Queued, Attempt: 1, Generation: 3, Cause: Cause{ReasonNamespaceTerminating, words}, DriverName: "pi-driver"},
		},
		"OperatorForbidden": {
			reason: "an admin can change the operator's rights", record: fresh, class: ClassOperatorForbidden, requeue: operatorRetry,
			want: Record{State: Queued, Attempt: 1, Generation: 3, Cause: Cause{ReasonOperatorForbidden, words}, DriverName: "pi-driver"},
		},
		"Refused": {
			reason: "a refusal for good is final and counts as a submission, not as an execution", record: fresh, class: ClassRefused,
			want: Record{State: SubmissionFailed, Attempt: 1, Generation: 3, Submissions: 1, Cause: Cause{ReasonSubmissionRefused, words}, SubmittedAt: later, TerminatedAt: later, DriverName: "pi-driver"},
		},
		"Transient": {
			reason: "passing trouble changes nothing but asks for a repetition", record: fresh, class: ClassTransient, requeue: heartbeat, err: true,
			want: Record{Attempt: 1, Generation: 3, DriverName: "pi-driver"},
		},
		"TransientWhileQueued": {
			reason: "what it waited for stays", record: queued, class: ClassTransient, requeue: heartbeat, err: true,
			want: Record{State: Queued, Attempt: 1, Generation: 3, Cause: hold.Cause, DriverName: "pi-driver"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Plan{App: Application{Generation: 3, SparkAppID: "spark-1"}, Record: tc.record, Driver: absent, Gate: admit, Actions: []Action{{Kind: Submit}}, Requeue: heartbeat}
			o := Settle(p, []Result{{Kind: Submit, Class: tc.class, Message: words}}, Env{Now: later})
			if diff := cmp.Diff(tc.want, o.Record); diff != "" {
				t.Errorf("%s: record (-want +got):\n%s", tc.reason, diff)
			}
			if o.Requeue != tc.requeue {
				t.Errorf("%s: requeue after %s, want %s", tc.reason, o.Requeue, tc.requeue)
			}
			if (o.Err != nil) != tc.err {
				t.Errorf("%s: error %v, want one: %v", tc.reason, o.Err, tc.err)
			}
		})
	}
}

func TestSettleNameTakenByPod(t *testing.T) {
	p := Plan{Record: Record{Attempt: 1}, Driver: absent, Gate: admit, Actions: []Action{{Kind: Submit}}}
	o := Settle(p, []Result{{Kind: Submit, Class: ClassNameTaken, Message: words}}, Env{Now: later})
	if o.Record.State != Queued || o.Record.Cause.Reason != ReasonNameConflict || o.Requeue != conflictRetry {
		t.Errorf("a name that is taken is a wait with a timer: foreign pods are not watched: %+v, requeue %s", o.Record, o.Requeue)
	}
	if !strings.Contains(o.Record.Cause.Message, "pi-driver") {
		t.Errorf("the sentence names the pod: %q", o.Record.Cause.Message)
	}
}

// The counters are the attempt's number, so that settling the same creation again, after a status write that was lost,
// counts nothing twice.
func TestSettleRepeatedCountsOnce(t *testing.T) {
	p := Plan{App: Application{SparkAppID: "spark-1"}, Record: Record{Attempt: 1}, Driver: absent, Gate: admit, Actions: []Action{{Kind: Submit}}}
	done := []Result{{Kind: Submit, Class: ClassDone}}
	once := Settle(p, done, Env{Now: now}).Record
	p.Record = once
	twice := Settle(p, done, Env{Now: now}).Record
	if diff := cmp.Diff(once, twice); diff != "" {
		t.Errorf("a repeated settlement changed the record (-once +twice):\n%s", diff)
	}
}

func TestSettleWithoutActions(t *testing.T) {
	rec := Record{State: Running, Attempt: 1, Submissions: 1, Executions: 1, SubmittedAt: now, DriverName: "pi-driver", Executors: map[string]ExecutorState{"e-1": ExecutorRunning}}
	o := Settle(Plan{Record: rec, Driver: driver(Current, DriverRunning), Requeue: heartbeat}, nil, Env{Now: later})
	if diff := cmp.Diff(rec, o.Record); diff != "" {
		t.Errorf("nothing done, yet the record changed (-want +got):\n%s", diff)
	}
	if o.Requeue != heartbeat || o.Err != nil {
		t.Errorf("requeue %s, error %v; want the plan's timer and no error", o.Requeue, o.Err)
	}
}

func TestSettleDeletion(t *testing.T) {
	rec := Record{State: Running, Attempt: 1, Submissions: 1, Executions: 1, DriverName: "pi-driver"}
	p := Decide(Application{Generation: 1, Deleting: true}, rec, Observation{Driver: driver(Current, DriverRunning)}, Gate{}, Env{Now: later})
	done := Settle(p, []Result{{Kind: DeleteDriver, Class: ClassDone}}, Env{Now: later})
	if done.Record.State != Running || done.Err != nil {
		t.Errorf("a deletion is no outcome: state %s, error %v", done.Record.State, done.Err)
	}
	trouble := Settle(p, []Result{{Kind: DeleteDriver, Class: ClassTransient, Message: "etcd leader changed"}}, Env{Now: later})
	var transient *ActionError
	if !errors.As(trouble.Err, &transient) || transient.Action != DeleteDriver {
		t.Fatalf("a deletion that met trouble is repeated: error %v", trouble.Err)
	}
	if got := trouble.Err.Error(); got != "DeleteDriver: etcd leader changed" {
		t.Errorf("the error names the action and the API server's words: %q", got)
	}
}

// The driver's name is what was looked for; where nothing was looked for, the one recorded stays.
func TestSettleDriverName(t *testing.T) {
	rec := Record{State: Queued, Attempt: 1, DriverName: "old-driver", Cause: hold.Cause}
	if got := Settle(Plan{Record: rec, Driver: absent}, nil, Env{Now: now}).Record.DriverName; got != "pi-driver" {
		t.Errorf("driver name %q, want that of the observation", got)
	}
	if got := Settle(Plan{Record: rec}, nil, Env{Now: now}).Record.DriverName; got != "old-driver" {
		t.Errorf("driver name %q, want that of the record", got)
	}
}

// The end is when it was seen, once: concluding later does not move it. A driver that was recognised after a crash was
// submitted when it was created.
func TestTimesOfARun(t *testing.T) {
	at := func(minutes int) Env { return Env{Now: now.Add(time.Duration(minutes) * time.Minute)} }
	app := Application{Generation: 1, SparkAppID: "spark-1"}
	rec := Settle(Decide(app, Record{}, Observation{Driver: driver(Current, DriverRunning)}, Gate{}, at(1)), nil, at(1)).Record
	if !rec.SubmittedAt.Equal(now) || !rec.TerminatedAt.IsZero() || rec.SparkAppID != "spark-1" {
		t.Errorf("recognised: %+v, want it submitted when the pod was created", rec)
	}
	for name, d := range map[string]Driver{"success": driver(Current, DriverSucceeded), "failure": failedDriver(1), "loss": absent} {
		ending := Decide(app, rec, Observation{Driver: d}, Gate{}, at(2)).Record
		concluded := Decide(app, ending, Observation{Driver: d}, Gate{}, at(3)).Record
		if !ending.TerminatedAt.Equal(at(2).Now) || !concluded.TerminatedAt.Equal(at(2).Now) || !concluded.State.Final() {
			t.Errorf("%s: ended at %s, concluded as %s with %s", name, ending.TerminatedAt, concluded.State, concluded.TerminatedAt)
		}
	}
}
