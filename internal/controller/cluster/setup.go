// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/fairqueue"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/operator"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// Kind translates between one kind of standalone clusters and the model. The results of its methods depend only on the arguments.
type Kind[T client.Object] interface {
	// New returns an empty object.
	New() T
	// Family describes the kind to the core.
	Family() lifecycle.Family
	// Load returns the cluster under the current policies. apply fills in the policies' defaults, and check returns violations in the objects that are built
	// with them.
	Load(o T, apply func(spark.Application) spark.Application, check func(spark.Standalone) []*spark.ConfError) standalone.Loaded
	// Desired returns the input of standalone.Decide from the object and its scheduler's plugin. It also returns the objects of the cluster, in the order of
	// their parts.
	Desired(T, standalone.Loaded, scheduler.Descriptor, scheduler.Decoration) (standalone.Cluster, []spark.Object)
	// ToStatus returns a copy of the object with the status of the outcome. changed is false if the status stays the same.
	ToStatus(o T, outcome standalone.Outcome, now time.Time) (next T, changed bool)
	// State returns the name of the cluster's state and its message; both are empty for a cluster without a status.
	State(T) (word, message string)
}

// kind is a kind of clusters. It implements application.Kind.
type kind[T client.Object] struct {
	Kind[T]
	list        client.ObjectList
	addToScheme func(*runtime.Scheme) error
}

// NewKind returns a kind of clusters, which implements application.Kind. list is an empty list of clusters, and addToScheme adds their types to a scheme.
func NewKind[T client.Object](k Kind[T], list client.ObjectList, addToScheme func(*runtime.Scheme) error) kind[T] {
	return kind[T]{k, list, addToScheme}
}

// AddToScheme implements application.Kind.
func (k kind[T]) AddToScheme(s *runtime.Scheme) error { return k.addToScheme(s) }

// Owned returns an empty object for each kind of a cluster's objects. The cache holds the objects with a cluster's label.
func (kind[T]) Owned() []client.Object {
	all := make([]client.Object, 0, len(owned))
	for _, empty := range owned {
		all = append(all, empty())
	}
	return all
}

// Setup implements application.Kind.
func (k kind[T]) Setup(s *operator.Shared) error {
	now := clock.RealClock{}
	writer := operator.CountWrites(client.WithFieldOwner(s.Manager.GetClient(), actuate.FieldOwner), s.Metrics, now, s.Manager.GetScheme())
	engine := NewEngine(k.Kind, k.list, s.Reader, writer, s.Recorder, now, s.Schedulers, func() resolve.Operator {
		return resolve.Operator{Registry: s.Registry, Policies: s.Policies(), Submitters: s.Submitters()}
	})
	engine.Kinds, engine.Watches = s.SchedulerKinds, s.Namespaces.Watches
	family := k.Family()
	concerned := handler.EnqueueRequestsFromMapFunc(clusterOf(family.Labels.App))
	b := ctrl.NewControllerManagedBy(s.Manager).
		Named(strings.ToLower(family.Kind)).
		For(k.New()).
		Watches(&corev1.Pod{}, concerned).
		WatchesRawSource(source.Channel(s.SchedulerKinds.Events(family.GroupKind()), &handler.EnqueueRequestForObject{})).
		WatchesRawSource(s.Namespaces.Source(s.Reader.Names(k.list))).
		WithOptions(fairqueue.Options(s.Config.Workers))
	for _, object := range k.Owned() {
		b = b.Watches(object, concerned)
	}
	if err := b.Complete(engine); err != nil {
		return fmt.Errorf("set up the controller of clusters: %w", err)
	}
	return nil
}

// clusterOf returns a function that returns the cluster in a label of an object.
func clusterOf(label string) handler.MapFunc {
	return func(_ context.Context, o client.Object) []reconcile.Request {
		name := o.GetLabels()[label]
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
	}
}
