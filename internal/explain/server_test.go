// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// serverHarness is one server whose status is what the operator's own code makes of what happens to it.
type serverHarness struct {
	t   *testing.T
	o   *v1alpha1.SparkConnect
	now time.Time
}

func newServerHarness(t *testing.T) *serverHarness {
	t.Helper()
	return &serverHarness{t: t, now: start, o: &v1alpha1.SparkConnect{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "nb", UID: testutil.UID, Generation: 1, CreationTimestamp: metav1.NewTime(start)},
		Spec: v1alpha1.SparkConnectSpec{
			SparkVersion: testutil.SparkVersion, Image: ptr.To("spark:" + testutil.SparkVersion), IdleTimeout: &metav1.Duration{Duration: time.Hour},
			Executor: v1alpha1.ExecutorSpec{Instances: ptr.To[int32](1)},
		},
	}}
}

func (w *serverHarness) scope() resolve.Application {
	return resolve.Load(kubeflow.SparkConnects{}, w.o, kubeflow.SparkConnects{}.FromStatus(w.o), resolve.Operator{}, w.now)
}

// sees lets the operator reconcile what is seen, after a while. Every action is done, and every scheduler admits.
func (w *serverHarness) sees(after time.Duration, obs lifecycle.Observation) {
	w.t.Helper()
	w.now = w.now.Add(after)
	s, env := w.scope(), lifecycle.Env{Now: w.now}
	plan := lifecycle.Decide(s.Desired, s.Record, obs, w.admission(s, obs.Driver), env)
	var results []lifecycle.Result
	for _, a := range plan.Actions {
		results = append(results, lifecycle.Result{Kind: a.Kind, Class: lifecycle.ClassDone})
	}
	outcome := lifecycle.Settle(plan, results, env)
	if outcome.Err != nil {
		w.t.Fatal(outcome.Err)
	}
	w.o, _ = kubeflow.SparkConnects{}.ToStatus(w.o, outcome, w.now)
}

func (w *serverHarness) explain(after time.Duration, obs lifecycle.Observation) Report {
	w.t.Helper()
	w.now = w.now.Add(after)
	s := w.scope()
	return Explain(Input{
		Object: w.o, Typed: "sparkconn/" + w.o.Name, Conditions: w.o.Status.Conditions, State: string(w.o.Status.State), Scope: s, Observed: obs, Now: w.now, Admission: w.admission(s, obs.Driver),
	})
}

// admission is what plain Kubernetes says.
func (w *serverHarness) admission(s resolve.Application, d lifecycle.Driver) scheduler.Admission {
	w.t.Helper()
	return (&harness{t: w.t, now: w.now}).admission(s, d)
}

// noServer is a server pod that does not exist.
func noServer() lifecycle.Observation {
	return lifecycle.Observation{Driver: lifecycle.Driver{Presence: lifecycle.Absent, Name: "nb-server"}}
}

// pod is the server's, which began when the harness did.
func (w *serverHarness) pod(ready bool, sessions lifecycle.Sessions) lifecycle.Observation {
	return lifecycle.Observation{
		Driver: lifecycle.Driver{
			Presence: lifecycle.Present, Ownership: lifecycle.Current, Name: "nb-server", UID: "u1", Phase: lifecycle.DriverRunning, Ready: ready, PodIP: "10.0.0.1",
			SubmissionID: w.scope().Identity.SubmissionID, CreatedAt: start, ScheduledAt: start, StartedAt: start.Add(time.Second),
		},
		Executors: []lifecycle.Executor{executor("nb-exec-1", lifecycle.ExecutorRunning)},
		Sessions:  sessions,
	}
}

// ready brings a server to its clients.
func (w *serverHarness) ready() {
	w.t.Helper()
	w.sees(0, noServer())
	w.sees(2*time.Second, w.pod(false, lifecycle.Sessions{}))
	w.sees(20*time.Second, w.pod(true, lifecycle.Sessions{}))
}

// said is what a server says of its sessions, which executed something for the last time a while ago.
func (w *serverHarness) said(open, executing int32, ago time.Duration) lifecycle.Sessions {
	return lifecycle.Sessions{At: w.now, Known: true, Open: open, Executing: executing, LastExecution: w.now.Add(-ago)}
}

// servers are what a user may ask about. Each is a golden text of its name.
func servers() map[string]func(*serverHarness) Report {
	return map[string]func(*serverHarness) Report{
		"starting": func(w *serverHarness) Report {
			w.sees(0, noServer())
			w.sees(2*time.Second, w.pod(false, lifecycle.Sessions{}))
			return w.explain(8*time.Second, w.pod(false, lifecycle.Sessions{}))
		},
		"ready": func(w *serverHarness) Report {
			w.ready()
			w.sees(10*time.Minute, w.pod(true, w.said(2, 1, 0)))
			return w.explain(time.Minute, w.pod(true, w.said(2, 0, 30*time.Second)))
		},
		"sessions-unknown": func(w *serverHarness) Report {
			w.ready()
			unknown := lifecycle.Sessions{At: w.now.Add(10 * time.Minute), Problem: "Spark's UI on port 4040 accepts no connections"}
			w.sees(10*time.Minute, w.pod(true, unknown))
			return w.explain(time.Minute, w.pod(true, unknown))
		},
		"draining": func(w *serverHarness) Report {
			w.ready()
			w.o.Spec.Executor.Instances, w.o.Generation = ptr.To[int32](3), 2
			w.sees(10*time.Minute, w.pod(true, w.said(2, 1, 0)))
			return w.explain(3*time.Minute, w.pod(true, w.said(1, 0, time.Minute)))
		},
		"being-stopped-idle": func(w *serverHarness) Report {
			w.ready()
			w.sees(2*time.Hour, w.pod(true, w.said(1, 0, 90*time.Minute)))
			return w.explain(time.Second, w.pod(true, lifecycle.Sessions{}))
		},
		"idle": func(w *serverHarness) Report {
			w.ready()
			w.sees(2*time.Hour, w.pod(true, w.said(1, 0, 90*time.Minute)))
			w.sees(time.Second, w.pod(true, lifecycle.Sessions{}))
			w.sees(time.Second, noServer())
			return w.explain(5*time.Hour, noServer())
		},
		"suspended": func(w *serverHarness) Report {
			w.ready()
			w.o.Spec.Suspend, w.o.Generation = ptr.To(true), 2
			w.sees(time.Minute, w.pod(true, lifecycle.Sessions{}))
			w.sees(time.Second, noServer())
			return w.explain(time.Hour, noServer())
		},
		"failed": func(w *serverHarness) Report {
			w.ready()
			obs := w.pod(false, lifecycle.Sessions{})
			obs.Driver.Phase, obs.Driver.Exit, obs.Driver.LogTail = lifecycle.DriverFailed, boom, logText
			w.sees(time.Minute, obs)
			return w.explain(2*time.Second, obs)
		},
	}
}

func TestServers(t *testing.T) {
	all := servers()
	for name, situation := range all {
		t.Run(name, func(t *testing.T) {
			r := situation(newServerHarness(t))
			if r.Summary == "" || r.Decision.Sentence == "" || r.Server == nil {
				t.Errorf("something is not said: %+v", r)
			}
			testutil.Golden(t, "testdata/servers/"+name+".txt", r.Text())
		})
	}
	testutil.NoStaleGolden(t, "testdata/servers/*.txt", all)
}
