// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/namespaced"
)

// retryPeriod is the interval of tries to start watching a namespace. A started watch retries by itself, at least once a minute.
const retryPeriod = 15 * time.Second

// Namespaces are the namespaces that the operator works in. They change at run time, with the configuration and with the labels of namespaces. Applications
// in other namespaces are left unchanged, and continue when their namespace matches again.
type Namespaces struct {
	log logr.Logger
	// cache holds applications and pods. The other caches follow its namespaces.
	cache  *namespaced.Cache
	others []*namespaced.Cache
	// controllers are the controllers whose applications continue when a namespace matches again.
	controllers []*followed
	// arrived is called when more applications become visible.
	arrived func()
	metrics *metrics.Metrics
	// own is the operator's namespace.
	own string

	// following is locked while the caches are updated, and shown while metrics are updated.
	following, shown sync.Mutex

	mu       sync.Mutex
	all      bool
	listed   []string
	selector labels.Selector
	labels   map[string]labels.Set // of existing namespaces, if there is a selector
	stop     func()                // ends the watch of namespaces; nil if there is none
	targets  []string
	failed   bool
	joined   map[string]time.Time // when the labels of namespaces began to match the selector
}

// followed is a controller whose objects are in the namespaces.
type followed struct {
	// list returns the controller's cached objects in a namespace; "" means all namespaces.
	list func(ctx context.Context, namespace string) ([]types.NamespacedName, error)
	// queue is nil until the controller starts.
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Targets returns the namespaces to watch.
func Targets(c config.OperatorConfiguration) []string {
	if c.ClusterWide() {
		return []string{namespaced.All}
	}
	return c.Namespaces
}

// Watches reports whether the operator currently works in a namespace.
func (n *Namespaces) Watches(namespace string) bool {
	n.mu.Lock()
	chosen := n.choosesLocked(namespace)
	n.mu.Unlock()
	return chosen && n.cache.Ready(namespace)
}

func (n *Namespaces) choosesLocked(namespace string) bool {
	switch {
	case slices.Contains(n.listed, namespace):
		return true
	case n.reserved(namespace):
		return false
	case n.all:
		return true
	}
	known, exists := n.labels[namespace]
	return exists && n.selector != nil && n.selector.Matches(known)
}

// systemNamespaces are the namespaces of Kubernetes itself.
var systemNamespaces = []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}

// reserved reports whether applications of a namespace run only if the configuration lists the namespace. Otherwise users who can create an application in a
// system namespace, or in the operator's own, could have pods created there that read its Secrets.
func (n *Namespaces) reserved(namespace string) bool {
	return slices.Contains(systemNamespaces, namespace) || namespace != "" && namespace == n.own
}

// NewNamespaces returns the namespaces of a manager whose cache NewManager created. The caller must call Configure.
//
// own is the operator's namespace; "" if unknown. arrived is called when more applications become visible.
func NewNamespaces(mgr ctrl.Manager, m *metrics.Metrics, own string, arrived func(), others ...*namespaced.Cache) (*Namespaces, error) {
	cached, ok := mgr.GetCache().(*namespaced.Cache)
	if !ok {
		return nil, fmt.Errorf("the manager's cache is a %T; create the manager with NewManager", mgr.GetCache())
	}
	n := &Namespaces{log: mgr.GetLogger().WithName("namespaces"), cache: cached, others: others, own: own,
		arrived: arrived, metrics: m, labels: map[string]labels.Set{}}
	cached.Notify(n.changed, n.troubled)
	for _, other := range others {
		other.Notify(func(string) {}, n.troubled)
	}
	return n, nil
}

// Configure applies a configuration. It can be called at any time.
func (n *Namespaces) Configure(ctx context.Context, c config.OperatorConfiguration) {
	n.mu.Lock()
	n.all, n.listed, n.selector = len(c.Namespaces) == 0 && c.NamespaceSelector == "", c.Namespaces, c.Selector()
	previous := n.targets
	n.targets = Targets(c)
	n.mu.Unlock()
	for _, namespace := range c.Namespaces {
		if n.reserved(namespace) {
			n.log.Info("WARNING: the list has a system namespace or the operator's own: users who may create applications there "+
				"can run pods with access to privileged Secrets", "namespace", namespace)
		}
	}
	n.follow(ctx)
	for _, namespace := range previous {
		n.show(namespace)
	}
	n.takeUp(ctx, "")
}

// follow updates the watched namespaces of all caches. Failures are retried.
func (n *Namespaces) follow(ctx context.Context) {
	n.following.Lock()
	defer n.following.Unlock()
	n.mu.Lock()
	targets := n.targets
	n.mu.Unlock()
	failed := n.watchLabels(ctx)
	for _, c := range append([]*namespaced.Cache{n.cache}, n.others...) {
		failed = errors.Join(failed, c.Set(ctx, targets...))
	}
	if failed != nil {
		n.log.Error(failed, "cannot watch all namespaces; retrying", "after", retryPeriod.String())
	}
	for _, namespace := range targets {
		n.show(namespace)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failed = failed != nil
}

// show updates the metric for the watch of a namespace.
func (n *Namespaces) show(namespace string) {
	n.shown.Lock()
	defer n.shown.Unlock()
	n.mu.Lock()
	wanted := slices.Contains(n.targets, namespace)
	n.mu.Unlock()
	if !wanted {
		n.metrics.NamespaceDropped(labelOf(namespace))
		return
	}
	n.metrics.NamespaceWatched(labelOf(namespace), n.cache.Watching(namespace))
}

// Start retries failed watches until the context ends. It implements manager.Runnable.
func (n *Namespaces) Start(ctx context.Context) error {
	n.follow(ctx)
	ticker := time.NewTicker(retryPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			n.mu.Lock()
			failed := n.failed
			n.mu.Unlock()
			if failed {
				n.follow(ctx)
			}
		}
	}
}

// NeedLeaderElection returns false, because standby replicas watch, too.
func (n *Namespaces) NeedLeaderElection() bool { return false }

// changed is called by the cache when a namespace becomes ready, and when it is no longer ready.
func (n *Namespaces) changed(namespace string) {
	ready := n.cache.Ready(namespace)
	n.show(namespace)
	n.log.Info("namespace", "namespace", labelOf(namespace), "watched", ready)
	if ready {
		n.takeUp(context.Background(), namespace)
	}
}

// troubled is called by a cache when a namespace cannot be watched. After a recovery it is called with nil.
func (n *Namespaces) troubled(namespace string, err error) {
	n.show(namespace)
	if err == nil {
		n.log.Info("the watch works again", "namespace", labelOf(namespace))
		return
	}
	n.metrics.NamespaceTrouble(labelOf(namespace))
	n.log.Error(err, "cannot watch; retrying", "namespace", labelOf(namespace))
}

// takeUp enqueues the applications of a namespace, if the operator works in it; "" means all namespaces.
func (n *Namespaces) takeUp(ctx context.Context, namespace string) {
	if namespace != "" && !n.cache.Ready(namespace) {
		return // takeUp is called again when the namespace is ready
	}
	n.mu.Lock()
	controllers := slices.Clone(n.controllers)
	n.mu.Unlock()
	for _, c := range controllers {
		n.takeUpIn(ctx, c, namespace)
	}
}

// takeUpIn does the same as takeUp for one controller. It is called again when the controller starts.
func (n *Namespaces) takeUpIn(ctx context.Context, c *followed, namespace string) {
	n.mu.Lock()
	queue := c.queue
	n.mu.Unlock()
	if queue == nil {
		return
	}
	n.arrived()
	names, err := c.list(ctx, namespace)
	if err != nil {
		var none *namespaced.NotWatchedError
		if !errors.As(err, &none) {
			n.log.Error(err, "cannot list applications", "namespace", namespace)
		}
		return
	}
	for _, name := range names {
		if !n.Watches(name.Namespace) {
			continue
		}
		request := reconcile.Request{NamespacedName: name}
		if ranked, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			ranked.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(handler.LowPriority)}, request)
			continue
		}
		queue.Add(request)
	}
}

// Source makes a controller enqueue its objects. list returns them by namespace; "" means all namespaces.
func (n *Namespaces) Source(list func(ctx context.Context, namespace string) ([]types.NamespacedName, error)) source.Source {
	c := &followed{list: list}
	n.mu.Lock()
	n.controllers = append(n.controllers, c)
	n.mu.Unlock()
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		n.mu.Lock()
		c.queue = queue
		n.mu.Unlock()
		n.takeUpIn(ctx, c, "")
		return nil
	})
}

// namespaceKind returns the watched part of a namespace: its metadata, for the labels.
func namespaceKind() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return o
}

// watchLabels starts or stops the watch of namespaces.
func (n *Namespaces) watchLabels(ctx context.Context) error {
	n.mu.Lock()
	wanted, has := n.selector != nil, n.stop != nil
	stop := n.stop
	if !wanted {
		n.stop = nil
	}
	if wanted != has {
		n.labels = map[string]labels.Set{}
	}
	n.mu.Unlock()
	switch {
	case wanted == has:
		return nil
	case !wanted:
		stop()
		return nil
	}
	informer, err := n.cache.GetInformer(ctx, namespaceKind(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	handle, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { n.labelsChanged(o, true) },
		UpdateFunc: func(_, o any) { n.labelsChanged(o, true) },
		DeleteFunc: func(o any) { n.labelsChanged(o, false) },
	})
	if err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop = func() {
		if err := errors.Join(informer.RemoveEventHandler(handle), n.cache.RemoveInformer(context.Background(), namespaceKind())); err != nil {
			n.log.Error(err, "cannot stop watching namespaces")
		}
	}
	return nil
}

// labelsChanged records the labels of a namespace. It enqueues the namespace's applications if the labels begin to match.
func (n *Namespaces) labelsChanged(o any, exists bool) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	object, ok := o.(client.Object)
	if !ok {
		return
	}
	name := object.GetName()
	n.mu.Lock()
	before := n.choosesLocked(name)
	_, known := n.labels[name]
	delete(n.labels, name)
	if exists {
		n.labels[name] = labels.Set(object.GetLabels())
	} else {
		delete(n.joined, name)
	}
	after := n.choosesLocked(name)
	if known && !before && after {
		n.joinLocked(name)
	}
	n.mu.Unlock()
	if before == after {
		return
	}
	n.log.Info("namespace selector match changed", "namespace", name, "matches", after)
	if after {
		n.takeUp(context.Background(), name)
	}
}

// coverage is how long the API server may take to apply a policy with this selector to a namespace that begins to match.
const coverage = 5 * time.Second

func (n *Namespaces) joinLocked(namespace string) {
	if n.joined == nil {
		n.joined = map[string]time.Time{}
	}
	n.joined[namespace] = time.Now().Add(coverage)
}

// Joined returns when the API server covers a namespace whose labels began to match the selector while this process ran; zero if they did not begin to match.
func (n *Namespaces) Joined(namespace string) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.joined[namespace]
}

// labelOf returns the text for a namespace in metrics and logs.
func labelOf(namespace string) string {
	if namespace == namespaced.All {
		return "*"
	}
	return namespace
}
