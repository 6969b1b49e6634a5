// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// evil is what a tenant, its driver or another operator may have put into an object: commands of terminals, forged lines and columns, text that
// reads otherwise than it is.
const evil = "a\x1b]0;title\a\x1b[2J\u009b2Jb\nFORGED\tjobs\rx\u202ec\u200b"

// Whatever objects say does nothing to the terminal of who looks at them.
func TestPrintersAreSafe(t *testing.T) {
	app := inState("evil", v1beta2.ApplicationStateFailed, failed, condition("Succeeded", "False", evil, evil))
	app.Status.AppState.ErrorMessage, app.Status.DriverInfo.PodName = evil, evil
	app.Status.Cause = &v1beta2.CauseStatus{Reason: evil, Message: evil}
	app.Status.Submitter = &v1beta2.SubmitterStatus{User: evil, Source: evil}
	app.Spec.SparkVersion, app.Spec.BatchScheduler = evil, new(evil)
	app.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: new(evil)}
	a := &app.Status.Attempts[0]
	a.Reason, a.Message, a.LogTail = evil, evil, evil
	waits := inState("waits", v1beta2.ApplicationStateSubmitted, queued)
	waits.Status.Cause = &v1beta2.CauseStatus{Reason: "QuotaExceeded", Message: evil}
	waits.Status.Scheduling = &v1beta2.SchedulingStatus{Scheduler: evil, Queue: evil, Reason: "QuotaExceeded", Message: evil, Group: evil}
	schedule := &v1beta2.ScheduledSparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "nightly"}}
	schedule.Spec = v1beta2.ScheduledSparkApplicationSpec{Schedule: evil, TimeZone: evil, Template: testutil.Pi().Spec}
	schedule.Status.Reason, schedule.Status.LastRunName = evil, evil
	server := &v1alpha1.SparkConnect{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "server"}, Spec: v1alpha1.SparkConnectSpec{SparkVersion: evil}}
	server.Status.Idle = &v1alpha1.IdleStatus{Problem: evil}
	lab := ofCluster("lab")
	lab.Spec.RuntimeVersions.SparkVersion = evil
	lab.Status.CurrentState = &v1.ClusterState{CurrentStateSummary: evil, Message: evil, LastTransitionTime: evil}
	lab.Status.Scheduling = &v1.ClusterScheduling{Scheduler: evil, Queue: evil, Source: evil, Group: evil}
	lab.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: evil, Message: evil}}
	newAPI(t, app, waits, schedule, server, lab)
	for _, line := range []string{
		"list", "list -o wide", "list -A", "list scheduledsparkapplications -o wide", "list sparkconnects -o wide", "list clusters -o wide", "queue", "queue -A",
		"explain evil", "explain waits", "explain scheduledsparkapp/nightly", "explain sparkconnect/server", "explain sparkcluster/lab", "logs evil --previous", "logs evil",
	} {
		out, errOut, _ := execute(t, "", strings.Fields(line)...)
		if out+errOut == "" {
			t.Errorf("%s says nothing", line)
		}
		for _, r := range out + errOut {
			if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
				t.Errorf("%s prints %U:\n%q\n%q", line, r, out, errOut)
				break
			}
		}
		if !strings.HasPrefix(line, "logs") && (strings.Contains(out, "\nFORGED") || strings.Contains(errOut, "\nFORGED")) {
			t.Errorf("%s prints a line that an object made up:\n%s%s", line, out, errOut)
		}
	}
}

// An application that is small and stands for what is not costs no more memory than the issue allows. What is collected again counts: it
// is the same in every run, and one expansion alone is several times as much.
func TestBombsCostLittle(t *testing.T) {
	const allowed = 40 << 20
	for name, conf := range heaptest.Bombs() {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(conf)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "bomb.yaml")
			manifest := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: pi}\nspec:\n  type: Scala\n  sparkVersion: 4.1.4\n" +
				"  image: spark:4.1.4\n  mainClass: Main\n  mainApplicationFile: local:///a.jar\n  driver: {}\n  executor: {}\n  sparkConf: " + string(text) + "\n"
			if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errOut string
			took := heaptest.Taken(func() { out, errOut, _ = execute(t, "", "validate", "-f", file) })
			const want = `: error: spec.sparkConf["spark.executor.memoryOverhead"]: "${spark.`
			if out += errOut; !strings.Contains(out, want) || !strings.Contains(out, "refer to") || strings.Count(out, "error:") != 1 || len(out) > 1000 {
				t.Errorf("said %.1000s, want %s", out, want)
			}
			if took > allowed {
				t.Errorf("took %d MiB, want %d at most", took>>20, allowed>>20)
			}
		})
	}
}
