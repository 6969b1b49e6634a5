// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	apachev1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// The health checks say of each kind what Argo CD should show (finding 18), and there is one for each.
func TestHealthForArgoCD(t *testing.T) {
	var patch struct{ Data map[string]string }
	if err := yaml.UnmarshalStrict([]byte(read(t, "config/argocd/health.yaml")), &patch); err != nil {
		t.Fatal(err)
	}
	const prefix = "resource.customizations.health."
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	checked := map[string]bool{}
	for name, tc := range map[string]struct {
		reason, kind string
		object       any
		want         string
	}{
		"New":              {"it has not been reconciled", connectKey, &v1alpha1.SparkConnect{ObjectMeta: metav1.ObjectMeta{Generation: 1}}, "Progressing"},
		"Starting":         {"its pod is on its way", connectKey, connect(lifecycle.Submitted, false, now), "Progressing"},
		"Ready":            {"it accepts clients", connectKey, connect(lifecycle.Running, false, now), "Healthy"},
		"Stopped":          {"it is suspended", connectKey, connect(lifecycle.Suspended, true, now), "Suspended"},
		"Invalid":          {"it cannot run", connectKey, connect(lifecycle.Failed, false, now), "Degraded"},
		"Edited":           {"its status is about the spec before", connectKey, edited(connect(lifecycle.Running, false, now)), "Progressing"},
		"Schedule":         {"its runs are started", scheduleKey, nightly(schedule.Desired{Schedule: "@daily"}, now), "Healthy"},
		"SuspendSchedule":  {"nothing is started", scheduleKey, nightly(schedule.Desired{Schedule: "@daily", Suspend: true}, now), "Suspended"},
		"WrongSchedule":    {"nothing can be started", scheduleKey, nightly(schedule.Desired{Schedule: "never"}, now), "Degraded"},
		"Submitted":        {"its pod is on its way", applicationKey, pi(lifecycle.Submitted, now), "Progressing"},
		"Running":          {"it runs, with however many executors", applicationKey, pi(lifecycle.Running, now), "Healthy"},
		"Completed":        {"its end is no fault", applicationKey, pi(lifecycle.Succeeded, now), "Healthy"},
		"Failed":           {"a person has to do something", applicationKey, pi(lifecycle.Failed, now), "Degraded"},
		"ApacheSubmitted":  {"its pod is on its way", apacheKey, apachePi(lifecycle.Submitted, now), "Progressing"},
		"ApacheRunning":    {"it runs", apacheKey, apachePi(lifecycle.Running, now), "Healthy"},
		"ApacheCompleted":  {"its end is no fault", apacheKey, apachePi(lifecycle.Succeeded, now), "Healthy"},
		"ApacheFailed":     {"a person has to do something", apacheKey, apachePi(lifecycle.Failed, now), "Degraded"},
		"NewCluster":       {"it has not been reconciled", clusterKey, &apachev1.SparkCluster{}, "Progressing"},
		"Queued":           {"it waits for its scheduler", clusterKey, cluster(standalone.Submitted, 0, false, now), "Progressing"},
		"NoWorkers":        {"its workers are on their way", clusterKey, cluster(standalone.Running, 1, false, now), "Progressing"},
		"Cluster":          {"all of its pods are ready", clusterKey, cluster(standalone.Running, 2, false, now), "Healthy"},
		"SuspendedCluster": {"it has no pods", clusterKey, cluster(standalone.Suspended, 0, true, now), "Suspended"},
		"RefusedCluster":   {"it cannot be made", clusterKey, cluster(standalone.Refused, 0, false, now), "Degraded"},
		"ReleasedCluster":  {"nothing is left of it", clusterKey, cluster(standalone.Released, 0, false, now), "Degraded"},
	} {
		checked[prefix+tc.kind] = true
		if got, message := healthOf(t, patch.Data[prefix+tc.kind], tc.object); got != tc.want || got != "Healthy" && message == "" {
			t.Errorf("%s: %s: %s, %q; want %s", name, tc.reason, got, message, tc.want)
		}
	}
	for key := range patch.Data {
		if !checked[key] {
			t.Errorf("%s is run by no test", key)
		}
	}
}

// The keys of the kinds in Argo CD's ConfigMap.
const (
	applicationKey = "sparkoperator.k8s.io_SparkApplication"
	scheduleKey    = "sparkoperator.k8s.io_ScheduledSparkApplication"
	connectKey     = "sparkoperator.k8s.io_SparkConnect"
	apacheKey      = "spark.apache.org_SparkApplication"
	clusterKey     = "spark.apache.org_SparkCluster"
)

// healthOf runs a check of Argo CD, which gets the object as the variable obj.
func healthOf(t *testing.T, script string, object any) (status, message string) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := json.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	l := lua.NewState()
	defer l.Close()
	l.SetGlobal("obj", inLua(l, content))
	if err := l.DoString(script); err != nil {
		t.Fatal(err)
	}
	answer, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the check returns %v", l.Get(-1))
	}
	return answer.RawGetString("status").String(), strings.TrimSpace(answer.RawGetString("message").String())
}

func inLua(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, one := range v {
			table.RawSetString(key, inLua(l, one))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, one := range v {
			table.Append(inLua(l, one))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

// connect is a server in a state, as the operator writes it.
func connect(state lifecycle.State, suspend bool, now time.Time) *v1alpha1.SparkConnect {
	o := &v1alpha1.SparkConnect{ObjectMeta: metav1.ObjectMeta{Name: "lab", Namespace: "jobs", UID: "1", Generation: 1}}
	o.Spec.Suspend = ptr.To(suspend)
	desired := func(record lifecycle.Record) lifecycle.Application {
		desired := kubeflow.SparkConnects{}.Desired(o, record)
		desired.Endures = true
		return desired
	}
	next, _ := kubeflow.SparkConnects{}.ToStatus(o, in(state, desired, now), now)
	return next
}

// edited is a server whose spec has changed since.
func edited(o *v1alpha1.SparkConnect) *v1alpha1.SparkConnect {
	o.Generation++
	return o
}

// pi and apachePi are applications in a state, as the operator writes them.
func pi(state lifecycle.State, now time.Time) *v1beta2.SparkApplication {
	o := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "pi", Namespace: "jobs", UID: "1", Generation: 1}}
	next, _ := kubeflow.SparkApplications{}.ToStatus(o, in(state, func(r lifecycle.Record) lifecycle.Application { return kubeflow.SparkApplications{}.Desired(o, r) }, now), now)
	return next
}

func apachePi(state lifecycle.State, now time.Time) *apachev1.SparkApplication {
	o := &apachev1.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "pi", Namespace: "jobs", UID: "1", Generation: 1}}
	next, _ := apache.SparkApplications{}.ToStatus(o, in(state, func(r lifecycle.Record) lifecycle.Application { return apache.SparkApplications{}.Desired(o, r) }, now), now)
	return next
}

// in is what is decided about an application that is in a state, and stays in it.
func in(state lifecycle.State, desiredOf func(lifecycle.Record) lifecycle.Application, now time.Time) lifecycle.Outcome {
	record := lifecycle.Record{State: state, Attempt: 1, Attempts: []lifecycle.Attempt{{Number: 1}}}
	driver := lifecycle.Driver{Presence: lifecycle.Absent}
	var admission scheduler.Admission
	switch state { //nolint:exhaustive // the others have no driver
	case lifecycle.Submitted:
		driver = lifecycle.Driver{Presence: lifecycle.Present, Ownership: lifecycle.Current, Phase: lifecycle.DriverPending, CreatedAt: now}
	case lifecycle.Running:
		driver = lifecycle.Driver{Presence: lifecycle.Present, Ownership: lifecycle.Current, Phase: lifecycle.DriverRunning, CreatedAt: now, StartedAt: now, Ready: true}
	case lifecycle.Failed:
		record.Cause = lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: "spec.image: missing"}
	}
	desired := desiredOf(record)
	record.SpecHash, record.Generation = desired.SpecHash, 1
	env := lifecycle.Env{Now: now}
	return lifecycle.Settle(lifecycle.Decide(desired, record, lifecycle.Observation{Driver: driver, At: now}, admission, env), nil, env)
}

// cluster is a standalone cluster in a state with pods that are ready, of a master and a worker, as the operator writes it.
func cluster(state standalone.State, ready int32, suspend bool, now time.Time) *apachev1.SparkCluster {
	o := &apachev1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "jobs", UID: "1", Generation: 1}}
	o.Spec.Suspend = suspend
	record := standalone.Record{State: state, Generation: 1}
	if state == standalone.Refused || state == standalone.Submitted {
		record.Cause = lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: "why not"}
	}
	seen := standalone.Observation{Master: standalone.Role{Wanted: 1, Ready: min(ready, 1)}, Workers: standalone.Role{Wanted: 1, Ready: max(ready-1, 0)}}
	next, _ := apache.Clusters{}.ToStatus(o, standalone.Settle(standalone.Plan{Record: record, Observation: seen}, nil), now)
	return next
}

// nightly is a schedule, as the operator writes it.
func nightly(d schedule.Desired, now time.Time) *v1beta2.ScheduledSparkApplication {
	o := &v1beta2.ScheduledSparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "nightly", Namespace: "jobs", UID: "1", Generation: 1}}
	o.Spec.Suspend = ptr.To(d.Suspend)
	d.Name, d.UID, d.Generation, d.Created = "nightly", "1", 1, now
	env := schedule.Env{Now: now, Local: time.UTC}
	outcome := schedule.Settle(schedule.Decide(d, schedule.Record{}, schedule.Observation{Live: true}, env), schedule.Result{}, env)
	next, _ := kubeflow.Schedules{}.ToStatus(o, outcome, lifecycle.Submitters{}, now)
	return next
}
