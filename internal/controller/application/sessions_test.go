// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// A server is asked when something depends on its answer, and not more often than it has to.
func TestServersAreAskedNowAndThen(t *testing.T) {
	asked, said := 0, lifecycle.Sessions{Known: true, Open: 1, Executing: 1}
	e := &Engine[*v1alpha1.SparkConnect]{
		Sessions: func(_ context.Context, ip string, port int32, started time.Time) lifecycle.Sessions {
			if asked++; ip != "10.0.0.1" || port != 4040 || !started.Equal(start) {
				t.Errorf("asked on %s, port %d, started %s", ip, port, started)
			}
			return said
		},
	}
	o := &v1alpha1.SparkConnect{}
	o.Namespace, o.Name = "jobs", "lab"
	driver := lifecycle.Driver{
		Presence: lifecycle.Present, Ownership: lifecycle.Current, UID: "one", Phase: lifecycle.DriverRunning, Ready: true, PodIP: "10.0.0.1", UIPort: 4040, StartedAt: start,
	}
	steps := []struct {
		reason string
		at     time.Duration
		change func(*scope[*v1alpha1.SparkConnect])
		want   int
	}{
		{"the first look", 0, nil, 1},
		{"an executor has come", time.Minute, nil, 1},
		{"a tenth of the timeout is over", 3 * time.Minute, nil, 2},
		{"another pod", 3 * time.Minute, func(s *scope[*v1alpha1.SparkConnect]) { s.observed.Driver.UID = "two" }, 3},
		{"suspended: nobody needs to know", 3 * time.Minute, func(s *scope[*v1alpha1.SparkConnect]) { s.Desired.Suspend = true }, 3},
		{"what was said is forgotten then", 3 * time.Minute, func(s *scope[*v1alpha1.SparkConnect]) { s.observed.Driver.UID = "two" }, 4},
		{"an edit drains", 4 * time.Minute, func(s *scope[*v1alpha1.SparkConnect]) { s.Desired.SpecHash = "spec-2" }, 5},
		{"it is asked every ten seconds", 4*time.Minute + 9*time.Second, func(s *scope[*v1alpha1.SparkConnect]) { s.Desired.SpecHash = "spec-2" }, 5},
		{"ten seconds", 4*time.Minute + 10*time.Second, func(s *scope[*v1alpha1.SparkConnect]) { s.Desired.SpecHash = "spec-2" }, 6},
		{"the edit moves the UI, and the server that runs is asked where its own is (finding 10)", 5 * time.Minute, func(s *scope[*v1alpha1.SparkConnect]) {
			s.Desired.SpecHash, s.App.Conf[spark.ConfUIPort] = "spec-2", "4050"
		}, 7},
		{"the edit turns the UI off, and the server that runs has one (finding 10)", 6 * time.Minute, func(s *scope[*v1alpha1.SparkConnect]) {
			s.Desired.SpecHash, s.App.Conf[spark.ConfUIEnabled] = "spec-2", "false"
		}, 8},
	}
	for _, step := range steps {
		s := &scope[*v1alpha1.SparkConnect]{obj: o, env: lifecycle.Env{Now: start.Add(step.at)}, observed: lifecycle.Observation{Driver: driver}}
		s.Application = resolve.Application{
			Record: lifecycle.Record{State: lifecycle.Running, SpecHash: "spec-1", Idle: lifecycle.Idle{Since: start}},
			Loaded: lifecycle.Loaded{Desired: lifecycle.Application{SpecHash: "spec-1", Endures: true, Drain: 10 * time.Minute, IdleTimeout: 30 * time.Minute}},
		}
		s.App = kubeflow.SparkConnects{}.Load(o, lifecycle.Record{}).App
		if step.change != nil {
			step.change(s)
		}
		e.observeSessions(t.Context(), s)
		if asked != step.want {
			t.Errorf("%s: asked %d times, want %d", step.reason, asked, step.want)
		}
		if known := s.observed.Sessions.Known; known != !s.Desired.Suspend {
			t.Errorf("%s: known %t", step.reason, known)
		}
	}
}
