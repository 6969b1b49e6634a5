// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

func waiting() corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
}

// second is an application whose first attempt failed and whose second runs.
func second(o *v1beta2.SparkApplication) {
	failed(o)
	o.Status.Conditions, o.Status.AppState.ErrorMessage = nil, ""
	o.Status.Attempt = 2
	o.Status.Attempts[0].SubmissionID = "before"
	o.Status.Attempts = append(o.Status.Attempts, v1beta2.AttemptStatus{Attempt: 2, SubmissionID: submission, StartTime: ptr.To(before(time.Minute))})
}

func TestLogs(t *testing.T) {
	run := inState("pi", v1beta2.ApplicationStateRunning, second)
	ended := inState("pi", v1beta2.ApplicationStateFailed, failed)
	stranger := podOf(run, 0, running())
	stranger.OwnerReferences = []metav1.OwnerReference{{UID: "somebody", Controller: ptr.To(true)}}
	pods := []client.Object{run, podOf(run, 0, running()), podOf(run, 1, running()), podOf(run, 10, running()), podOf(run, 2, running())}
	cases := map[string]struct {
		reason   string
		objects  []client.Object
		args     []string
		code     int
		out, err string
	}{
		"driver":         {"its Spark container", pods, nil, 0, "driver\n", ""},
		"container":      {"another one", pods, []string{"-c", "sidecar"}, 0, "sidecar\n", ""},
		"no container":   {"the choice", pods, []string{"-c", "x"}, 1, "", "it has spark-kubernetes-driver, sidecar"},
		"executor":       {"by Spark's number", pods, []string{"--executor", "2"}, 0, "two\nlines", ""},
		"all executors":  {"by number, with a prefix", pods, []string{"--executor", "all"}, 0, "[1] one\n[2] two\n[2] lines\n[10] ten\n", ""},
		"no executor":    {"those that there are", pods, []string{"--executor", "3"}, 1, "", "has no executor 3 now; it has 1, 2, 10"},
		"no executors":   {"and why", []client.Object{ended}, []string{"--executor", "all"}, 1, "", "has no executors: it is FAILED (DriverFailed"},
		"previous":       {"what is kept", pods, []string{"-p"}, 0, "one\ntwo\nboom\n", "attempt 1 ended at"},
		"previous tail":  {"the last of it", pods, []string{"-p", "--tail", "1"}, 0, "boom\n", "DriverFailed"},
		"no previous":    {"the first attempt", []client.Object{ended}, []string{"-p"}, 1, "", "no attempt before attempt 1"},
		"gone":           {"what is kept of the current attempt", []client.Object{ended}, nil, 0, "one\ntwo\nboom\n", "driver pod pi-driver is gone; attempt 1 ended"},
		"gone, followed": {"nothing to wait for", []client.Object{ended}, []string{"-f"}, 0, "one\ntwo\nboom\n", "is gone"},
		"nothing kept":   {"a success keeps no log", []client.Object{inState("pi", v1beta2.ApplicationStateCompleted)}, nil, 1, "", "has no kept log"},
		"not yet":        {"with the reason", []client.Object{inState("pi", v1beta2.ApplicationStateSubmitted, queued)}, nil, 1, "", "does not exist yet: jobs/pi is SUBMITTED (exceeded quota: team)"},
		"never":          {"it has ended before its driver was there", []client.Object{inState("pi", v1beta2.ApplicationStateFailed, queued)}, nil, 1, "", "does not exist: jobs/pi is FAILED (exceeded quota: team)"},
		"not begun":      {"who says why", []client.Object{run, podOf(run, 0, waiting())}, nil, 1, "", "kubectl spark explain pi says why"},
		"stranger":       {"someone else's pod is not ours", []client.Object{inState("pi", v1beta2.ApplicationStateSubmitted, queued), stranger}, nil, 1, "", "does not exist yet"},
		"follow timeout": {"a bounded wait", []client.Object{inState("pi", v1beta2.ApplicationStateSubmitted, queued)}, []string{"-f", "--pod-running-timeout", "50ms"}, 1, "", "did not run within 50ms"},
		"bad tail":       {"a number of lines", pods, []string{"--tail", "-2"}, 1, "", "--tail"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newMemoryAPI(t, tc.objects...)
				a.SetLog("pi-driver", "spark-kubernetes-driver", "driver\n")
				a.SetLog("pi-driver", "sidecar", "sidecar\n")
				a.SetLog("pi-exec-1", "spark-kubernetes-executor", "one\n")
				a.SetLog("pi-exec-2", "spark-kubernetes-executor", "two\nlines")
				a.SetLog("pi-exec-10", "spark-kubernetes-executor", "ten\n")
				out, errOut, code := execute(t, "", append([]string{"logs", "pi"}, tc.args...)...)
				if code != tc.code || out != tc.out || !strings.Contains(errOut, tc.err) {
					t.Errorf("%s: exit code %d, want %d\n%q\n%s", tc.reason, code, tc.code, out, errOut)
				}
			})
		})
	}
}

// The log's options are the API's.
func TestLogOptions(t *testing.T) {
	run := inState("pi", v1beta2.ApplicationStateRunning)
	a := newAPI(t, run, podOf(run, 0, running()))
	if _, errOut, code := execute(t, "", "logs", "pi", "--tail", "5", "--since", "2m"); code != 0 {
		t.Fatal(errOut)
	}
	all := a.Requests()
	query := all[len(all)-1].URL
	for _, part := range []string{"tailLines=5", "sinceSeconds=120", "container=spark-kubernetes-driver"} {
		if !strings.Contains(query, part) {
			t.Errorf("%s lacks %s", query, part)
		}
	}
}

func TestLogsFollow(t *testing.T) {
	run := inState("pi", v1beta2.ApplicationStateSubmitted, queued)
	a := newAPI(t, run)
	a.SetLog("pi-driver", "spark-kubernetes-driver", "hello\n")
	b := start(t, "logs", "pi", "-f")
	a.AwaitWatch("pods")
	run = inState("pi", v1beta2.ApplicationStateSubmitted)
	a.Put(run)
	a.Put(podOf(run, 0, waiting()))
	a.Put(podOf(run, 0, exited(0)))
	b.ends(0)
	if b.out.String() != "hello\n" || !strings.Contains(b.errOut.String(), "waiting for driver pod pi-driver: SUBMITTED (QuotaExceeded") {
		t.Errorf("%s%s", &b.out, &b.errOut)
	}
}

// A stream that is cut is not taken for the end of the driver.
func TestLogsFollowIsCut(t *testing.T) {
	run := inState("pi", v1beta2.ApplicationStateRunning)
	a := newAPI(t, run, podOf(run, 0, running()))
	a.SetLog("pi-driver", "spark-kubernetes-driver", "hello\n")
	_, errOut, code := execute(t, "", "logs", "pi", "-f")
	if code != 1 || !strings.Contains(errOut, "still runs") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

// All executors are followed at once, in whole lines.
func TestLogsFollowAllExecutors(t *testing.T) {
	run := inState("pi", v1beta2.ApplicationStateRunning)
	a := newAPI(t, run, podOf(run, 1, running()), podOf(run, 2, running()))
	a.SetLog("pi-exec-1", "spark-kubernetes-executor", strings.Repeat("a\n", 1000))
	a.SetLog("pi-exec-2", "spark-kubernetes-executor", strings.Repeat("b\n", 1000))
	out, errOut, code := execute(t, "", "logs", "pi", "--executor", "all", "-f")
	if code != 0 || strings.Count(out, "[1] a\n") != 1000 || strings.Count(out, "[2] b\n") != 1000 {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}
