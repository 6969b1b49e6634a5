// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// bare is a cluster of one application that costs next to nothing, so that what is measured is the operator's.
type bare struct {
	client.Client
	app     *v1beta2.SparkApplication
	pods    toolscache.Indexer
	cached  func(any) (any, error)
	created []client.Object
	version int
	// frozen is a cluster in which nothing comes about: every reconcile finds the same.
	frozen bool
}

func (b *bare) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	switch out := out.(type) {
	case *v1beta2.SparkApplication:
		b.app.DeepCopyInto(out)
		return nil
	case *metav1.PartialObjectMetadata:
		if out.Kind == "SparkApplication" {
			b.app.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (*bare) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (b *bare) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", len(b.created))))
	if !b.frozen {
		b.created = append(b.created, o)
	}
	return nil
}

func (*bare) Delete(context.Context, client.Object, ...client.DeleteOption) error { return nil }

func (b *bare) Status() client.SubResourceWriter { return statuses{bare: b} }

type statuses struct {
	client.SubResourceWriter
	bare *bare
}

func (s statuses) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	b := s.bare
	if _, err := p.Data(o); err != nil {
		return err
	}
	if !b.frozen {
		b.version++
		o.SetResourceVersion(fmt.Sprint(b.version))
		b.app = o.(*v1beta2.SparkApplication).DeepCopy()
	}
	return nil
}

// put is what a watch of pods reports.
func (b *bare) put(pod *corev1.Pod) error {
	cached, err := b.cached(pod)
	if err != nil {
		return err
	}
	return b.pods.Update(cached)
}

// ran is the driver pod that was created, in a phase.
func (b *bare) ran(phase corev1.PodPhase, state corev1.ContainerState) *corev1.Pod {
	for _, o := range b.created {
		if pod, ok := o.(*corev1.Pod); ok {
			pod = pod.DeepCopy()
			pod.Spec.NodeName = "node"
			pod.Status.Phase = phase
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "spark-kubernetes-driver", State: state}}
			return pod
		}
	}
	return nil
}

// newBare returns an application that nobody has looked at, and who looks at it.
func newBare(tb testing.TB) (c *bare, look func()) {
	tb.Helper()
	labels := kubeflow.SparkApplications{}.Family().Labels
	app := testutil.Pi(testutil.Executors(2))
	app.ResourceVersion = "0"
	c = &bare{app: app, pods: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, observe.IndexPods(labels.App)), cached: observe.CachePod(labels)}
	registry, err := scheduler.NewRegistry("plain", plain{goAhead})
	if err != nil {
		tb.Fatal(err)
	}
	clock := clocktesting.NewFakePassiveClock(start)
	reader := observe.Reader{Cache: c, Live: c, Pods: observe.CachedPods(func(context.Context, string) (toolscache.Indexer, error) { return c.pods, nil })}
	engine := NewEngine(kubeflow.SparkApplications{}, &v1beta2.SparkApplicationList{}, reader, c, registry, &events.FakeRecorder{}, clock, reservations.New(clock, nil, scheduler.Order{}))
	engine.Exposure = exposure.Config{Service: true}
	return c, func() {
		if _, err := engine.Reconcile(tb.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkReconcile is the operator's own part of what the reconciles of an application cost: with its UI Service, without a batch
// scheduler.
func BenchmarkReconcile(b *testing.B) {
	driver := func(phase corev1.PodPhase, state corev1.ContainerState) func(*bare) error {
		return func(c *bare) error { return c.put(c.ran(phase, state)) }
	}
	nothing := func(*bare) error { return nil }
	started := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start.Add(time.Second))}}
	steps := []struct {
		name string
		// happens is what happens before the look, and shows the state after it.
		happens func(*bare) error
		shows   v1beta2.ApplicationStateType
	}{
		{"submits", nothing, v1beta2.ApplicationStateSubmitted},
		{"has submitted", driver(corev1.PodPending, corev1.ContainerState{}), v1beta2.ApplicationStateSubmitted},
		{"sees it run", driver(corev1.PodRunning, started), v1beta2.ApplicationStateRunning},
		{"has seen it run", nothing, v1beta2.ApplicationStateRunning},
		{"sees its end", driver(corev1.PodSucceeded, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}), v1beta2.ApplicationStateCompleted},
		{"rests", nothing, v1beta2.ApplicationStateCompleted},
	}
	for i, step := range steps {
		b.Run(step.name, func(b *testing.B) {
			c, look := newBare(b)
			for _, before := range steps[:i] {
				if err := before.happens(c); err != nil {
					b.Fatal(err)
				}
				look()
				if got := c.app.Status.AppState.State; got != before.shows {
					b.Fatalf("after %q the application is %q, not %q", before.name, got, before.shows)
				}
			}
			if err := step.happens(c); err != nil {
				b.Fatal(err)
			}
			c.frozen = true
			b.ReportAllocs()
			for b.Loop() {
				look()
			}
		})
	}
}
