// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

type object = v1beta2.ScheduledSparkApplication

// lab is an engine with an API server, whose writes are counted.
type lab struct {
	*Engine[*object, *v1beta2.SparkApplication]
	t      *testing.T
	server client.WithWatch
	clock  *clocktesting.FakePassiveClock
	writes []string
	// refuse answers creates; nil lets them through.
	refuse   error
	recorder *events.FakeRecorder
}

var created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newLab has a schedule that runs every hour and was created at midnight.
func newLab(t *testing.T, change func(*object), more ...client.Object) *lab {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta2.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	o := &object{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "hourly", UID: "u", CreationTimestamp: metav1.NewTime(created), Generation: 1}}
	o.Spec.Schedule = "@hourly"
	if change != nil {
		change(o)
	}
	l := &lab{t: t, clock: clocktesting.NewFakePassiveClock(created.Add(time.Hour)), recorder: events.NewFakeRecorder(100)}
	l.server = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(more, o)...).WithStatusSubresource(o).
		WithIndex(&v1beta2.SparkApplication{}, observe.IndexSchedule, indexed(kubeflow.Schedules{})).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				l.writes = append(l.writes, "create "+o.GetName())
				if l.refuse != nil {
					return l.refuse
				}
				return c.Create(ctx, o, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				l.writes = append(l.writes, "delete "+o.GetName())
				return c.Delete(ctx, o, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				l.writes = append(l.writes, "patch "+sub)
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
	l.Engine = NewEngine(kubeflow.Schedules{}, &v1beta2.ScheduledSparkApplicationList{}, &v1beta2.SparkApplicationList{}, observe.Reader{Cache: l.server, Live: l.server}, l.server, l.recorder, l.clock, time.UTC, schedule.Minutes)
	return l
}

func (l *lab) reconcile() ctrl.Result {
	l.t.Helper()
	result, err := l.Reconcile(l.t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "jobs", Name: "hourly"}})
	if err != nil {
		l.t.Fatal(err)
	}
	return result
}

func (l *lab) status() v1beta2.ScheduledSparkApplicationStatus {
	l.t.Helper()
	var o object
	if err := l.server.Get(l.t.Context(), client.ObjectKey{Namespace: "jobs", Name: "hourly"}, &o); err != nil {
		l.t.Fatal(err)
	}
	return o.Status
}

func (l *lab) stalled() string {
	l.t.Helper()
	if c := meta.FindStatusCondition(l.status().Conditions, schedule.ConditionStalled); c != nil {
		return c.Reason
	}
	return ""
}

func (l *lab) wrote(reason string, want ...string) {
	l.t.Helper()
	if diff := cmp.Diff(want, l.writes); diff != "" {
		l.t.Errorf("%s: writes (-want +got):\n%s", reason, diff)
	}
	l.writes = nil
}

// first is the run of one o'clock.
const first = "hourly-29453820"

func TestOneCreateAndOnePatch(t *testing.T) {
	l := newLab(t, nil)
	l.reconcile()
	l.wrote("a run is due", "create "+first, "patch status")
	if got := l.reconcile(); got.RequeueAfter != time.Hour {
		t.Errorf("the timer ends after %s", got.RequeueAfter)
	}
	l.wrote("nothing is due")
	if s := l.status(); s.LastRunName != first || s.NextRun.UTC().Hour() != 2 || !s.LastScheduledTime.Equal(&metav1.Time{Time: created.Add(time.Hour)}) {
		t.Errorf("status %+v", s)
	}
	if got := <-l.recorder.Events; !strings.Contains(got, "RunStarted") {
		t.Errorf("event %s", got)
	}
}

func TestRefusals(t *testing.T) {
	resource := schema.GroupResource{Group: "sparkoperator.k8s.io", Resource: "sparkapplications"}
	for name, err := range map[string]error{
		"policy":  apierrors.NewForbidden(resource, first, errors.New("denied by a policy")),
		"invalid": apierrors.NewInvalid(schema.GroupKind{Kind: "SparkApplication"}, first, nil),
		"gone":    apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "jobs"),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			l.refuse = err
			if got := l.reconcile(); got.RequeueAfter != 30*time.Second {
				t.Errorf("tried again after %s", got.RequeueAfter)
			}
			l.wrote("it is refused", "create "+first, "patch status")
			if got := l.stalled(); got != string(schedule.ReasonRunRefused) {
				t.Errorf("stalled: %s", got)
			}
			l.reconcile()
			l.wrote("the event of our own write")
			l.refuse = nil
			l.clock.SetTime(l.clock.Now().Add(30 * time.Second))
			l.reconcile()
			l.wrote("half a minute later", "create "+first, "patch status")
			if got := l.stalled(); got != string(schedule.ReasonNoTrouble) {
				t.Errorf("stalled: %s", got)
			}
		})
	}
}

func TestServerErrorsBackOff(t *testing.T) {
	l := newLab(t, nil)
	l.refuse = apierrors.NewInternalError(errors.New("etcd is away"))
	if _, err := l.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "jobs", Name: "hourly"}}); err == nil || !strings.Contains(err.Error(), "etcd is away") {
		t.Errorf("error %v", err)
	}
	if l.status().LastScheduledTime != nil {
		t.Error("the run is taken for started")
	}
}

func TestNameConflict(t *testing.T) {
	l := newLab(t, nil, &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: first, UID: "other"}})
	l.reconcile()
	l.wrote("the name is taken", "create "+first, "patch status")
	if got := l.stalled(); got != string(schedule.ReasonNameConflict) {
		t.Errorf("stalled: %s", got)
	}
	l.clock.SetTime(created.Add(2 * time.Hour))
	l.reconcile()
	if s := l.status(); s.SkippedRuns != 1 || s.LastSkippedReason != string(schedule.SkipConflict) {
		t.Errorf("when the next is due: %+v", s)
	}
}

// blind is a cache without runs.
type blind struct{ client.Reader }

func (blind) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestRunOfACrashedOperator(t *testing.T) {
	l := newLab(t, nil)
	var o object
	if err := l.server.Get(t.Context(), client.ObjectKey{Namespace: "jobs", Name: "hourly"}, &o); err != nil {
		t.Fatal(err)
	}
	tick := created.Add(time.Hour)
	if err := l.server.Create(t.Context(), kubeflow.NewRun(&o, schedule.Start{Name: first, Reason: schedule.ReasonSchedule, Tick: tick})); err != nil {
		t.Fatal(err)
	}
	l.writes = nil
	l.Reader.Cache = blind{l.server}
	l.reconcile()
	l.wrote("its name tells", "create "+first, "patch status")
	if s := l.status(); s.LastRunName != first || l.stalled() != string(schedule.ReasonNoTrouble) {
		t.Errorf("status %+v", s)
	}
}

func TestLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*lab, *object){
		"elsewhere": func(l *lab, _ *object) { l.Watches = func(string) bool { return false } },
		"deleted": func(_ *lab, o *object) {
			o.DeletionTimestamp, o.Finalizers = &metav1.Time{Time: created}, []string{"x/y"}
		},
		"gone": func(_ *lab, o *object) { o.Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			var l *lab
			late := func(o *object) { change(&lab{Engine: &Engine[*object, *v1beta2.SparkApplication]{}}, o) }
			l = newLab(t, late)
			change(l, &object{})
			if got := l.reconcile(); got.RequeueAfter != 0 {
				t.Errorf("it is reconciled again after %s", got.RequeueAfter)
			}
			l.wrote(name)
		})
	}
}

// outdated is a live reader that knows a later version of the schedule.
type outdated struct{ client.Reader }

func (o outdated) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	err := o.Reader.Get(ctx, key, into, opts...)
	into.SetResourceVersion("later")
	return err
}

func TestStaleSchedule(t *testing.T) {
	l := newLab(t, nil)
	l.Reader.Live = outdated{l.server}
	if got := l.reconcile(); got.RequeueAfter != raceRetry {
		t.Errorf("tried again after %s", got.RequeueAfter)
	}
	l.wrote("somebody has changed it")
}

// A run that is deleted counts as active as long as its driver lives.
func TestDriverOfADeletedRun(t *testing.T) {
	driver := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "old-driver", Labels: map[string]string{v1beta2.LabelAppName: "old", "spark-role": "driver"}}}
	l := newLab(t, func(o *object) {
		o.Spec.ConcurrencyPolicy, o.Status.Active = v1beta2.ConcurrencyForbid, []string{"old"}
	}, driver)
	l.reconcile()
	l.wrote("it waits", "patch status")
	if got := l.status().Active; !cmp.Equal(got, []string{"old"}) {
		t.Errorf("active: %v", got)
	}
	driver.Status.Phase = corev1.PodSucceeded
	if err := l.server.Status().Update(t.Context(), driver); err != nil {
		t.Fatal(err)
	}
	l.reconcile()
	l.wrote("the driver has ended", "create "+first, "patch status")
}

func TestMetricsOfSchedules(t *testing.T) {
	l := newLab(t, nil)
	l.Metrics = metrics.New(config.Metrics{MaxLabelValues: 10})
	l.reconcile()
	leads := false
	states := func() map[string]int {
		all := map[string]int{}
		l.schedules(func() bool { return leads })(func(_ metrics.Subject, state string) { all[state]++ })
		return all
	}
	if got := states(); len(got) > 0 {
		t.Errorf("a standby reports %v", got)
	}
	leads = true
	if diff := cmp.Diff(map[string]int{"Scheduled": 1}, states()); diff != "" {
		t.Error(diff)
	}
	for want, o := range map[string]*object{
		"New": {}, "Suspended": {Spec: v1beta2.ScheduledSparkApplicationSpec{Suspend: new(true)}, Status: v1beta2.ScheduledSparkApplicationStatus{ScheduleState: "Scheduled"}},
		"FailedValidation": {Status: v1beta2.ScheduledSparkApplicationStatus{ScheduleState: "FailedValidation"}},
	} {
		if got := l.Kind.State(o); got != want {
			t.Errorf("state %s, want %s", got, want)
		}
	}
}
