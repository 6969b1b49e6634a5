// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// sampleServer is the one of the samples.
const sampleServer = "../../config/samples/spark-connect.yaml"

// remembered is what the operator remembers of a server that runs.
func remembered(o *v1alpha1.SparkConnect) {
	o.Status.Run = &v1beta2.SparkApplicationStatus{
		AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateRunning}, Attempt: 2, ExecutionAttempts: 2, SubmissionID: submission,
		DriverInfo: v1beta2.DriverInfo{PodName: o.Name + "-server"}, Executors: &v1beta2.ExecutorSummary{Running: 1},
		Attempts:                  []v1beta2.AttemptStatus{{Attempt: 2, StartTime: ptr.To(before(10 * time.Minute))}},
		LastSubmissionAttemptTime: before(11 * time.Minute),
	}
}

func conditioned(kind string, status metav1.ConditionStatus, reason, message string) func(*v1alpha1.SparkConnect) {
	return func(o *v1alpha1.SparkConnect) {
		o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

// stoppedIdle is a server as the operator leaves it.
func stoppedIdle(o *v1alpha1.SparkConnect) {
	remembered(o)
	idle(before(10 * time.Minute).Time)(o)
	o.Status.Run.AppState.State = v1beta2.ApplicationStateSuspended
	o.Status.Run.Cause = &v1beta2.CauseStatus{Reason: "Idle", Message: "the driver executed nothing for longer than spec.idleTimeout: it was stopped"}
}

func TestListServers(t *testing.T) {
	other := served("other")
	other.Namespace = "etl"
	newAPI(t, other, served("new", func(o *v1alpha1.SparkConnect) { o.Status = v1alpha1.SparkConnectStatus{} }),
		served("ready", remembered, conditioned("DriverReady", "True", "DriverRunning", "it runs")),
		served("starting", remembered, notReady("DriverReady", "False", "DriverNotReady", "the driver's container is running, and its pod is not ready for clients")),
		served("draining", remembered, conditioned("Reconciling", "True", "Draining", "the spec has changed"), func(o *v1alpha1.SparkConnect) { o.Status.DrainSince = ptr.To(before(time.Minute)) }),
		served("idle", stoppedIdle))
	for name, args := range map[string]string{
		"list-servers": "servers", "list-servers-all": "sparkconn -A", "list-servers-wide": "sparkconnects -o wide", "list-servers-state": "servers --state notready,new",
		"list-servers-name": "servers -o name", "list-servers-none": "servers -n empty",
	} {
		t.Run(name, func(t *testing.T) { prints(t, name, append([]string{"list"}, strings.Fields(args)...)...) })
	}
	if _, errOut, code := execute(t, "", "list", "servers", "--state", "running"); code != 1 || !strings.Contains(errOut, "the states are NEW, Provisioning, Ready, NotReady, Failed") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
}

func TestServerVerbs(t *testing.T) {
	const server = "sparkconnect.sparkoperator.k8s.io/"
	cases := map[string]verbCase{
		"suspend": {"by its name alone", "suspend nb", server + "nb suspended\n", "", 0, []string{`patch sparkconnects/nb {"metadata":{"uid":"uid-nb"},"spec":{"suspend":true}}`}},
		"resume":  {"what is asleep is not suspended", "resume idle", server + "idle resumed (no change)\n", "idle: it was stopped because it was idle: kubectl spark connect idle starts it\n", 0, nil},
		"rerun": {"at once", "rerun nb", server + "nb rerun\n", "", 0, []string{
			`patch sparkconnects/nb {"metadata":{"annotations":{"sparkoperator.k8s.io/rerun-at":"NOW"},"uid":"uid-nb"}}`,
		}},
		"delete": {"and what goes with it", "delete sparkconn/nb", server + "nb deleted\n", "nb: it was Ready; server pod nb-server and its sessions, its executors and its other objects are deleted with it\n", 0, []string{
			`delete sparkconnects/nb {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-nb"},"propagationPolicy":"Background"}`,
		}},
		"all":       {"of a type", "suspend sparkconnects.v1alpha1.sparkoperator.k8s.io --all --dry-run=client", server + "nb suspended (dry run)\n" + server + "idle suspended (dry run)\n" + server + "twin suspended (dry run)\n", "", 0, nil},
		"trigger":   {"that has another name", "trigger nb", "", "error: nb is a SparkConnect: kubectl spark rerun sparkconn/nb runs it again\n", 1, nil},
		"keep":      {"for schedules", "delete nb --keep-runs", "", "error: " + server + "nb: --keep-runs: only for a ScheduledSparkApplication\n", 1, nil},
		"ambiguous": {"nothing is deleted by mistake", "delete twin", "", "error: \"twin\" is the name of sparkapp/twin and of sparkconn/twin: write one of them\n", 1, nil},
		"typed": {"the one that is meant", "suspend sparkapp/twin sparkconn/twin", "sparkapplication.sparkoperator.k8s.io/twin suspended\n" + server + "twin suspended\n", "", 0, []string{
			`patch sparkapplications/twin {"metadata":{"uid":"uid-twin"},"spec":{"suspend":true}}`, `patch sparkconnects/twin {"metadata":{"uid":"uid-twin"},"spec":{"suspend":true}}`,
		}},
		"near name": {"with its type", "delete idel", "", "error: there is no SparkApplication \"idel\" in namespace jobs; did you mean sparkconn/idle?\n", 1, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, served("nb"), served("idle", stoppedIdle), served("twin"), inState("twin", v1beta2.ApplicationStateRunning))
			tc.run(t, a)
		})
	}
}

func TestServersAreCompleted(t *testing.T) {
	newAPI(t, inState("pi", ""), served("nb"))
	for args, want := range map[string]string{"suspend": "pi\nsparkconn/nb\n", "rerun": "pi\nsparkconn/nb\n", "explain": "pi\nsparkconn/nb\n", "connect": "nb\n", "list": "applications\nschedules\nservers\nclusters\n"} {
		if out, _, _ := execute(t, "", "__complete", args, ""); !strings.HasPrefix(out, want) {
			t.Errorf("%s: %q", args, out)
		}
	}
}

func TestServerManifests(t *testing.T) {
	out, errOut, code := execute(t, "", "validate", "-f", "testdata/server.yaml", "-f", sampleServer)
	if code != 1 {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	testutil.Golden(t, "testdata/validate-servers.golden", "# stdout\n"+out+"# stderr\n"+errOut)
	out, errOut, code = execute(t, "", "render", "-f", sampleServer)
	if code != 0 {
		t.Error(errOut)
	}
	for _, text := range []string{"name: spark-connect-server\n", "kind: ConfigMap\n", "- org.apache.spark.sql.connect.service.SparkConnectServer\n"} {
		if !strings.Contains(out, text) {
			t.Errorf("it lacks %q:\n%s", text, out)
		}
	}
	secured := "apiVersion: sparkoperator.k8s.io/v1alpha1\nkind: SparkConnect\nmetadata: {name: nb}\n" +
		"spec: {sparkVersion: 4.1.4, image: spark:4.1.4, authentication: {token: true}, server: {}, executor: {}}\n"
	out, errOut, code = execute(t, secured, "render", "-f", "-")
	if code != 0 || !strings.HasPrefix(out, "apiVersion: v1\nimmutable: true\nkind: Secret\n") || strings.Contains(out, "token: ") {
		t.Errorf("exit code %d: %s%s", code, errOut, out[:min(len(out), 500)])
	}
}

func TestExplainServer(t *testing.T) {
	ready := served("nb", remembered, conditioned("DriverReady", "True", "DriverRunning", "it runs"))
	newAPI(t, ready, serverPod(ready, "first"), served("idle", stoppedIdle))
	for name, texts := range map[string][]string{
		"nb":             {"SparkConnect jobs/nb runs for ", "State      Ready, attempt 2", "keep it running"},
		"sparkconn/idle": {"SparkConnect jobs/idle was stopped 10m ago because it was idle", "nothing until a client connects", "kubectl spark connect idle -n jobs"},
	} {
		out, errOut, code := execute(t, "", "explain", name)
		if code != 0 {
			t.Error(errOut)
		}
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("%s: it does not say %q:\n%s", name, text, out)
			}
		}
	}
	out, _, _ := execute(t, "", "explain", "nb", "-o", "json")
	var report struct {
		State  string
		Server struct{ Ready bool }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.State != "Ready" || !report.Server.Ready {
		t.Errorf("%v: %s", err, out)
	}
}
