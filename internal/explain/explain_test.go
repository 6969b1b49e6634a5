// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const (
	quotaText = `pods "pi-driver" is forbidden: exceeded quota: team, requested: pods=1, used: pods=10, limited: pods=10`
	nodesText = "0/3 nodes are available: 3 Insufficient cpu."
	imageText = `container spark-kubernetes-driver: failed to pull image "spark:4.1.4": not found`
	logText   = "WARN a\nException in thread \"main\" java.lang.RuntimeException: boom\n\tat Main.main(Main.scala:7)\n"
)

var (
	boom = lifecycle.Exit{Code: 1, Reason: "Error"}
	oom  = lifecycle.Exit{Code: 137, Reason: "OOMKilled"}
)

// situations are what a user may ask about. Each is a golden text of its name.
func situations() map[string]func(*harness) Report {
	all := map[string]func(*harness) Report{
		"new": func(w *harness) Report { return w.explain(absent()) },
		"queued-by-quota": func(w *harness) Report {
			w.sees(absent(), lifecycle.Result{Class: lifecycle.ClassQuota, Message: quotaText})
			w.pass(time.Hour)
			return w.explain(absent(), func(in *Input) {
				in.Quotas = Usage([]corev1.ResourceQuota{{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Status: corev1.ResourceQuotaStatus{
					Hard: corev1.ResourceList{"pods": resource.MustParse("10"), "requests.cpu": resource.MustParse("20")},
					Used: corev1.ResourceList{"pods": resource.MustParse("10"), "requests.cpu": resource.MustParse("12500m")},
				}}})
			})
		},
		"no-service-account": func(w *harness) Report {
			w.sees(absent(), lifecycle.Result{Class: lifecycle.ClassPolicy, Message: `pods "pi-driver" is forbidden: error looking up service account jobs/spark: serviceaccount "spark" not found`})
			w.pass(time.Minute)
			return w.explain(absent())
		},
		"queued-by-unknown-scheduler": func(w *harness) Report {
			w.o.Spec.BatchScheduler = ptr.To("volcanoo")
			w.sees(absent())
			w.pass(90 * time.Second)
			return w.explain(absent())
		},
		"suspended-before-first-run": func(w *harness) Report {
			suspend(&w.o.Spec)
			w.sees(absent())
			w.pass(2 * time.Hour)
			return w.explain(absent())
		},
		"pending-unschedulable": func(w *harness) Report {
			obs := w.submitted()
			obs.Driver.Waiting.Cause = lifecycle.Cause{Reason: lifecycle.ReasonUnschedulable, Message: nodesText}
			w.sees(obs)
			w.pass(10 * time.Minute)
			return w.explain(obs)
		},
		"image-pull": func(w *harness) Report {
			obs := w.submitted()
			obs.Driver.ScheduledAt = w.now
			obs.Driver.Waiting.Cause = lifecycle.Cause{Reason: lifecycle.ReasonImagePull, Message: imageText}
			w.sees(obs)
			w.pass(5 * time.Minute)
			return w.explain(obs)
		},
		"running": func(w *harness) Report {
			w.o.Spec.Deadlines = &v1beta2.Deadlines{Run: &metav1.Duration{Duration: 4 * time.Hour}}
			obs := w.running(executor("pi-exec-1", lifecycle.ExecutorRunning), executor("pi-exec-2", lifecycle.ExecutorRunning))
			w.pass(40 * time.Minute)
			return w.explain(obs)
		},
		"running-missing-executors": func(w *harness) Report {
			failed := lifecycle.Executor{Name: "pi-exec-1", State: lifecycle.ExecutorFailed, ExitCode: ptr.To[int32](137), Reason: "OOMKilled"}
			obs := w.running(failed, executor("pi-exec-2", lifecycle.ExecutorRunning), executor("pi-exec-3", lifecycle.ExecutorPending))
			w.pass(5 * time.Minute)
			return w.explain(obs)
		},
		"executors-refused": func(w *harness) Report {
			obs := w.running()
			obs.Driver.SpecHash = w.scope().Desired.SpecHash
			w.sees(obs)
			w.pass(5 * time.Minute)
			w.sees(obs, lifecycle.Result{Class: lifecycle.ClassPolicy, Message: `pods "pi-exec-1" is forbidden: violates PodSecurity "restricted:latest"`})
			return w.explain(obs)
		},
		"ended-unseen": func(w *harness) Report { return w.explain(exits(w.running(), boom, logText)) },
		"failing-with-back-off": func(w *harness) Report {
			retrying(&w.o.Spec)
			w.sees(exits(w.running(), boom, logText))
			w.pass(18 * time.Second)
			return w.explain(w.ended())
		},
		"second-attempt-pending": func(w *harness) Report {
			retrying(&w.o.Spec)
			w.sees(exits(w.running(), boom, logText))
			w.pass(2 * time.Minute)
			w.sees(w.ended())
			w.pass(time.Second)
			return w.explain(w.ended(func(d *lifecycle.Driver) { d.Ownership = lifecycle.Previous }))
		},
		"retries-exhausted": func(w *harness) Report {
			retrying(&w.o.Spec)
			w.o.Spec.RestartPolicy.Application.Retries = 0
			w.sees(exits(w.running(), boom, logText))
			w.sees(w.ended())
			w.pass(3 * time.Minute)
			return w.explain(w.ended())
		},
		"out-of-memory-with-raise": func(w *harness) Report {
			w.o.Spec.RestartPolicy = v1beta2.RestartPolicy{OutOfMemory: &v1beta2.OutOfMemoryRule{
				RetryRule: v1beta2.RetryRule{Retries: 2}, MemoryFactor: ptr.To("1.5"),
			}}
			w.sees(exits(w.running(), oom, ""))
			w.pass(time.Second)
			return w.explain(absent())
		},
		"submission-failed-retrying": func(w *harness) Report {
			w.o.Spec.RestartPolicy = v1beta2.RestartPolicy{Submission: &v1beta2.RetryRule{Retries: 4}}
			w.sees(absent(), lifecycle.Result{Class: lifecycle.ClassRefused, Message: `Pod "pi-driver" is invalid: spec.containers[0].image: Required value`})
			w.pass(3 * time.Second)
			return w.explain(absent())
		},
		"completed-with-ttl": func(w *harness) Report {
			w.o.Spec.TimeToLiveSeconds = ptr.To[int64](3600)
			w.o.Spec.Retention = &v1beta2.Retention{OnSuccess: &v1beta2.RetentionTimes{DriverPod: &metav1.Duration{Duration: 10 * time.Minute}}}
			obs := w.running(executor("pi-exec-1", lifecycle.ExecutorRunning), executor("pi-exec-2", lifecycle.ExecutorRunning))
			obs.Driver.Phase = lifecycle.DriverSucceeded
			w.pass(time.Hour)
			w.sees(obs)
			w.sees(obs)
			w.pass(4 * time.Minute)
			return w.explain(obs)
		},
		"failed": func(w *harness) Report {
			w.sees(exits(w.running(), boom, logText))
			w.sees(w.ended())
			w.pass(26 * time.Hour)
			return w.explain(absent())
		},
		"deadline-passed": func(w *harness) Report {
			w.o.Spec.Deadlines = &v1beta2.Deadlines{Run: &metav1.Duration{Duration: time.Minute}}
			obs := w.running()
			w.pass(2 * time.Minute)
			return w.explain(obs)
		},
		"spec-changed": func(w *harness) Report {
			obs := w.running()
			w.pass(time.Minute)
			w.edit(func(s *v1beta2.SparkApplicationSpec) { s.Arguments = []string{"2"} })
			return w.explain(obs)
		},
		"invalidating": func(w *harness) Report {
			obs := w.running()
			w.edit(func(s *v1beta2.SparkApplicationSpec) { s.Arguments = []string{"2"} })
			w.sees(obs)
			return w.explain(obs)
		},
		"suspending": func(w *harness) Report {
			obs := w.running()
			w.edit(suspend)
			w.sees(obs)
			return w.explain(obs)
		},
		"suspended": func(w *harness) Report {
			obs := w.running()
			w.edit(suspend)
			w.sees(obs)
			w.sees(absent())
			w.pass(time.Minute)
			return w.explain(absent())
		},
		"node-lost": func(w *harness) Report {
			obs := w.running()
			obs.Driver.Deleting, obs.Driver.GoneAt = true, w.now.Add(30*time.Second)
			w.pass(5 * time.Minute)
			return w.explain(obs)
		},
		"name-conflict": func(w *harness) Report {
			w.sees(absent(), lifecycle.Result{Class: lifecycle.ClassNameTaken, Message: "pod pi-driver already exists and does not belong to this application"})
			w.pass(time.Minute)
			return w.explain(w.pod(lifecycle.DriverRunning, func(d *lifecycle.Driver) { d.Ownership = lifecycle.NotOwned }))
		},
		"malformed-spec": func(w *harness) Report {
			w.o.Spec, w.o.MalformedSpec = v1beta2.SparkApplicationSpec{}, "json: cannot unmarshal string into Go struct field of type []v1.Container"
			w.sees(absent())
			w.pass(time.Minute)
			return w.explain(absent())
		},
		"malformed-spec-unseen": func(w *harness) Report {
			w.o.Spec.SparkVersion = "1.6"
			return w.explain(absent())
		},
		"awaiting-adoption": func(w *harness) Report {
			w.o.Annotations = map[string]string{v1beta2.AnnotationAdopts: "pi-driver"}
			w.sees(absent())
			w.pass(2 * time.Hour)
			return w.explain(lifecycle.Observation{Driver: lifecycle.Driver{Presence: lifecycle.Present, Ownership: lifecycle.NotOwned, Name: "pi-driver"}})
		},
		"managed-by-another": func(w *harness) Report {
			w.o.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue")
			w.sees(absent())
			return w.explain(absent())
		},
		"managed-by-another-running": func(w *harness) Report {
			w.o.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue")
			w.o.Status = v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateRunning}, DriverInfo: v1beta2.DriverInfo{PodName: "pi-driver"}}
			return w.explain(absent())
		},
		"being-deleted": func(w *harness) Report {
			obs := w.running()
			w.o.DeletionTimestamp = ptr.To(metav1.NewTime(w.now))
			w.o.Finalizers = []string{"example.com/archive"}
			return w.explain(obs)
		},
		"taken-over": func(w *harness) Report {
			w.o.Status = v1beta2.SparkApplicationStatus{
				AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateRunning}, SubmissionID: "6e1e0b5e-old", SparkApplicationID: "spark-old",
				SubmissionAttempts: 1, ExecutionAttempts: 1, LastSubmissionAttemptTime: metav1.NewTime(start),
				DriverInfo:    v1beta2.DriverInfo{PodName: "pi-driver"},
				ExecutorState: map[string]v1beta2.ExecutorState{"pi-exec-1": v1beta2.ExecutorStateRunning},
			}
			w.pass(10 * time.Minute)
			obs := w.pod(lifecycle.DriverRunning, func(d *lifecycle.Driver) { d.StartedAt = start.Add(5 * time.Second) })
			obs.Executors = []lifecycle.Executor{executor("pi-exec-1", lifecycle.ExecutorRunning), executor("pi-exec-2", lifecycle.ExecutorRunning)}
			return w.explain(obs)
		},
		"taken-over-completed": func(w *harness) Report {
			w.o.Status = v1beta2.SparkApplicationStatus{
				AppState: v1beta2.ApplicationState{State: v1beta2.ApplicationStateCompleted}, SubmissionID: "6e1e0b5e-old", ExecutionAttempts: 1,
				LastSubmissionAttemptTime: metav1.NewTime(start), TerminationTime: metav1.NewTime(start.Add(time.Minute)), DriverInfo: v1beta2.DriverInfo{PodName: "pi-driver"},
			}
			w.pass(10 * time.Minute)
			return w.explain(absent())
		},
		"not-exposed": func(w *harness) Report {
			obs := w.running()
			meta.SetStatusCondition(&w.o.Status.Conditions, metav1.Condition{
				Type: "Exposed", Status: metav1.ConditionFalse, Reason: "NameConflict", LastTransitionTime: metav1.NewTime(w.now),
				Message: "service/pi-ui-svc: Service pi-ui-svc already exists and does not belong to this application; delete or rename it",
			})
			return w.explain(obs)
		},
		"in-doubt": func(w *harness) Report {
			w.running()
			return w.explain(lifecycle.Observation{Driver: lifecycle.Driver{Presence: lifecycle.Unknown, Name: "pi-driver"}}, func(in *Input) {
				in.Unreadable = []string{"resource quotas: you may not list resourcequotas in namespace jobs"}
			})
		},
	}
	maps.Copy(all, queues())
	return all
}

func TestSituations(t *testing.T) {
	all := situations()
	for name, situation := range all {
		t.Run(name, func(t *testing.T) {
			testutil.Golden(t, "testdata/"+name+".txt", situation(newHarness(t)).Text())
		})
	}
	testutil.NoStaleGolden(t, "testdata/*.txt", all)
}

// Every situation has a sentence for what it is and for what is decided, and its JSON says the same.
func TestNothingIsLeftUnsaid(t *testing.T) {
	for name, situation := range situations() {
		t.Run(name, func(t *testing.T) {
			r := situation(newHarness(t))
			if r.Summary == "" || r.Decision.Sentence == "" || r.State == "" || r.Decision.State == "" {
				t.Errorf("something is not said: %+v", r)
			}
			for _, e := range r.Next {
				if e.What == "" {
					t.Errorf("an event without words at %s", e.At)
				}
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var back Report
			if err := json.Unmarshal(text, &back); err != nil || back.Decision.Sentence != r.Decision.Sentence {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// noAdvice are the reasons that need no advice: all is well, or it gets well by itself, or another line has said it.
var noAdvice = map[string]bool{
	"ManagedByAnother": true, "NamespaceTerminating": true, "Backoff": true, "Rerun": true, "SpecChanged": true, "RerunRequested": true, "Resumed": true, "Woken": true, "NotSubmitted": true, "PreviousApplication": true,
	"DriverPending": true, "DriverCreated": true, "DriverRunning": true, "DriverStopping": true, "DriverSucceeded": true,
	"InProgress": true, "Finished": true, "Admitted": true, "ExecutorsRunning": true, "NoExecutors": true,
}

// scheduled are the reasons of schedulers that need no advice.
var scheduled = map[string]bool{
	"Admitted": true, "WaitingForCapacity": true, "WaitingForGang": true, "Scheduled": true, "DriverGone": true,
	"Preempted": true, "Reclaimed": true, "NodeFailure": true, "PodsReadyTimeout": true,
}

// A reason that is new in the closed lists gets advice, or a place among those that need none.
func TestEveryReasonHasAdvice(t *testing.T) {
	for _, reason := range reasons(t, filepath.Join("..", "lifecycle", "reasons.go")) {
		_, helped := advice[lifecycle.Reason(reason)]
		if helped == noAdvice[reason] {
			t.Errorf("%s: advice %t, needs none %t", reason, helped, noAdvice[reason])
		}
	}
	for _, reason := range reasons(t, filepath.Join("..", "scheduler", "admission.go")) {
		_, helped := queueing[scheduler.Reason(reason)]
		if helped == scheduled[reason] {
			t.Errorf("scheduler's %s: advice %t, needs none %t", reason, helped, scheduled[reason])
		}
	}
}

// reasons reads a closed list from its source.
func reasons(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Reason") {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, value)
		}
		return true
	})
	if len(all) < 30 {
		t.Fatalf("%d reasons found in %s", len(all), path)
	}
	return all
}

// What the operator's health check edits is named as that, and not as an application of another controller.
func TestProbeIsNoApplication(t *testing.T) {
	var v view
	v.Scope.Desired.Probe, v.Object = true, &metav1.ObjectMeta{}
	got := append([]string{v.summary(), v.waiting(), v.behind()}, v.advice()...)
	want := []string{"is a health probe, and no application", "nothing: the operator's health check edits the object, and sees that its edits arrive", "", "leave it alone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
