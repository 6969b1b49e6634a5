// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const submission = "0a1b2c3d-0000-4000-8000-000000000001"

// inState is an application of namespace jobs that is an hour old.
func inState(name string, state v1beta2.ApplicationStateType, changes ...func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	o := testutil.Pi(testutil.Executors(2))
	o.Name, o.UID, o.CreationTimestamp = name, types.UID("uid-"+name), before(time.Hour)
	if state != v1beta2.ApplicationStateNew {
		o.Status = v1beta2.SparkApplicationStatus{
			AppState: v1beta2.ApplicationState{State: state}, ObservedGeneration: 1, SubmissionID: submission, Attempt: 1,
			SubmissionAttempts: 1, ExecutionAttempts: 1, DriverInfo: v1beta2.DriverInfo{PodName: name + "-driver"},
			Attempts: []v1beta2.AttemptStatus{{Attempt: 1, SubmissionID: submission, StartTime: ptr.To(before(10 * time.Minute))}},
		}
	}
	for _, c := range changes {
		c(o)
	}
	return o
}

func before(d time.Duration) metav1.Time {
	return metav1.NewTime(time.Now().Add(-d).Truncate(time.Second))
}

func condition(kind, status, reason, message string) func(*v1beta2.SparkApplication) {
	return func(o *v1beta2.SparkApplication) {
		o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message})
	}
}

// failed is an application whose only attempt ended with exit code 1.
func failed(o *v1beta2.SparkApplication) {
	o.Status.AppState.ErrorMessage = "driver container failed with ExitCode: 1, Reason: Error"
	o.Status.TerminationTime = before(5 * time.Minute)
	a := &o.Status.Attempts[0]
	a.EndTime, a.ExitCode, a.FailureClass, a.Reason, a.Message = ptr.To(before(5*time.Minute)), ptr.To[int32](1), "Application", "DriverFailed", o.Status.AppState.ErrorMessage
	a.LogTail = "one\ntwo\nboom\n"
	o.Status.Cause = &v1beta2.CauseStatus{Reason: a.Reason, Message: a.Message}
	condition("Succeeded", "False", "DriverFailed", a.Message)(o)
}

// queued waits for quota.
func queued(o *v1beta2.SparkApplication) {
	o.Status.ExecutionAttempts, o.Status.Attempts, o.Status.SubmissionID = 0, nil, ""
	const message = "exceeded quota: team"
	condition("Submitted", "False", "QuotaExceeded", message)(o)
	condition("Succeeded", "Unknown", "QuotaExceeded", "waiting: "+message)(o)
	o.Status.Cause = &v1beta2.CauseStatus{Reason: "QuotaExceeded", Message: message}
}

// podOf is a pod of the application's attempt; number 0 is the driver.
func podOf(o *v1beta2.SparkApplication, number int, state corev1.ContainerState) *corev1.Pod {
	role, name, container := "driver", o.Name+"-driver", "spark-kubernetes-driver"
	labels := map[string]string{"sparkoperator.k8s.io/app-name": o.Name, "sparkoperator.k8s.io/submission-id": submission}
	if number > 0 {
		role, name, container = "executor", fmt.Sprintf("%s-exec-%d", o.Name, number), "spark-kubernetes-executor"
		labels["spark-exec-id"] = fmt.Sprint(number)
	}
	labels["spark-role"] = role
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: name, UID: types.UID(name), Labels: labels, CreationTimestamp: before(11 * time.Minute),
			OwnerReferences: []metav1.OwnerReference{kubeflow.SparkApplications{}.Family().Owner(o, "").Reference},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: container}, {Name: "sidecar"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: container, State: state}, {Name: "sidecar", State: state}}},
	}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: before(10 * time.Minute)}}
}

func exited(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
}

// ages change between the making of an object and the look at it, and the columns' widths with them.
var (
	ages    = regexp.MustCompile(`\b(60m|10m|5m|4m)(\d+s)?\b`)
	columns = regexp.MustCompile(` {2,}`)
)

func TestList(t *testing.T) {
	other := inState("other", v1beta2.ApplicationStateCompleted)
	other.Namespace = "etl"
	malformed := inState("odd", v1beta2.ApplicationStateFailed, failed)
	newAPI(t, other, malformed,
		inState("a-new", v1beta2.ApplicationStateNew), inState("failed", v1beta2.ApplicationStateFailed, failed), inState("queued", v1beta2.ApplicationStateSubmitted, queued),
		inState("running", v1beta2.ApplicationStateRunning, func(o *v1beta2.SparkApplication) {
			o.Status.Executors = &v1beta2.ExecutorSummary{Running: 1, Pending: 1}
		},
			condition("ExecutorsReady", "False", "ExecutorsPending", "not all of the 2 executors run")))
	cases := map[string][]string{
		"list": {"list"}, "list-all": {"list", "-A"}, "list-wide": {"list", "-o", "wide"}, "list-state": {"list", "-A", "--state", "completed,Failed"},
		"list-name": {"list", "-o", "name"}, "list-none": {"list", "-n", "empty"},
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) { prints(t, name, args...) })
	}
	out, _, _ := execute(t, "", "list", "-o", "json", "--state", "running")
	var list v1beta2.SparkApplicationList
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 1 || list.Items[0].Status.Executors.Running != 1 {
		t.Errorf("%v: %s", err, out)
	}
	for _, args := range [][]string{{"--state", "lost"}, {"-o", "xml"}} {
		if _, errOut, code := execute(t, "", append([]string{"list"}, args...)...); code != 1 || !strings.Contains(errOut, strings.ToLower(args[1])) {
			t.Errorf("%v: exit code %d, %s", args, code, errOut)
		}
	}
}

func TestExplain(t *testing.T) {
	run := inState("run", v1beta2.ApplicationStateRunning)
	waits := inState("waits", v1beta2.ApplicationStateSubmitted, queued)
	mounts := inState("mounts", v1beta2.ApplicationStateSubmitted)
	pending := podOf(mounts, 0, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})
	pending.Status.Phase = corev1.PodPending
	pending.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: before(10 * time.Minute)}}
	a := newAPI(t, run, waits, mounts, pending, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "mounts.1"}, Type: corev1.EventTypeWarning, Reason: "FailedMount",
		InvolvedObject: corev1.ObjectReference{Name: pending.Name, UID: pending.UID}, Message: `MountVolume.SetUp failed for volume "spark-conf-volume-driver" : configmap "c" not found`,
	}, podOf(run, 0, running()), podOf(run, 1, running()), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "team"},
		Status:     corev1.ResourceQuotaStatus{Hard: corev1.ResourceList{"pods": resource.MustParse("1")}, Used: corev1.ResourceList{"pods": resource.MustParse("1")}},
	})
	says := func(name string, texts ...string) {
		t.Helper()
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
	says("run", "SparkApplication jobs/run runs for 10m with 1 of 2 executors", "wait for the driver's end", "run-driver: Running")
	says("waits", "try again to create driver pod waits-driver for attempt 1", "team: pods, 1 of 1 used, nothing is left")
	says("mounts", `MountVolume.SetUp failed for volume "spark-conf-volume-driver"`)
	a.Deny(request("list", "pods"), request("get", "pods"), request("list", "resourcequotas"))
	says("run", "the existence of the driver pod is unknown", "pods: you may not list pods in namespace jobs")
	says("waits", "resource quotas: you may not list resourcequotas in namespace jobs")
	out, _, _ := execute(t, "", "explain", "run", "-o", "json")
	var report struct{ Decision struct{ Sentence string } }
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Decision.Sentence == "" {
		t.Errorf("%v: %s", err, out)
	}
}

// Errors say what is wrong and what to do.
func TestTrouble(t *testing.T) {
	cases := map[string]struct {
		prepare func(t *testing.T)
		args    []string
		want    string
	}{
		"near name": {func(t *testing.T) { t.Helper(); newAPI(t, inState("spark-pi", "")) }, []string{"explain", "sprak-pi"}, `no SparkApplication "sprak-pi" in namespace jobs; did you mean spark-pi?`},
		"no name":   {func(t *testing.T) { t.Helper(); newAPI(t) }, []string{"wait", "x"}, "kubectl spark list -A"},
		"forbidden": {func(t *testing.T) { t.Helper(); newAPI(t).Deny(request("get", "sparkapplications")) }, []string{"logs", "x"}, "you may not get sparkapplications.sparkoperator.k8s.io in namespace jobs"},
		"no kind":   {func(t *testing.T) { t.Helper(); newAPI(t).Uninstall(applicationKind) }, []string{"list"}, "kubectl apply --server-side -k config/crd"},
		"no server": {func(t *testing.T) { t.Helper(); useServer(t, "http://127.0.0.1:1") }, []string{"list"}, "no cluster responds at http://127.0.0.1:1"},
		"no config": {func(t *testing.T) {
			t.Helper()
			t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
			t.Setenv("HOME", t.TempDir())
		}, []string{"list"}, "no cluster is configured"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.prepare(t)
			if _, errOut, code := execute(t, "", tc.args...); code != 1 || !strings.Contains(errOut, tc.want) {
				t.Errorf("exit code %d: %s", code, errOut)
			}
		})
	}
}

func TestNamesAreCompleted(t *testing.T) {
	newAPI(t, inState("spark-pi", ""))
	for _, command := range []string{"explain", "logs", "wait"} {
		if out, _, _ := execute(t, "", "__complete", command, ""); !strings.HasPrefix(out, "spark-pi\n") {
			t.Errorf("%s: %q", command, out)
		}
	}
}
