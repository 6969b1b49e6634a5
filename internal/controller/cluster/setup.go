// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/fairqueue"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/operator"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

// Kind is the kind of clusters among those of applications (application.Kind).
type Kind struct {
	// KeepHistory keeps the states of all attempts in one history.
	KeepHistory bool
}

// Family implements application.Kind.
func (Kind) Family() lifecycle.Family { return apache.ClusterFamily }

// AddToScheme implements application.Kind.
func (Kind) AddToScheme(s *runtime.Scheme) error { return v1.AddToScheme(s) }

// Owned are empty objects of the kinds that a cluster consists of. The cache holds those that name a cluster.
func (Kind) Owned() []client.Object {
	all := make([]client.Object, 0, len(owned))
	for _, empty := range owned {
		all = append(all, empty())
	}
	return all
}

// Setup implements application.Kind: it adds the controller to the manager.
func (k Kind) Setup(s *operator.Shared) error {
	now := clock.RealClock{}
	writer := operator.CountWrites(client.WithFieldOwner(s.Manager.GetClient(), actuate.FieldOwner), s.Metrics, now, s.Manager.GetScheme())
	engine := NewEngine(s.Reader, writer, s.Recorder, now, s.Schedulers, func() resolve.Operator {
		return resolve.Operator{Registry: s.Registry, Policies: s.Policies(), Submitters: s.Config.Submitter.From}
	})
	engine.Watches, engine.KeepHistory = s.Namespaces.Watches, k.KeepHistory
	b := ctrl.NewControllerManagedBy(s.Manager).
		Named("sparkcluster").
		For(&v1.SparkCluster{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		WatchesRawSource(source.Channel(s.SchedulerKinds.Events(apache.ClusterFamily.GroupKind()), &handler.EnqueueRequestForObject{})).
		WatchesRawSource(s.Namespaces.Source(engine.names)).
		WithOptions(fairqueue.Options(s.Config.Workers))
	for _, object := range k.Owned() {
		b = b.Watches(object, handler.EnqueueRequestsFromMapFunc(clusterOf))
	}
	if err := b.Complete(engine); err != nil {
		return fmt.Errorf("set up the controller of clusters: %w", err)
	}
	return nil
}

// clusterOf is the cluster that an object names.
func clusterOf(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[v1.LabelClusterName]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// names names the clusters of a namespace, or all with "", in the cache.
func (e *Engine) names(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	var all v1.SparkClusterList
	err := e.Reader.Cache.List(ctx, &all, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	names := make([]types.NamespacedName, 0, len(all.Items))
	for i := range all.Items {
		names = append(names, client.ObjectKeyFromObject(&all.Items[i]))
	}
	return names, err
}
