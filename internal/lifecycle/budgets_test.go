// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// model is a small cluster of one application whose drivers do what a script says: time jumps to the next look, and the
// status is stored as the API server stores it.
type model struct {
	now    time.Time
	app    lifecycle.Application
	status v1beta2.SparkApplicationStatus
	driver lifecycle.Driver
	// submits counts what the API server was asked, drivers what it created.
	submits, drivers int
	writes           int
}

func newModel(restart lifecycle.Restart) *model {
	app := storyApp()
	app.Policies.Restart = restart
	return &model{now: storyStart, app: app, driver: absent}
}

// look is one reconcile. The API server answers a submission with class.
func (m *model) look(class lifecycle.Class) lifecycle.Record {
	env := lifecycle.Env{Now: m.now}
	rec := kubeflow.FromStatus(&m.status)
	m.app.SubmissionID = fmt.Sprintf("s-%d", max(1, rec.Attempt))
	if rec.SubmissionID != "" {
		m.app.SubmissionID = rec.SubmissionID
	}
	if m.driver.Presence == lifecycle.Present {
		if m.driver.Ownership = lifecycle.Previous; m.driver.SubmissionID == m.app.SubmissionID {
			m.driver.Ownership = lifecycle.Current
		}
	}
	gate := scheduler.Admission{}
	if lifecycle.NeedsAdmission(m.app, rec, m.driver, env) {
		gate = admitted
	}
	plan := lifecycle.Decide(m.app, rec, lifecycle.Observation{Driver: m.driver}, gate, env)
	var results []lifecycle.Result
	for _, a := range plan.Actions {
		r := lifecycle.Result{Kind: a.Kind, Class: lifecycle.ClassDone}
		switch a.Kind {
		case lifecycle.Submit:
			if r.Class = class; class != lifecycle.ClassDone {
				r.Message = strings.Repeat("a long refusal; ", 100)
			}
			m.submits++
			if class == lifecycle.ClassDone {
				m.drivers++
				m.driver = pod(m.app.SubmissionID[2:], lifecycle.DriverRunning)
				m.driver.CreatedAt, m.driver.StartedAt = m.now, m.now
			}
		case lifecycle.DeleteDriver:
			m.driver = absent
		case lifecycle.DeleteResources, lifecycle.DeleteApplication, lifecycle.Schedule, lifecycle.Release, lifecycle.UpdateTemplate, lifecycle.RemoveFinalizer,
			lifecycle.Restore, lifecycle.Adjust, lifecycle.TryExecutor:
		}
		results = append(results, r)
	}
	o := lifecycle.Settle(plan, results, env)
	next := kubeflow.ToStatus(&m.status, o, m.now)
	if !equality.Semantic.DeepEqual(m.status, next) {
		m.writes++
	}
	m.status = next
	m.now = m.now.Add(max(o.Requeue, time.Second) + 300*time.Millisecond) // never on a full second
	return kubeflow.FromStatus(&m.status)
}

// play runs the application until it is over, or has had more drivers or submissions than any budget allows.
func (m *model) play(t *testing.T, end func(attempt int) lifecycle.Driver, class func(submit int) lifecycle.Class) lifecycle.Record {
	t.Helper()
	var rec lifecycle.Record
	for range 400 {
		rec = m.look(class(m.submits + 1))
		if rec.State.Final() || m.submits > 30 {
			return rec
		}
		if m.driver.Presence == lifecycle.Present && m.driver.Phase == lifecycle.DriverRunning && m.driver.SubmissionID == rec.SubmissionID && rec.State == lifecycle.Running {
			ended := end(m.drivers)
			ended.UID, ended.SubmissionID, ended.CreatedAt, ended.StartedAt = m.driver.UID, m.driver.SubmissionID, m.driver.CreatedAt, m.driver.StartedAt
			m.driver = ended
		}
	}
	t.Fatalf("it does not end: %s, attempt %d", rec.State, rec.Attempt)
	return rec
}

func done(int) lifecycle.Class { return lifecycle.ClassDone }

// In any sequence of failures an application has as many attempts as its policy says: retries + 1 of each budget.
func TestBudgetsBoundTheAttempts(t *testing.T) {
	ends := map[byte]func() lifecycle.Driver{
		'A': func() lifecycle.Driver { return exited("1", 1) },
		'O': func() lifecycle.Driver { return exited("1", 137) },
		'I': func() lifecycle.Driver { return evicted("1") },
	}
	rule := func(n int32) lifecycle.RetryPolicy {
		return lifecycle.RetryPolicy{Retries: n, Initial: 20 * time.Second, Max: time.Hour, Linear: true}
	}
	own := map[lifecycle.FailureClass]lifecycle.RetryPolicy{lifecycle.Infrastructure: {Retries: 3, Initial: time.Second, Max: time.Minute}}
	histories := 0
	for _, retries := range []int32{0, 1, 2} {
		for name, restart := range map[string]lifecycle.Restart{
			"Never":     {Type: lifecycle.Never, Failures: rule(retries)},
			"OnFailure": {Type: lifecycle.OnFailure, Failures: rule(retries)},
			"by class":  {Type: lifecycle.OnFailure, Failures: rule(retries), Classes: own},
		} {
			for n := range 3 * 3 * 3 * 3 * 3 { // all sequences of five failures
				script := ""
				for ; len(script) < 5; n /= 3 {
					script += string("AOI"[n%3])
				}
				want := attempts(restart, script)
				m := newModel(restart)
				rec := m.play(t, func(attempt int) lifecycle.Driver { return ends[script[min(attempt, len(script))-1]]() }, done)
				if histories++; m.drivers != want || rec.State != lifecycle.Failed || int(rec.Executions) != want || int(rec.Submissions) != want {
					t.Errorf("%s with %d retries, failures %s: %d drivers, recorded %d/%d, %s; want %d", name, retries, script, m.drivers, rec.Executions, rec.Submissions, rec.State, want)
				}
				if budget := 4 * want; m.writes > budget { // SUBMITTED, RUNNING, FAILING, and PENDING_RERUN or FAILED
					t.Errorf("%s with %d retries, failures %s: %d status writes for %d attempts, want at most %d", name, retries, script, m.writes, want, budget)
				}
			}
		}
	}
	t.Logf("%d histories", histories)
}

// attempts is the truth about budgets, counted in the simplest way.
func attempts(r lifecycle.Restart, script string) int {
	if r.Type == lifecycle.Never {
		return 1
	}
	shared, own := r.Failures.Retries, int32(0)
	if rule, ok := r.Classes[lifecycle.Infrastructure]; ok {
		own = rule.Retries
	}
	for i := range script {
		budget := &shared
		if _, ok := r.Classes[lifecycle.Infrastructure]; ok && script[i] == 'I' {
			budget = &own
		}
		if *budget == 0 {
			return i + 1
		}
		*budget--
	}
	return len(script) + 1 // the last failure repeats itself, and the budgets are used up
}

// Refused submissions have a budget of their own: retries + 1 in a row of refusals, whatever lies between them.
func TestSubmissionBudget(t *testing.T) {
	for retries := range int32(4) {
		restart := lifecycle.Restart{Type: lifecycle.OnFailure, Submissions: lifecycle.RetryPolicy{Retries: retries, Initial: time.Second, Max: time.Hour, Linear: true}}
		refused := newModel(restart)
		rec := refused.play(t, nil, func(int) lifecycle.Class { return lifecycle.ClassRefused })
		if refused.submits != int(retries)+1 || rec.State != lifecycle.Failed || rec.Submissions != retries+1 || rec.Executions != 0 {
			t.Errorf("%d retries: %d submissions, recorded %d/%d, %s", retries, refused.submits, rec.Submissions, rec.Executions, rec.State)
		}
		if most := int(retries) + 2; refused.writes > most { // each refusal, and FAILED
			t.Errorf("%d retries: %d status writes, want at most %d", retries, refused.writes, most)
		}
		heals := newModel(restart)
		rec = heals.play(t, func(int) lifecycle.Driver { return completed("1") }, func(n int) lifecycle.Class {
			if n <= int(retries) {
				return lifecycle.ClassRefused
			}
			return lifecycle.ClassDone
		})
		if heals.drivers != 1 || rec.State != lifecycle.Succeeded || rec.Submissions != retries+1 || rec.Executions != 1 {
			t.Errorf("%d retries, healed: %d drivers, recorded %d/%d, %s", retries, heals.drivers, rec.Submissions, rec.Executions, rec.State)
		}
	}
}

// Waits for quota and for policies are no submissions, however many, and write their reason once.
func TestWaitsWriteOnce(t *testing.T) {
	for _, class := range []lifecycle.Class{lifecycle.ClassQuota, lifecycle.ClassOperatorForbidden, lifecycle.ClassTerminating, lifecycle.ClassNameTaken, lifecycle.ClassPolicy} {
		m := newModel(lifecycle.Restart{Type: lifecycle.Never})
		for range 5 {
			m.look(class)
		}
		if m.writes != 1 || m.submits != 5 || m.status.SubmissionAttempts != 0 {
			t.Errorf("%s: %d status writes for %d tries, %d counted", class, m.writes, m.submits, m.status.SubmissionAttempts)
		}
	}
}

// With restart policy Always there is no end, and the waits keep it from spinning.
func TestAlwaysGoesOn(t *testing.T) {
	m := newModel(lifecycle.Restart{Type: lifecycle.Always, Failures: lifecycle.RetryPolicy{Initial: 20 * time.Second, Max: time.Minute, Linear: true}})
	if rec := m.play(t, func(n int) lifecycle.Driver {
		if n%2 == 0 {
			return completed("1")
		}
		return exited("1", 1)
	}, done); rec.State.Final() || m.drivers < 30 || m.now.Sub(storyStart) < 30*20*time.Second {
		t.Errorf("after %s and %d drivers it is %s", m.now.Sub(storyStart), m.drivers, rec.State)
	}
}
