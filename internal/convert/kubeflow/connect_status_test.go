// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

var _ resolve.Kind[*v1alpha1.SparkConnect] = SparkConnects{}

// connectOutcome is an outcome in a state; ready is what the driver's condition says.
func connectOutcome(state lifecycle.State, ready bool, changes ...func(*lifecycle.Outcome)) lifecycle.Outcome {
	o := lifecycle.Outcome{Record: lifecycle.Record{State: state, Attempt: 1, Generation: 1, DriverName: "lab-server"}}
	c := lifecycle.Condition{Type: lifecycle.ConditionDriverReady, Status: lifecycle.False, Reason: lifecycle.ReasonDriverPending, Message: "the driver pod is not running yet"}
	if ready {
		c.Status, c.Reason, c.Message = lifecycle.True, lifecycle.ReasonDriverRunning, "the driver's container is running"
	}
	o.Conditions = []lifecycle.Condition{c}
	for _, change := range changes {
		change(&o)
	}
	return o
}

// The states that other clients of this API know.
func TestConnectStates(t *testing.T) {
	const (
		fresh    = v1alpha1.SparkConnectStateNew
		starting = v1alpha1.SparkConnectStateProvisioning
		ready    = v1alpha1.SparkConnectStateReady
		notReady = v1alpha1.SparkConnectStateNotReady
		failed   = v1alpha1.SparkConnectStateFailed
	)
	type row struct {
		state lifecycle.State
		ready bool
	}
	// What becomes of a server that was new, provisioning, ready, not ready, failed.
	table := map[row][5]v1alpha1.SparkConnectState{
		{lifecycle.New, false}:              {fresh, fresh, fresh, fresh, fresh},
		{lifecycle.Queued, false}:           {starting, starting, starting, starting, starting},
		{lifecycle.Submitted, false}:        {starting, starting, notReady, notReady, starting},
		{lifecycle.Running, false}:          {starting, starting, notReady, notReady, starting},
		{lifecycle.Running, true}:           {ready, ready, ready, ready, ready},
		{lifecycle.Succeeding, false}:       {notReady, notReady, notReady, notReady, notReady},
		{lifecycle.Succeeded, false}:        {notReady, notReady, notReady, notReady, notReady},
		{lifecycle.Failing, false}:          {notReady, notReady, notReady, notReady, notReady},
		{lifecycle.Rerunning, false}:        {notReady, notReady, notReady, notReady, notReady},
		{lifecycle.Invalidating, false}:     {notReady, notReady, notReady, notReady, notReady},
		{lifecycle.Suspending, true}:        {notReady, notReady, notReady, notReady, notReady},
		{lifecycle.Suspended, false}:        {notReady, notReady, notReady, notReady, notReady},
		{lifecycle.Resuming, false}:         {notReady, notReady, notReady, notReady, notReady},
		{lifecycle.SubmissionFailed, false}: {notReady, notReady, notReady, notReady, notReady},
		{lifecycle.Failed, false}:           {failed, failed, failed, failed, failed},
	}
	seen := map[lifecycle.State]bool{}
	for row, want := range table {
		seen[row.state] = true
		for i, before := range []v1alpha1.SparkConnectState{fresh, starting, ready, notReady, failed} {
			o := server()
			o.Status.State = before
			next, _ := SparkConnects{}.ToStatus(o, connectOutcome(row.state, row.ready), now)
			if next.Status.State != want[i] {
				t.Errorf("%s, ready %t, after %q: %q, want %q", row.state, row.ready, before, next.Status.State, want[i])
			}
			c := meta.FindStatusCondition(next.Status.Conditions, v1alpha1.ConditionServerPodReady)
			if c == nil || (c.Status == metav1.ConditionTrue) != (want[i] == ready) || c.Message == "" {
				t.Errorf("%s after %q: condition %+v", row.state, before, c)
			}
		}
		name := v1alpha1.SparkConnectState(sparkConnects.States[row.state])
		if usual := want[1]; row.ready || row.state != lifecycle.Running {
			if name != usual {
				t.Errorf("%s is usually called %q, want %q", row.state, name, usual)
			}
		}
	}
	if len(seen) != len(lifecycle.States()) {
		t.Errorf("%d states tested, there are %d", len(seen), len(lifecycle.States()))
	}
}

func TestConnectStatus(t *testing.T) {
	later := now.Add(time.Minute)
	running := connectOutcome(lifecycle.Running, true, func(o *lifecycle.Outcome) {
		o.PodIP, o.TokenSecret = "10.0.0.7", "lab-token-x2c4z"
		o.Record.Counts = lifecycle.ExecutorCounts{Pending: 1, Running: 2, Failed: 3, Succeeded: 4, Total: 11}
		o.Record.Exposure.Objects = []string{"service/lab-ui-svc", "service/lab-server"}
	})
	first, changed := SparkConnects{}.ToStatus(server(func(o *v1alpha1.SparkConnect) { o.Spec.Authentication = &v1alpha1.AuthenticationSpec{Token: true} }), running, now)
	if !changed {
		t.Fatal("the first status is news")
	}
	want := v1alpha1.SparkConnectStatus{
		State:     v1alpha1.SparkConnectStateReady,
		Server:    v1alpha1.ServerStatus{PodName: "lab-server", PodIP: "10.0.0.7", ServiceName: "lab-server", TokenSecretName: "lab-token-x2c4z"},
		Executors: map[string]int{"pending": 1, "running": 2, "failed": 3, "succeeded": 4},
		StartTime: metav1.NewTime(now), LastUpdateTime: metav1.NewTime(now), ObservedGeneration: 1,
	}
	got := *first.Status.DeepCopy()
	run := got.Run
	got.Conditions, got.Run = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if run == nil || run.Attempt != 1 || run.DriverInfo.PodName != "lab-server" || run.Conditions != nil {
		t.Errorf("the run is %+v", run)
	}
	if again, changed := (SparkConnects{}).ToStatus(first, running, later); changed || again != first {
		t.Error("the same is written once more, with another time")
	}
	if got := (SparkConnects{}).DriverWaits(first); got != string(lifecycle.ReasonDriverRunning) {
		t.Errorf("it waits for %q", got)
	}
	ended, changed := SparkConnects{}.ToStatus(first, connectOutcome(lifecycle.Failing, false), later)
	if s := ended.Status; !changed || !s.StartTime.Time.Equal(now) || !s.LastUpdateTime.Time.Equal(later) || s.Server.PodIP != "" || s.Server.ServiceName != "" || s.Executors != nil {
		t.Errorf("after its end, changed %t: %+v", changed, s)
	}
	c := meta.FindStatusCondition(ended.Status.Conditions, v1alpha1.ConditionServerPodReady)
	if want := "the server accepts no clients: the driver pod is not running yet"; c.Message != want || c.Reason != v1alpha1.ReasonServerPodNotReady || !c.LastTransitionTime.Time.Equal(later) {
		t.Errorf("condition %+v, want %q", c, want)
	}
}

// A server with sessions runs on after an edit: what leads to it is what it was started with (finding 10).
func TestStatusOfAServerThatRunsOn(t *testing.T) {
	token := func(o *v1alpha1.SparkConnect) { o.Spec.Authentication = &v1alpha1.AuthenticationSpec{Token: true} }
	renamed := func(o *v1alpha1.SparkConnect) {
		o.Spec.Server.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	}
	const tokenName = "lab-token-x2c4z"
	cases := map[string]struct {
		reason        string
		before, after func(*v1alpha1.SparkConnect)
		change        func(*lifecycle.Outcome)
		token         string
		service       string
	}{
		"TokenOff":  {reason: "the server that runs asks for it", before: token, token: tokenName, service: "lab-server"},
		"TokenOn":   {reason: "its Secret comes with the next pod", after: token, service: "lab-server"},
		"Renamed":   {reason: "the other Service comes with the next pod", after: renamed, service: "lab-server"},
		"NextPod":   {reason: "it was made from the edit", after: token, change: func(o *lifecycle.Outcome) { o.Record.Attempt, o.TokenSecret = 2, tokenName }, token: tokenName, service: "lab-server"},
		"NextStop":  {reason: "the next pod reads the Secret that was made", before: token, after: token, change: func(o *lifecycle.Outcome) { o.Record.Attempt = 2 }, token: tokenName, service: "lab-server"},
		"NextOpen":  {reason: "the next pod asks for none", before: token, change: func(o *lifecycle.Outcome) { o.Record.Attempt = 2 }, service: "lab-server"},
		"NoService": {reason: "it is gone", after: renamed, change: func(o *lifecycle.Outcome) { o.Record.Exposure.Objects = nil }},
		"Stopped":   {reason: "nothing runs", before: token, change: func(o *lifecycle.Outcome) { o.Record.State = lifecycle.Queued }, service: "lab-server"},
	}
	for name, tc := range cases {
		outcome := func(change func(*lifecycle.Outcome)) lifecycle.Outcome {
			return connectOutcome(lifecycle.Running, true, func(o *lifecycle.Outcome) {
				o.Record.Exposure.Objects = []string{"service/lab-ui-svc", "service/lab-server"}
				if change != nil {
					change(o)
				}
			})
		}
		edit := func(change func(*v1alpha1.SparkConnect)) *v1alpha1.SparkConnect {
			if change == nil {
				return server()
			}
			return server(change)
		}
		first, _ := SparkConnects{}.ToStatus(edit(tc.before), outcome(func(o *lifecycle.Outcome) {
			if tc.before != nil {
				o.TokenSecret = tokenName
			}
		}), now)
		edited := edit(tc.after)
		edited.Status = first.Status
		next, _ := SparkConnects{}.ToStatus(edited, outcome(tc.change), now)
		if got := next.Status.Server; got.TokenSecretName != tc.token || got.ServiceName != tc.service {
			t.Errorf("%s: %s: token %q, Service %q; want %q, %q", name, tc.reason, got.TokenSecretName, got.ServiceName, tc.token, tc.service)
		}
	}
}

// What the Kubeflow operator writes, and what becomes of it. Nothing is restarted because of it.
func TestConnectTakeOver(t *testing.T) {
	started := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason, status string
		want           lifecycle.Record
	}{
		"New":     {reason: "it has not been looked at", status: `{}`, want: lifecycle.Record{Attempt: 1}},
		"Started": {reason: "the pod may be there before its name is written", status: `{"startTime": "2026-11-21T08:00:00Z"}`, want: lifecycle.Record{SubmittedAt: started, DriverName: "lab-server"}},
		"Ready": {
			reason: "it accepts clients", status: `{"state": "Ready", "server": {"podName": "lab-server", "podIp": "10.0.0.7", "serviceName": "books"}, "executors": {"running": 2}, "startTime": "2026-11-21T08:00:00Z"}`,
			want: lifecycle.Record{SubmittedAt: started, DriverName: "lab-server", Exposure: lifecycle.Exposure{Objects: []string{"service/books"}}},
		},
		"NotReady":     {reason: "it starts, or has failed: its pod says", status: `{"state": "NotReady", "server": {"podName": "lab-server"}, "startTime": "2026-11-21T08:00:00Z"}`, want: lifecycle.Record{SubmittedAt: started, DriverName: "lab-server"}},
		"Provisioning": {reason: "declared, and never written", status: `{"state": "Provisioning"}`, want: lifecycle.Record{DriverName: "lab-server"}},
		"Failed":       {reason: "declared, and never written", status: `{"state": "Failed", "server": {"podName": "lab-server"}}`, want: lifecycle.Record{DriverName: "lab-server"}},
		"PodOnly":      {reason: "a status that was edited", status: `{"server": {"podName": "another"}}`, want: lifecycle.Record{DriverName: "another"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, want := server(), tc.want
			if err := json.Unmarshal([]byte(tc.status), &o.Status); err != nil {
				t.Fatal(err)
			}
			if name != "New" {
				want.State, want.Attempt, want.Submissions, want.Executions = lifecycle.Running, 1, 1, 1
				want.Attempts = []lifecycle.Attempt{{Number: 1}}
			}
			record := SparkConnects{}.FromStatus(o)
			if diff := cmp.Diff(want, record, same); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if name == "New" {
				return
			}
			next, _ := SparkConnects{}.ToStatus(o, connectOutcome(lifecycle.Running, true, func(out *lifecycle.Outcome) { out.Record = record }), now)
			if diff := cmp.Diff(record, SparkConnects{}.FromStatus(next), same); diff != "" {
				t.Errorf("the first write changes the record (-before +after):\n%s", diff)
			}
			if !o.Status.StartTime.IsZero() && !next.Status.StartTime.Equal(&o.Status.StartTime) {
				t.Errorf("it started at %s, not at %s", o.Status.StartTime, next.Status.StartTime)
			}
		})
	}
}

// A pod of the Kubeflow operator has no mark of a submission and restarts in place. It goes on, and is replaced only when it has ended or is gone.
func TestConnectTakeOverDecides(t *testing.T) {
	alive := lifecycle.Driver{Presence: lifecycle.Present, Ownership: lifecycle.Previous, Name: "lab-server", UID: "pod", Phase: lifecycle.DriverRunning, StartedAt: now, Ready: true}
	change := func(f func(*lifecycle.Driver)) lifecycle.Driver { d := alive; f(&d); return d }
	cases := map[string]struct {
		reason string
		driver lifecycle.Driver
		want   lifecycle.State
	}{
		"Ready":    {reason: "it accepts clients", driver: alive, want: lifecycle.Running},
		"Starting": {reason: "it may take a while", driver: change(func(d *lifecycle.Driver) { d.Ready = false }), want: lifecycle.Running},
		"Pending":  {reason: "it waits for a node", driver: change(func(d *lifecycle.Driver) { d.Phase, d.Ready = lifecycle.DriverPending, false }), want: lifecycle.Submitted},
		"Unknown":  {reason: "nobody knows", driver: lifecycle.Driver{Presence: lifecycle.Unknown}, want: lifecycle.Running},
		"Failed":   {reason: "its restart policy was the user's", driver: change(func(d *lifecycle.Driver) { d.Phase = lifecycle.DriverFailed }), want: lifecycle.Failing},
		"Gone":     {reason: "somebody deleted it", driver: lifecycle.Driver{Presence: lifecycle.Absent}, want: lifecycle.Failing},
	}
	o := server()
	o.Status.State, o.Status.Server.PodName = v1alpha1.SparkConnectStateReady, "lab-server"
	for name, tc := range cases {
		record := SparkConnects{}.FromStatus(o)
		app := SparkConnects{}.Desired(o, record)
		app.SubmissionID, app.DriverName = "s-1", "lab-server"
		p := lifecycle.Decide(app, record, lifecycle.Observation{Driver: tc.driver}, scheduler.Admission{}, lifecycle.Env{Now: now})
		if p.Record.State != tc.want || len(p.Actions) != 0 {
			t.Errorf("%s: %s: %s, %+v, want %s and nothing done", name, tc.reason, p.Record.State, p.Actions, tc.want)
		}
	}
}

// A field of the status that FromStatus or ToStatus forgets would be lost, or kept for ever, without this.
func TestEveryConnectStatusFieldIsWritten(t *testing.T) {
	manifest, err := os.ReadFile("../../../api/sparkoperator/v1alpha1/testdata/every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var o v1alpha1.SparkConnect
	if err := yaml.Unmarshal(manifest, &o); err != nil {
		t.Fatal(err)
	}
	record, written := SparkConnects{}.FromStatus(&o), map[string]bool{}
	for _, record.State = range lifecycle.States() { // some fields are only there while an application waits
		outcome := lifecycle.Outcome{Record: record, PodIP: "10.0.0.7", TokenSecret: "notebooks-token-x2c4z"}
		outcome.Record.Exposure.Objects = append(slices.Clone(record.Exposure.Objects), "service/notebooks")
		bare := o.DeepCopy()
		bare.Status = v1alpha1.SparkConnectStatus{}
		next, _ := SparkConnects{}.ToStatus(bare, outcome, now)
		all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&next.Status)
		if err != nil {
			t.Fatal(err)
		}
		collect(all, "status", written)
	}
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&o.Status)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	collect(all, "status", want)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(written))); diff != "" {
		t.Errorf("fields of the manifest's status (-) and of what is written for it (+) differ:\n%s", diff)
	}
}

// Whatever a lifecycle comes to is read back as it was, and written once.
func TestConnectRecordRoundTrip(t *testing.T) {
	for _, step := range explored() {
		outcome := step.to
		outcome.Record.DrainSince, outcome.Record.Idle = now, lifecycle.Idle{Since: now, StoppedAt: now.Add(time.Second)}
		next, _ := SparkConnects{}.ToStatus(server(), outcome, now)
		if diff := cmp.Diff(readable(outcome.Record), SparkConnects{}.FromStatus(next), same); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
		if _, changed := (SparkConnects{}).ToStatus(next, outcome, now.Add(time.Hour)); changed {
			t.Fatalf("the same outcome is written twice: %+v", outcome.Record)
		}
	}
}
