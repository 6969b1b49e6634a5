// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	family "github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// ofApache is an application of spark.apache.org whose driver runs, an hour old.
func ofApache(name string) *v1.SparkApplication {
	o := &v1.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name, UID: types.UID("apache-" + name), CreationTimestamp: before(time.Hour), Generation: 1},
		Spec: v1.SparkApplicationSpec{
			RuntimeVersions: v1.RuntimeVersions{SparkVersion: "4.1.4"}, MainClass: "Main", Jars: "local:///a.jar",
			SparkConf: map[string]string{"spark.kubernetes.container.image": "spark", "spark.executor.instances": "2"},
		},
	}
	started := before(10 * time.Minute).Time
	record := lifecycle.Record{
		State: lifecycle.Running, Generation: 1, Attempt: 1, Submissions: 1, Executions: 1, SubmittedAt: started, DriverName: name + "-0-driver",
		SparkAppID: name + "-0", SubmissionID: name + "-0", Attempts: []lifecycle.Attempt{{Number: 1, SubmissionID: name + "-0", StartedAt: started}},
		Progress: lifecycle.Progress{StartedAt: started, ReadyAt: started, Capacity: lifecycle.CapacityFull, CapacityAt: started},
	}
	next, _ := family.SparkApplications{}.ToStatus(o, lifecycle.Outcome{Record: record}, started)
	return next
}

func driverOfApache(o *v1.SparkApplication) *corev1.Pod {
	id := o.Name + "-0"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: id + "-driver", UID: types.UID(id), CreationTimestamp: before(11 * time.Minute),
			Labels:          map[string]string{v1.LabelAppName: o.Name, v1.LabelOperator: family.OperatorName, "spark-app-selector": id, "spark-role": "driver"},
			OwnerReferences: []metav1.OwnerReference{family.SparkApplications{}.Family().Owner(o, id).Reference},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-kubernetes-driver"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "spark-kubernetes-driver", State: running()}}},
	}
}

// Commands find applications of either family by their name, and ask which one is meant where both have it.
func TestFamilies(t *testing.T) {
	const group = "sparkapplication.spark.apache.org/"
	cases := map[string]struct {
		reason, args, out, errOut string
		code                      int
	}{
		"List":      {"both, by name", "list", "NAME STATE ATTEMPT DRIVER EXECUTORS REASON AGE DURATION\netl RunningHealthy 1 etl-0-driver 0/2 - 60m 10m\npi RUNNING 1 pi-driver 0/2 - 60m 10m\ntwin RUNNING 1 twin-driver 0/2 - 60m 10m\ntwin RunningHealthy 1 twin-0-driver 0/2 - 60m 10m", "", 0},
		"ListNames": {"with their groups", "list -o name", group + "etl\nsparkapplication.sparkoperator.k8s.io/pi\nsparkapplication.sparkoperator.k8s.io/twin\n" + group + "twin", "", 0},
		"ListOne":   {"by its type", "list sparkapplications.spark.apache.org --state runninghealthy -o name", group + "etl\n" + group + "twin", "", 0},
		"ListState": {"both have the word", "list --state failed,runninghealthy -o name", group + "etl\n" + group + "twin", "", 0},
		"ListWrong": {"each word once", "list --state done", "", `error: --state: there is no state "done"; the states are COMPLETED, DriverEvicted, DriverReady, DriverReadyTimedOut, DriverRequested, DriverStarted, DriverStartTimedOut, ExecutorsStartTimedOut, FAILED, FAILING, InitializedBelowThresholdExecutors, INVALIDATING, NEW, PENDING_RERUN, ResourceReleased, RESUMING, RUNNING, RunningHealthy, RunningWithBelowThresholdExecutors, RunningWithPartialCapacity, ScheduledToRestart, SchedulingFailure, SUBMISSION_FAILED, SUBMITTED, Succeeded, SUCCEEDING, SUSPENDED, SUSPENDING, TerminatedWithoutReleaseResources`, 1},
		"Suspend":   {"by its name alone", "suspend etl", group + "etl suspended", "", 0},
		"Delete":    {"and what goes with it", "delete etl", group + "etl deleted", "etl: it was RunningHealthy; driver pod etl-0-driver, its executors and its other objects are deleted with it", 0},
		"Ambiguous": {"nothing is deleted by mistake", "delete twin", "", `error: "twin" is the name of sparkapp/twin and of sparkapplications.spark.apache.org/twin: write one of them`, 1},
		"Typed":     {"the one that is meant", "suspend sparkapplications.spark.apache.org/twin", group + "twin suspended", "", 0},
		"Rerun":     {"it has no such annotation", "rerun etl", "", "error: etl is a SparkApplication: it runs again when it is deleted and applied again", 1},
		"Wait":      {"for its driver", "wait etl --for running", "TIME RunningHealthy", "", 0},
		"WaitBoth":  {"it is not known for which", "wait twin", "", `error: "twin" is the name of sparkapp/twin and of sparkapplications.spark.apache.org/twin: write one of them`, 1},
		"Logs":      {"of its driver", "logs etl", "log of etl-0-driver/spark-kubernetes-driver", "", 0},
		"LogsTyped": {"of the one that is meant", "logs sparkapplications.spark.apache.org/twin", "log of twin-0-driver/spark-kubernetes-driver", "", 0},
		"LogsKind":  {"only applications have logs", "logs sparkconn/nb", "", "error: sparkconn/nb is a server: logs is only for applications", 1},
		"Near":      {"with its type", "wait elt", "", `error: there is no SparkApplication "elt" in namespace jobs; did you mean sparkapplications.spark.apache.org/etl?`, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			etl, twin := ofApache("etl"), ofApache("twin")
			a := newAPI(t, inState("pi", v1beta2.ApplicationStateRunning), inState("twin", v1beta2.ApplicationStateRunning), etl, twin, driverOfApache(etl), driverOfApache(twin))
			a.AllowWrites()
			for _, pod := range []string{"etl-0-driver", "twin-0-driver"} {
				a.SetLog(pod, "spark-kubernetes-driver", "log of "+pod+"/spark-kubernetes-driver\n")
			}
			out, errOut, code := execute(t, "", strings.Fields(tc.args)...)
			out = columns.ReplaceAllString(ages.ReplaceAllString(timestamps.ReplaceAllString(out, "TIME"), "$1"), " ")
			if diff := cmp.Diff(tc.out, strings.TrimSpace(out)) + cmp.Diff(tc.errOut, strings.TrimSpace(errOut)); diff != "" || code != tc.code {
				t.Errorf("%s: exit code %d, want %d (-want +got):\n%s", tc.reason, code, tc.code, diff)
			}
		})
	}
}

var timestamps = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\S+`)

// Where the other family is not installed, or may not be read, it is as if it were not there.
func TestOneFamily(t *testing.T) {
	pi := inState("pi", v1beta2.ApplicationStateRunning)
	for name, begin := range map[string]func(t *testing.T){
		"NotInstalled": func(t *testing.T) {
			t.Helper()
			useServer(t, apiserver.New(t, []schema.GroupVersionKind{applicationKind, corev1.SchemeGroupVersion.WithKind("Pod")}, pi).URL)
		},
		"OtherForbidden": func(t *testing.T) { // who may read the other one sees that
			t.Helper()
			o := ofApache("pi")
			newAPI(t, inState("hidden", v1beta2.ApplicationStateRunning), o).Deny(apiserver.Request{Group: v1beta2.GroupVersion.Group})
		},
		"Forbidden": func(t *testing.T) {
			t.Helper()
			newAPI(t, pi, ofApache("etl")).Deny(apiserver.Request{Group: v1.SchemeGroupVersion.Group})
		},
	} {
		t.Run(name, func(t *testing.T) {
			begin(t)
			if out, errOut, code := execute(t, "", "list", "-o", "name"); code != 0 || !strings.HasSuffix(out, "/pi\n") || strings.Count(out, "\n") != 1 {
				t.Errorf("list: exit code %d: %s%s", code, out, errOut)
			}
			if out, errOut, code := execute(t, "", "wait", "pi", "--for", "running"); code != 0 {
				t.Errorf("wait: exit code %d: %s%s", code, out, errOut)
			}
		})
	}
}

// The decision about an application of the other family is made and explained like any other.
func TestExplainApache(t *testing.T) {
	etl := ofApache("etl")
	newAPI(t, etl, driverOfApache(etl))
	out, errOut, code := execute(t, "", "explain", "etl")
	for _, text := range []string{"SparkApplication jobs/etl", "RunningHealthy", "etl-0-driver"} {
		if code != 0 || !strings.Contains(out, text) {
			t.Errorf("it does not say %q: exit code %d\n%s%s", text, code, out, errOut)
		}
	}
}
