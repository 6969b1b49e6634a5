// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const poll = 100 * time.Millisecond

// patience is the timeout of each wait. A developer of a case may shorten it.
var patience = func() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("CONFORMANCE_PATIENCE")); err == nil {
		return d
	}
	return 2 * time.Minute
}()

// Harness holds the namespace, the operator and the place of one case.
type Harness struct {
	*testing.T
	Subject
	Client    client.Client
	Namespace string

	namespaces []string
	operator   *operator
	place      Place
	// apache is set where the operator runs the kinds of spark.apache.org, too.
	apache bool
	// everywhere is set where the operator is for all namespaces. The case must be alone then.
	everywhere bool
}

type app = v1beta2.SparkApplication

var namespaceNumber atomic.Int64

func newHarness(t *testing.T, s Subject, c client.Client) *Harness {
	t.Helper()
	w := &Harness{T: t, Subject: s, Client: c}
	w.Namespace = w.newNamespace()
	return w
}

// newNamespace makes a namespace that is left without applications and without a place when the case is over. It is not
// deleted: looking for objects of every kind in each of hundreds of namespaces is a good part of a test's time.
// Namespaces are made before the operator starts, which looks after those that there are then.
func (w *Harness) newNamespace() string {
	w.Helper()
	name := fmt.Sprintf("conf-%d", namespaceNumber.Add(1))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(w, "create a namespace", w.Client.Create(w.Context(), ns))
	w.namespaces = append(w.namespaces, name)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if w.Failed() {
			w.Log(w.describe(ctx, name))
		}
		must(w, "delete its schedules", w.Client.DeleteAllOf(ctx, &scheduled{}, client.InNamespace(name)))
		must(w, "delete its applications", w.Client.DeleteAllOf(ctx, &app{}, client.InNamespace(name)))
		must(w, "delete its applications of the other family", w.Client.DeleteAllOf(ctx, &apacheApp{}, client.InNamespace(name)))
		must(w, "delete its clusters", w.Client.DeleteAllOf(ctx, &v1.SparkCluster{}, client.InNamespace(name)))
		must(w, "delete its servers", w.Client.DeleteAllOf(ctx, &connect{}, client.InNamespace(name)))
		// at once: the next case needs their room
		must(w, "delete its pods", w.Client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(name), client.GracePeriodSeconds(0)))
		must(w, "take its place away", w.Environment.Remove(ctx, name))
	})
	return name
}

// watched are the namespaces that the operator is for; none stands for all.
func (w *Harness) watched() []string {
	if w.everywhere {
		return nil
	}
	return w.namespaces
}

// describe logs the state of the namespace after a failed case.
func (w *Harness) describe(ctx context.Context, namespace string) string {
	var b strings.Builder
	var apps v1beta2.SparkApplicationList
	if err := w.Client.List(ctx, &apps, client.InNamespace(namespace)); err != nil {
		return err.Error()
	}
	for _, a := range apps.Items {
		fmt.Fprintf(&b, "application %s: state %q %s scheduling %+v\n", a.Name, a.Status.AppState.State, a.Status.AppState.ErrorMessage, a.Status.Scheduling)
		for _, attempt := range a.Status.Attempts {
			fmt.Fprintf(&b, "  attempt %+v\n", attempt)
		}
		for _, c := range a.Status.Conditions {
			fmt.Fprintf(&b, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	var pods corev1.PodList
	if err := w.Client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return err.Error()
	}
	for _, p := range pods.Items {
		fmt.Fprintf(&b, "pod %s: %s %s on %q by %s, deleting %v, %v\n", p.Name, p.Status.Phase, p.Status.Reason, p.Spec.NodeName,
			p.Spec.SchedulerName, p.DeletionTimestamp != nil, p.Status.Conditions)
	}
	for _, o := range w.owned(ctx, namespace) {
		fmt.Fprintf(&b, "%s %s: spec %v status %v\n", o.GetKind(), o.GetName(), o.Object["spec"], o.Object["status"])
	}
	return b.String()
}

// OperatorUser is the operator's account, as the chart names it. It has every right here, except in the cases about rights.
const OperatorUser = "system:serviceaccount:spark-operator:spark-operator-controller"

// masters is the group with every right.
const masters = "system:masters"

// start starts the operator. The case begins with it.
func (w *Harness) start() {
	w.Helper()
	cfg := rest.CopyConfig(w.Admin)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: OperatorUser, Groups: []string{masters}}
	w.operator = newOperator(w, cfg)
	w.operator.start()
	w.Cleanup(func() { w.operator.stop() })
}

// room is as much as a number of standard applications ask for.
func room(applications int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(2*applications, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(2*896<<20*applications, resource.BinarySI),
	}
}

// startWithRoomFor makes a place for a number of standard applications, and starts the operator.
func (w *Harness) startWithRoomFor(applications int64) {
	w.Helper()
	w.makePlace(applications)
	w.start()
}

func (w *Harness) makePlace(applications int64) {
	w.Helper()
	place, err := w.Environment.Place(w.Context(), w.Namespace, room(applications))
	must(w, "make a place", err)
	w.place = place
}

// application returns a standard one: a driver and one executor, each of one CPU and 896 MiB.
func (w *Harness) application(name string, changes ...func(*app)) *app {
	pod := v1beta2.SparkPodSpec{
		Cores: ptr.To[int32](1), Memory: ptr.To("512m"), NodeSelector: w.place.NodeSelector, Tolerations: w.place.Tolerations,
	}
	a := testutil.Pi(testutil.New(w.Namespace, name), testutil.Executors(1))
	a.Spec.BatchScheduler, a.Spec.Driver.SparkPodSpec, a.Spec.Executor.SparkPodSpec = &w.Scheduler, *pod.DeepCopy(), *pod.DeepCopy()
	if w.place.Queue != "" {
		a.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: &w.place.Queue}
	}
	for _, change := range changes {
		change(a)
	}
	return a
}

// QueueName is the name of a queue that no other case uses.
func (w *Harness) QueueName(name string) string { return w.QueuePrefix + w.Namespace + "-" + name }

func (w *Harness) create(name string, changes ...func(*app)) *app {
	w.Helper()
	a := w.application(name, changes...)
	must(w, "create the application", w.Client.Create(w.Context(), a))
	return a
}

// change edits the application's specification.
func (w *Harness) change(a *app, edit func(*app)) {
	w.Helper()
	w.eventually("change "+a.Name, func() error {
		current, err := w.get(a)
		if err != nil {
			return err
		}
		edit(current)
		return w.Client.Update(w.Context(), current)
	})
}

// touch triggers the operator without another change.
func (w *Harness) touch(a *app, mark string) {
	w.Helper()
	w.change(a, func(o *app) { metav1.SetMetaDataAnnotation(&o.ObjectMeta, "touched", mark) })
}

func (w *Harness) get(a *app) (*app, error) {
	var current app
	err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(a), &current)
	return &current, err
}

// eventually waits for a condition. The error names what is missing.
func (w *Harness) eventually(what string, check func() error) {
	w.Helper()
	if err := eventually(w.Context(), check); err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

func eventually(ctx context.Context, check func() error) error {
	last := error(nil)
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("not within %s: %w", patience, last)
	}
	return nil
}

// during sees to it that something stays so for a while.
func (w *Harness) during(what string, d time.Duration, check func() error) {
	w.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := check(); err != nil {
			w.Fatalf("%s: %v", what, err)
		}
		select {
		case <-w.Context().Done():
			w.Fatal(w.Context().Err())
		case <-time.After(poll):
		}
	}
}

// nextSecond waits for the next second: statuses have times in whole seconds, which decide the order.
func (w *Harness) nextSecond() {
	w.Helper()
	now := time.Now().Unix()
	w.eventually("the next second", func() error {
		if time.Now().Unix() == now {
			return errors.New("it is the same second")
		}
		return nil
	})
}
