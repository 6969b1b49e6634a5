// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// harness is one application whose status is what the operator's own code makes of what happens to it.
type harness struct {
	t   *testing.T
	o   *v1beta2.SparkApplication
	now time.Time
	// says is the batch scheduler's answer, if it is not that of plain Kubernetes.
	says *scheduler.Admission
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	w := &harness{t: t, now: start, o: testutil.Pi(testutil.Executors(2))}
	w.o.CreationTimestamp = metav1.NewTime(start)
	return w
}

func (w *harness) pass(d time.Duration) { w.now = w.now.Add(d) }

func (w *harness) edit(change func(*v1beta2.SparkApplicationSpec)) {
	change(&w.o.Spec)
	w.o.Generation++
}

func (w *harness) scope() resolve.Application {
	return resolve.Load(kubeflow.SparkApplications{}, w.o, kubeflow.FromStatus(&w.o.Status), resolve.Operator{}, w.now)
}

// admission asks for the verdict where the operator would.
func (w *harness) admission(s resolve.Application, d lifecycle.Driver) scheduler.Admission {
	w.t.Helper()
	if !lifecycle.NeedsAdmission(s.Desired, s.Record, d, lifecycle.Env{Now: w.now}) {
		return scheduler.Admission{}
	}
	if w.says != nil {
		return *w.says
	}
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		w.t.Fatal(err)
	}
	candidate, answer := admission.NewCandidate(s, registry, nil)
	if candidate == nil {
		return answer.Admission
	}
	return candidate.Admit(scheduler.Snapshot{}).Admission
}

// sees lets the operator reconcile what is seen. Every action is done, but for a submission that answer refuses.
func (w *harness) sees(obs lifecycle.Observation, answer ...lifecycle.Result) {
	w.t.Helper()
	s, env := w.scope(), lifecycle.Env{Now: w.now}
	plan := lifecycle.Decide(s.Desired, s.Record, obs, w.admission(s, obs.Driver), env)
	var results []lifecycle.Result
	for _, a := range plan.Actions {
		r := lifecycle.Result{Kind: a.Kind, Class: lifecycle.ClassDone}
		if (a.Kind == lifecycle.Submit || a.Kind == lifecycle.TryExecutor) && len(answer) > 0 {
			r.Class, r.Message = answer[0].Class, answer[0].Message
		}
		results = append(results, r)
	}
	outcome := lifecycle.Settle(plan, results, env)
	if outcome.Err != nil {
		w.t.Fatal(outcome.Err)
	}
	w.o.Status = kubeflow.ToStatus(&w.o.Status, outcome, w.now)
}

func (w *harness) explain(obs lifecycle.Observation, change ...func(*Input)) Report {
	w.t.Helper()
	s := w.scope()
	in := Input{
		Object: w.o, Typed: "sparkapp/" + w.o.Name, Conditions: w.o.Status.Conditions,
		Scope: s, Observed: obs, Admission: w.admission(s, obs.Driver), Now: w.now,
	}
	for _, c := range change {
		c(&in)
	}
	return Explain(in)
}

// absent is a driver that does not exist.
func absent() lifecycle.Observation {
	return lifecycle.Observation{Driver: lifecycle.Driver{Presence: lifecycle.Absent, Name: "pi-driver"}}
}

// pod is the current attempt's driver, created now.
func (w *harness) pod(phase lifecycle.DriverPhase, changes ...func(*lifecycle.Driver)) lifecycle.Observation {
	d := lifecycle.Driver{
		Presence: lifecycle.Present, Ownership: lifecycle.Current, Name: "pi-driver", UID: "u1", Phase: phase,
		SubmissionID: w.o.Status.SubmissionID, CreatedAt: start,
	}
	for _, c := range changes {
		c(&d)
	}
	return lifecycle.Observation{Driver: d}
}

// ended is the current attempt's driver with exit code 1.
func (w *harness) ended(changes ...func(*lifecycle.Driver)) lifecycle.Observation {
	return w.pod(lifecycle.DriverFailed, append(changes, func(d *lifecycle.Driver) {
		d.CreatedAt, d.ScheduledAt, d.StartedAt, d.Exit = start, start.Add(time.Second), start.Add(2*time.Second), boom
	})...)
}

// submitted brings the application to a driver pod, and running to a running driver.
func (w *harness) submitted() lifecycle.Observation {
	w.sees(absent())
	w.pass(2 * time.Second)
	return w.pod(lifecycle.DriverPending)
}

func (w *harness) running(executors ...lifecycle.Executor) lifecycle.Observation {
	obs := w.submitted()
	d := &obs.Driver
	d.Phase, d.ScheduledAt, d.StartedAt = lifecycle.DriverRunning, w.now.Add(time.Second), w.now.Add(3*time.Second)
	w.pass(4 * time.Second)
	obs.Executors = executors
	w.sees(obs)
	return obs
}

// exits ends a running driver.
func exits(obs lifecycle.Observation, e lifecycle.Exit, log string) lifecycle.Observation {
	obs.Driver.Phase, obs.Driver.Exit, obs.Driver.LogTail = lifecycle.DriverFailed, e, log
	return obs
}

func executor(name string, state lifecycle.ExecutorState) lifecycle.Executor {
	return lifecycle.Executor{Name: name, State: state}
}

func suspend(s *v1beta2.SparkApplicationSpec) { s.Suspend = ptr.To(true) }

func retrying(s *v1beta2.SparkApplicationSpec) {
	s.RestartPolicy = v1beta2.RestartPolicy{Application: &v1beta2.ApplicationRule{RetryRule: v1beta2.RetryRule{
		Retries: 3, Backoff: &v1beta2.Backoff{Initial: &metav1.Duration{Duration: time.Minute}},
	}}}
}
