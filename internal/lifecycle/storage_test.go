// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/domain"
)

// What is stored is read back as it was, in every state: decisions rest on nothing else. The mark of an attempt that has
// no driver is not stored; it follows from the attempt's number.
func TestRecordsSurviveTheirStorage(t *testing.T) {
	checked, element := 0, 0
	for _, state := range lifecycle.States() {
		domain.Each(state, func(e *domain.Element) {
			if element++; e.App.Deleting || element%13 != 0 {
				return // storing takes long, and the domain repeats itself in what is stored
			}
			gates := domain.Admissions()[:1]
			if lifecycle.NeedsAdmission(e.App, e.Record, e.Observation.Driver, e.Env) {
				gates = domain.Admissions()[1:]
			}
			for _, gate := range gates {
				plan := lifecycle.Decide(e.App, e.Record, e.Observation, gate, e.Env)
				var results []lifecycle.Result
				for _, a := range plan.Actions {
					results = append(results, result(a, lifecycle.ClassDone))
				}
				o := lifecycle.Settle(plan, results, e.Env)
				status := kubeflow.ToStatus(&v1beta2.SparkApplicationStatus{}, o, e.Env.Now)
				got, want := kubeflow.FromStatus(&status), o.Record
				if want.State.Starting() || want.Current() == nil {
					want.SubmissionID = ""
				}
				if checked++; !sameRecord(&got, &want) {
					t.Errorf("%s, gate %q: stored was\n%+v\nand read back\n%+v", e, gate.Verdict, want, got)
				}
				if again := kubeflow.ToStatus(&status, lifecycle.Outcome{Record: got, Conditions: o.Conditions}, e.Env.Now); again.AppState != status.AppState {
					t.Errorf("%s: %+v is stored again as %+v", e, status.AppState, again.AppState)
				}
			}
			if t.Failed() {
				t.FailNow()
			}
		})
	}
	if checked < 10_000 {
		t.Errorf("only %d outcomes checked", checked)
	}
}

// Whatever happened to it, the object stays below 20 KiB beside its live executors: ten failed attempts with long logs, thousands of
// executors with long names, and the longest sentences. A live one takes its name and a few bytes, and there are at most a
// thousand of them, so that it stays below 100 KiB in all.
func TestStatusIsBounded(t *testing.T) {
	long := strings.Repeat("x", 4096)
	m := newModel(lifecycle.Restart{Type: lifecycle.Always, Failures: lifecycle.RetryPolicy{Initial: time.Second, Max: time.Minute}})
	rec := m.play(t, func(n int) lifecycle.Driver {
		d := exited("1", 1)
		d.Exit.Message, d.LogTail = long, strings.Repeat(long[:100]+"\n", 200)
		return d
	}, done)
	for rec.State != lifecycle.Running {
		rec = m.look(lifecycle.ClassDone)
	}
	var all []lifecycle.Executor
	for i := range 3000 {
		e := lifecycle.Executor{Name: fmt.Sprintf("%s-0123456789abcdef-exec-%d", long[:36], i+1), State: lifecycle.ExecutorRunning}
		if i%3 == 0 {
			e.State, e.Reason = lifecycle.ExecutorFailed, "UnexpectedAdmissionError"
		}
		all = append(all, e)
	}
	m.driver.Ownership = lifecycle.Current
	lives, ended := m.driver, m.driver
	ended.Phase, ended.Exit, ended.LogTail = lifecycle.DriverFailed, lifecycle.Exit{Code: 1, Reason: "Error", Message: long}, long
	for _, tc := range []struct {
		name   string
		driver lifecycle.Driver
		seen   []lifecycle.Executor
		live   int
		most   int
	}{
		{"Live", lives, all, 1000, 100 << 10},
		{"Dying", ended, all, 1000, 100 << 10},
		{"Gone", ended, nil, 0, 20 << 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			env := lifecycle.Env{Now: m.now}
			before := rec
			if tc.live == 0 {
				before = lifecycle.Decide(m.app, rec, lifecycle.Observation{Driver: lives, Executors: all}, scheduler.Admission{}, env).Record
			}
			o := lifecycle.Settle(lifecycle.Decide(m.app, before, lifecycle.Observation{Driver: tc.driver, Executors: tc.seen}, scheduler.Admission{}, env), nil, env)
			status := kubeflow.ToStatus(&m.status, o, env.Now)
			live := 0
			for _, state := range status.ExecutorState {
				if state == v1beta2.ExecutorStateRunning {
					live++
				}
			}
			size := stored(t, status)
			t.Logf("%d bytes, %d executors shown, %d of them live", size, len(status.ExecutorState), live)
			if len(status.Attempts) != 10 || len(status.ExecutorState) <= live || live != tc.live {
				t.Errorf("not the worst: %d attempts, %d executors, %d of them live", len(status.Attempts), len(status.ExecutorState), live)
			}
			if size > tc.most {
				t.Errorf("the status takes %d bytes of the object, want less than %d", size, tc.most)
			}
			status.ExecutorState = nil
			if rest := stored(t, status); rest > 14<<10 {
				t.Errorf("%d bytes beside the executors", rest)
			}
		})
	}
}

func stored(t *testing.T, status v1beta2.SparkApplicationStatus) int {
	t.Helper()
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}
