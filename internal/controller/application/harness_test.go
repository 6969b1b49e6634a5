// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

var (
	start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	key   = types.NamespacedName{Namespace: "jobs", Name: "pi"}
)

// plain is a scheduler plugin that returns what a test sets. The core knows no real one.
type plain struct{ admission scheduler.Admission }

func (plain) Describe() scheduler.Descriptor                          { return scheduler.Descriptor{Name: "plain"} }
func (plain) Validate(scheduler.Attempt) field.ErrorList              { return nil }
func (plain) Reads(scheduler.Attempt) []scheduler.Read                { return nil }
func (plain) Decorate(scheduler.Attempt, *scheduler.Decoration) error { return nil }
func (p plain) Admit(scheduler.Attempt, scheduler.Snapshot) (scheduler.Admission, error) {
	return p.admission, nil
}

var goAhead = scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Message: "nothing holds the application back"}

// harness is a cluster with an operator in it.
type harness struct {
	t        *testing.T
	c        client.WithWatch
	clock    *clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
	engine   *Engine[*v1beta2.SparkApplication]
	plugin   plain
	// others are enabled beside it.
	others []scheduler.Plugin
	// writes counts calls by verb and kind; patchFails answers the next status patches.
	writes map[string]int
	// reads counts calls by verb and kind.
	reads      map[string]int
	patchFails error
	// beforePatch happens between the read and the status write of a reconcile.
	beforePatch func()
	uids        int
	log         logr.Logger
}

func newHarness(t *testing.T, objects ...client.Object) *harness {
	t.Helper()
	w := &harness{t: t, clock: clocktesting.NewFakePassiveClock(start), recorder: events.NewFakeRecorder(100), writes: map[string]int{}, reads: map[string]int{}, plugin: plain{goAhead}}
	w.c = fake.NewClientBuilder().WithScheme(apiserver.Scheme()).WithObjects(objects...).
		WithStatusSubresource(&v1beta2.SparkApplication{}, &corev1.Pod{}).
		WithReturnManagedFields().
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				w.reads["get "+fmt.Sprintf("%T", obj)]++
				return c.Get(ctx, key, obj, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				w.reads["list "+fmt.Sprintf("%T", list)]++
				if _, selected := list.(*corev1.EventList); selected {
					opts = nil // the fake server has no field selectors for events
				}
				return c.List(ctx, list, opts...)
			},
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				w.uids++
				obj.SetUID(types.UID(fmt.Sprintf("uid-%d", w.uids)))
				obj.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
				w.writes["create "+fmt.Sprintf("%T", obj)]++
				return c.Create(ctx, obj, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
				w.writes["delete "+fmt.Sprintf("%T", obj)]++
				return c.Delete(ctx, obj, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				if w.beforePatch != nil {
					w.beforePatch()
				}
				if w.patchFails != nil {
					return w.patchFails
				}
				w.writes["status"]++
				return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
			},
		}).Build()
	w.restart()
	return w
}

// restart is a new operator process in the same cluster.
func (w *harness) restart() {
	w.t.Helper()
	registry, err := scheduler.NewRegistry("plain", append([]scheduler.Plugin{w.plugin}, w.others...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	reader := observe.Reader{Cache: w.c, Live: w.c}
	w.engine = NewEngine(kubeflow.SparkApplications{}, &v1beta2.SparkApplicationList{}, reader, w.c, registry, w.recorder, w.clock, reservations.New(w.clock, nil, scheduler.Order{}))
}

// reconcile runs once and expects no error.
func (w *harness) reconcile() ctrl.Result {
	w.t.Helper()
	r, err := w.engine.Reconcile(logr.NewContext(w.t.Context(), w.log), reconcile.Request{NamespacedName: key})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// settle reconciles, and lets the time pass that is asked for if it is short, until nothing happens any more.
func (w *harness) settle() ctrl.Result {
	w.t.Helper()
	const patience, short = 30, 10 * time.Second
	for range patience {
		before := maps.Clone(w.writes)
		r := w.reconcile()
		if maps.Equal(before, w.writes) && (r.RequeueAfter == 0 || r.RequeueAfter > short) {
			return r
		}
		w.pass(min(r.RequeueAfter, short))
	}
	w.t.Fatalf("still at work after %d reconciles: state %q, writes %v", patience, w.state(), w.writes)
	return ctrl.Result{}
}

// gone reports whether the application is deleted.
func (w *harness) gone() bool {
	w.t.Helper()
	err := w.c.Get(w.t.Context(), key, &v1beta2.SparkApplication{})
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return err != nil
}

// resources counts the Services and ConfigMaps of an attempt.
func (w *harness) resources(submissionID string) int {
	w.t.Helper()
	all, err := w.engine.Reader.Resources(w.t.Context(), "jobs", submissionID)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(all)
}

func (w *harness) pass(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

func (w *harness) app() *v1beta2.SparkApplication {
	w.t.Helper()
	var o v1beta2.SparkApplication
	if err := w.c.Get(w.t.Context(), key, &o); err != nil {
		w.t.Fatal(err)
	}
	return &o
}

// edit changes the spec as a user does.
func (w *harness) edit(change func(*v1beta2.SparkApplication)) {
	w.t.Helper()
	o := w.app()
	change(o)
	o.Generation++
	if err := w.c.Update(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *harness) drivers() []corev1.Pod {
	w.t.Helper()
	var list corev1.PodList
	if err := w.c.List(w.t.Context(), &list, client.InNamespace("jobs"), client.MatchingLabels{"spark-role": "driver"}); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// kubelet reports a phase and the Spark container's state of the driver.
func (w *harness) kubelet(phase corev1.PodPhase, state corev1.ContainerState) {
	w.t.Helper()
	all := w.drivers()
	if len(all) != 1 {
		w.t.Fatalf("%d drivers, want one", len(all))
	}
	p := &all[0]
	p.Status.Phase = phase
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "spark-kubernetes-driver", State: state}}
	if err := w.c.Status().Update(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func exited(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
}

// executor sets the phase of an executor, which is created when it is not there.
func (w *harness) executor(name string, phase corev1.PodPhase) {
	w.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name, Labels: map[string]string{
		v1beta2.LabelAppName: "pi", v1beta2.LabelLaunchedBy: "true", "spark-role": "executor",
		v1beta2.LabelSubmissionID: w.drivers()[0].Labels[v1beta2.LabelSubmissionID],
	}}}
	if err := client.IgnoreAlreadyExists(w.c.Create(w.t.Context(), p)); err != nil {
		w.t.Fatal(err)
	}
	if err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
		w.t.Fatal(err)
	}
	p.Status.Phase = phase
	if err := w.c.Status().Update(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

// events returns the events since it was called last.
func (w *harness) events() []string {
	var out []string
	for {
		select {
		case e := <-w.recorder.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

func (w *harness) state() string { return string(w.app().Status.AppState.State) }
