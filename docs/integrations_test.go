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

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

// The health check of the page says of each kind what Argo CD should show (finding 18).
func TestHealthForArgoCD(t *testing.T) {
	script := ""
	for _, b := range markdown.Blocks(read(t, "docs/integrations.md")) {
		if b.Language == "lua" {
			script = b.Text
		}
	}
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		reason string
		object any
		want   string
	}{
		"New":             {"it has not been reconciled", &v1alpha1.SparkConnect{}, "Progressing"},
		"Starting":        {"its pod is on its way", connect(lifecycle.Submitted, false, now), "Progressing"},
		"Ready":           {"it takes clients", connect(lifecycle.Running, false, now), "Healthy"},
		"Stopped":         {"it is suspended", connect(lifecycle.Suspended, true, now), "Suspended"},
		"Invalid":         {"it cannot run", connect(lifecycle.Failed, false, now), "Degraded"},
		"Schedule":        {"its runs are started", nightly(schedule.Desired{Schedule: "@daily"}, now), "Healthy"},
		"SuspendSchedule": {"nothing is started", nightly(schedule.Desired{Schedule: "@daily", Suspend: true}, now), "Suspended"},
		"WrongSchedule":   {"nothing can be started", nightly(schedule.Desired{Schedule: "never"}, now), "Degraded"},
	} {
		if got, message := healthOf(t, script, tc.object); got != tc.want || got != "Healthy" && message == "" {
			t.Errorf("%s: %s: %s, %q; want %s", name, tc.reason, got, message, tc.want)
		}
	}
}

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
	desired := kubeflow.SparkConnects{}.Desired(o, record)
	desired.Endures = true
	record.SpecHash, record.Generation = desired.SpecHash, 1
	env := lifecycle.Env{Now: now}
	outcome := lifecycle.Settle(lifecycle.Decide(desired, record, lifecycle.Observation{Driver: driver, At: now}, admission, env), nil, env)
	next, _ := kubeflow.SparkConnects{}.ToStatus(o, outcome, now)
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
