// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// govern puts the harness's operator under policies.
func (w *harness) govern(s policy.Set) {
	w.engine.Policies = func() policy.Set { return s }
}

func forJobs(l policy.Limits, d policy.Defaults) policy.Set {
	return policy.Set{{Name: "jobs", Namespaces: []string{"jobs"}, Defaults: d, Limits: l}}
}

func TestPolicyRefuses(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.govern(forJobs(policy.Limits{Executors: new(int32)}, policy.Defaults{}))
	w.settle()
	status := w.app().Status
	want := `spec.executor.instances: "1": namespace jobs allows at most 0 executors at a time (operator policy "jobs")`
	if w.state() != "FAILED" || !strings.Contains(status.AppState.ErrorMessage, want) || len(w.drivers()) != 0 {
		t.Errorf("%s, %d drivers: %s", w.state(), len(w.drivers()), status.AppState.ErrorMessage)
	}
	for _, kind := range []string{"Admitted", "Stalled", "Succeeded"} {
		if c := conditionOf(w, kind); c.Reason != "InvalidSpec" || c.Message != want {
			t.Errorf("the condition %s does not say which policy refuses what: %+v", kind, c)
		}
	}
	w.reconcile()
	if told := w.told(); len(told) != 1 || told[0] != "Warning SparkApplicationFailed SparkApplication pi failed: "+want {
		t.Errorf("told %q, want the refusal once", told)
	}
}

// A scheduler that a policy names and that there is not is the policy's mistake: the status says what was asked for and by
// whom, and the application goes on by itself when the policy is corrected.
func TestPolicyNamesAScheduler(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.govern(forJobs(policy.Limits{}, policy.Defaults{BatchScheduler: "vulcano"}))
	w.settle()
	const says = `defaults.batchScheduler of the operator's policy "jobs": "vulcano" is not known to this operator; known: plain`
	got := *w.app().Status.Scheduling
	got.QueuedAt, got.MessageTime = nil, nil
	want := v1beta2.SchedulingStatus{Scheduler: "vulcano", Source: "Policy", Reason: "SchedulerUnknown", Message: says}
	if diff := cmp.Diff(want, got); diff != "" || conditionOf(w, "Admitted").Message != says {
		t.Errorf("condition %+v, status (-want +got):\n%s", conditionOf(w, "Admitted"), diff)
	}
	if told := w.told(); len(told) != 1 || told[0] != "Warning SparkApplicationWaiting "+says {
		t.Errorf("told %q, want the wait once", told)
	}
	w.govern(forJobs(policy.Limits{}, policy.Defaults{BatchScheduler: "plain"}))
	w.settle()
	if s := w.app().Status.Scheduling; len(w.drivers()) != 1 || s.Scheduler != "plain" || s.Source != "Policy" {
		t.Errorf("%d drivers with the corrected policy: %+v", len(w.drivers()), s)
	}
}

func TestPolicyDefaultsReachThePods(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Image = nil
	w := newHarness(t, o)
	w.govern(forJobs(policy.Limits{}, policy.Defaults{Image: "registry.example/spark", Labels: map[string]string{"team": "a"}}))
	w.reconcile()
	drivers := w.drivers()
	if len(drivers) != 1 || drivers[0].Spec.Containers[0].Image != "registry.example/spark" || drivers[0].Labels["team"] != "a" {
		t.Fatalf("drivers: %+v", drivers)
	}
	if diff := cmp.Diff(o.Spec, w.app().Spec); diff != "" {
		t.Errorf("the spec has changed (-want +got):\n%s", diff)
	}
}

// A changed policy neither stops nor restarts what runs; the next attempt keeps to it.
func TestPolicyLeavesAloneWhatRuns(t *testing.T) {
	o := testutil.Pi()
	o.Spec.RestartPolicy.Type = "OnFailure"
	o.Spec.RestartPolicy.OnFailureRetries = new(int32(3))
	w := newHarness(t, o)
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.settle()
	hash, uid := w.app().Status.SubmissionID, w.drivers()[0].UID
	w.govern(forJobs(policy.Limits{Images: []string{"registry.example/*"}}, policy.Defaults{Driver: policy.RoleDefaults{Memory: "3g"}}))
	w.settle()
	if drivers := w.drivers(); w.state() != "RUNNING" || len(drivers) != 1 || drivers[0].UID != uid || w.app().Status.SubmissionID != hash {
		t.Fatalf("%s, drivers %v", w.state(), drivers)
	}
	w.kubelet(corev1.PodFailed, exited(1, "Error"))
	w.settle()
	w.pass(time.Minute)
	w.settle()
	if message := w.app().Status.AppState.ErrorMessage; w.state() != "FAILED" || !strings.Contains(message, `operator policy "jobs"`) {
		t.Errorf("%s: %s", w.state(), message)
	}
}

func TestPolicyTimeToLive(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	w.govern(forJobs(policy.Limits{}, policy.Defaults{TimeToLiveSeconds: new(int64(3600))}))
	w.reconcile()
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	w.settle()
	if w.state() != "COMPLETED" {
		t.Fatal(w.state())
	}
	w.pass(time.Hour + time.Second)
	w.reconcile()
	if !w.gone() {
		t.Error("the application outlives the policy's time to live")
	}
}

// An application of a namespace that is not the operator's is left as it is, and goes on when the namespace is back.
func TestNamespaceIsLeftAlone(t *testing.T) {
	w := newHarness(t, testutil.Pi())
	watched := true
	w.engine.Watches = func(namespace string) bool { return watched && namespace == "jobs" }
	w.reconcile()
	w.kubelet(corev1.PodRunning, running())
	w.settle()
	watched = false
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	before := fmt.Sprint(w.reads, w.writes)
	if r := w.reconcile(); r.RequeueAfter != 0 || fmt.Sprint(w.reads, w.writes) != before || w.state() != "RUNNING" {
		t.Errorf("%s, again after %s, reads %v, writes %v", w.state(), r.RequeueAfter, w.reads, w.writes)
	}
	watched = true
	w.settle()
	if w.state() != "COMPLETED" {
		t.Errorf("it did not go on: %s", w.state())
	}
}

// Who waits is woken in turns of the namespaces, the longest first.
func TestWaitersTakeTurns(t *testing.T) {
	m := NewSchedulers(clock.RealClock{}, nil)
	kind := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Queue"}
	wait := func(namespace, name string, minute int) {
		m.waiting[scheduler.Key{Namespace: namespace, Name: name}] = waiter{since: start.Add(time.Duration(minute) * time.Minute), kinds: []schema.GroupVersionKind{kind}}
	}
	for i := range 100 {
		wait("a", fmt.Sprint(i), i)
	}
	wait("b", "only", 500)
	wait("c", "1", 300)
	wait("c", "2", 200)
	m.waiting[scheduler.Key{Namespace: "d", Name: "other"}] = waiter{since: start}
	var got []string
	for _, app := range m.waitersFor(kind, "")[:6] {
		got = append(got, app.Namespace+"/"+app.Name)
	}
	if diff := cmp.Diff([]string{"a/0", "c/2", "b/only", "a/1", "c/1", "a/2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(m.waitersFor(kind, "")); n != 103 {
		t.Errorf("%d wait, want 103", n)
	}
}

const configHead = "apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\n"

// look is a reloader over a file that tests change.
type look struct {
	t       *testing.T
	r       *reloader
	log     strings.Builder
	applied []config.OperatorConfiguration
	events  *events.FakeRecorder
	metrics *metrics.Metrics
}

func newLook(t *testing.T, sections string) *look {
	t.Helper()
	l := &look{t: t, events: events.NewFakeRecorder(10), metrics: metrics.New(config.Metrics{MaxLabelValues: 1})}
	path := filepath.Join(t.TempDir(), "config.yaml")
	l.r = &reloader{
		log: funcr.New(func(_, args string) { l.log.WriteString(args + "\n") }, funcr.Options{}),
		apply: func(_ context.Context, c config.OperatorConfiguration) {
			l.applied = append(l.applied, c)
		},
		metrics: l.metrics, recorder: l.events, pod: &corev1.Pod{},
	}
	l.r.started.File = path
	l.write(sections)
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	l.r.started = c
	return l
}

func (l *look) write(sections string) {
	l.t.Helper()
	if err := os.WriteFile(l.r.started.File, []byte(configHead+sections), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// after returns how often something was applied and what was logged since.
func (l *look) after() (applied int, log string) {
	l.t.Helper()
	before, written := len(l.applied), l.log.Len()
	l.r.look(l.t.Context())
	return len(l.applied) - before, l.log.String()[written:]
}

// told returns the events since it was called last.
func (l *look) told() []string {
	var all []string
	for {
		select {
		case e := <-l.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

// An administrator sees on the operator's pod what became of an edit, and Prometheus counts it.
func TestReloadIsTold(t *testing.T) {
	l := newLook(t, "namespaces: [a]")
	many := "namespaces: [B" + strings.Repeat(", \u00fc", 400) + "]"
	const reloads, needed = "spark_operator_configuration_reloads_total ", "spark_operator_configuration_restart_needed"
	steps := []struct {
		reason, file string
		want         []string
		count        map[string]float64
	}{
		{reason: "as it was at the start", file: "namespaces: [a]", count: map[string]float64{}},
		{
			reason: "a policy", file: "namespaces: [a, b]\npolicies: [{name: x, namespaces: [a]}]",
			want:  []string{"Normal ConfigurationReloaded namespaces and policies of the changed configuration are in force: policies: 1; namespaces: a, b"},
			count: map[string]float64{reloads + "applied": 1},
		},
		{
			reason: "wrong", file: "namespaces: [a]\npolicies: [{name: x}]",
			want:  []string{`Warning ConfigurationRefused the changed configuration is not applied, the former one stays in force: policies[0].namespaces: "": name at least one; "*" stands for all`},
			count: map[string]float64{reloads + "applied": 1, reloads + "refused": 1},
		},
		{
			reason: "wrong in another way, with more to say than an event holds", file: many,
			want:  []string{"Warning ConfigurationRefused the changed configuration is not applied, the former one stays in force: "},
			count: map[string]float64{reloads + "applied": 1, reloads + "refused": 2},
		},
		{
			reason: "a section that is read at the start", file: "namespaceSelector: x=y\nworkers: 3",
			want: []string{
				"Warning ConfigurationNeedsRestart the configuration differs from that at the start in sections that are read at the start only: workers",
				"Normal ConfigurationReloaded namespaces and policies of the changed configuration are in force: policies: 0; namespaceSelector: x=y",
			},
			count: map[string]float64{reloads + "applied": 2, reloads + "refused": 2, needed: 1},
		},
		{
			reason: "no restart is needed any more", file: "namespaces: [c]\nnamespaceSelector: x=y",
			want:  []string{"Normal ConfigurationReloaded namespaces and policies of the changed configuration are in force: policies: 0; namespaces: c; namespaceSelector: x=y"},
			count: map[string]float64{reloads + "applied": 3, reloads + "refused": 2},
		},
		{
			reason: "everywhere", file: "{}",
			want:  []string{"Normal ConfigurationReloaded namespaces and policies of the changed configuration are in force: policies: 0; all namespaces"},
			count: map[string]float64{reloads + "applied": 4, reloads + "refused": 2},
		},
	}
	for _, step := range steps {
		l.write(strings.TrimPrefix(step.file, "{}"))
		l.after()
		l.after()
		got := l.told()
		for i := range got {
			if kind, note, _ := strings.Cut(got[i], ": "); len(note) > maxNote {
				t.Errorf("%s: %s has %d bytes", step.reason, kind, len(note))
			}
			if step.file == many {
				got[i], _, _ = strings.Cut(got[i], "decode")
				got[i], _, _ = strings.Cut(got[i], "namespaces[")
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", step.reason, diff)
		}
		if diff := cmp.Diff(step.count, scrape(t, l.metrics)); diff != "" {
			t.Errorf("%s: metrics (-want +got):\n%s", step.reason, diff)
		}
	}
	l.r.pod, l.r.recorder = nil, nil
	l.write("namespaces: [d]")
	if n, _ := l.after(); n != 1 {
		t.Error("a process outside of a cluster does not reload")
	}
}

func TestReload(t *testing.T) {
	l := newLook(t, "namespaces: [a]")
	step := func(reason string, applied int, says ...string) {
		t.Helper()
		n, log := l.after()
		if n != applied {
			t.Errorf("%s: applied %d times, want %d", reason, n, applied)
		}
		for _, text := range says {
			if !strings.Contains(log, text) {
				t.Errorf("%s: the log does not say %q: %s", reason, text, log)
			}
		}
		if len(says) == 0 && log != "" {
			t.Errorf("%s: logged %s", reason, log)
		}
	}
	step("as it was at the start", 0)
	step("nothing has changed", 0)
	l.write("namespaces: [a, b]")
	step("another list", 1, `"namespaces"=["a" "b"]`)
	step("nothing has changed since", 0)
	l.write("namespaces: [a, B]")
	step("a wrong file", 0, "stays in force", "namespaces[1]")
	step("it is told once", 0)
	l.write("namespaces: [a, b]\nworkers: 3")
	step("a section that is read at the start", 1, "need a restart", "workers")
	l.write("namespaces: [a]")
	step("as it was at the start, but not what is in force", 1, `"namespaces"=["a"]`)
	if err := os.Remove(l.r.started.File); err != nil {
		t.Fatal(err)
	}
	step("a file that is gone", 0, "stays in force")
	step("it is told once", 0)
	l.write("namespaces: [a]")
	step("it is back", 1, "took over")
}

// A file that changed between the start and the first look is taken over.
func TestReloadAtOnce(t *testing.T) {
	l := newLook(t, "namespaces: [a]")
	l.write("namespaces: [b]")
	if n, log := l.after(); n != 1 {
		t.Errorf("applied %d times: %s", n, log)
	}
}
