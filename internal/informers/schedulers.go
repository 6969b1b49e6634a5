// SPDX-License-Identifier: Apache-2.0

// Package informers has the caches besides the manager's cache: for the kinds of scheduler plugins, and for auxiliary objects. It knows the operator's
// namespaces, and enqueues the applications that a change concerns. It knows API families only by their labels.
package informers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// discoveryPeriod is the interval of checks whether schedulers' APIs were installed or removed.
const discoveryPeriod = 15 * time.Second

// SchedulerKinds follows the APIs that scheduler plugins need. It watches kinds while they are available, and enqueues the applications that a change
// concerns.
type SchedulerKinds struct {
	*availability
	*kindCache
	*triggers
	enqueuer *enqueuer
	// Cache has the watched kinds.
	Cache *namespaced.Cache
	every time.Duration
}

// SchedulerOptions are the dependencies of SchedulerKinds.
type SchedulerOptions struct {
	Config  config.OperatorConfiguration
	Plugins []scheduler.Plugin
	// Families are the families whose labels name the application of an object.
	Families []lifecycle.Family
	// Waiters returns the applications that wait for a kind in a namespace, or in all namespaces. The parameter most limits those that
	// wait in no line. It is called after the manager has started.
	Waiters func(kind schema.GroupVersionKind, namespace string, everywhere bool, most int) []scheduler.Key
	// Discovery replaces discoveryPeriod; 0 keeps it.
	Discovery time.Duration
}

// NewSchedulerKinds returns the watch of the plugins' APIs and adds it to the manager.
func NewSchedulerKinds(mgr ctrl.Manager, o SchedulerOptions) (*SchedulerKinds, error) {
	apis, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("create client for discovery: %w", err)
	}
	own, err := namespaced.New(mgr.GetConfig(), cache.Options{
		DefaultTransform: observe.Strip(o.Families...),
		Scheme:           mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
	})
	if err != nil {
		return nil, fmt.Errorf("create cache of schedulers' kinds: %w", err)
	}
	live, err := client.NewWithWatch(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("create client of schedulers' kinds: %w", err)
	}
	now, t := clock.RealClock{}, newTriggers()
	e := newEnqueuer(enqueuerOptions{Plugins: o.Plugins, Families: o.Families, Waiters: o.Waiters, Enqueue: t.Enqueue, Clock: now})
	k := &SchedulerKinds{
		availability: newAvailability(availabilityOptions{
			Discovery: apis, Mapper: mgr.GetRESTMapper(), Live: live, Plugins: o.Plugins, Namespaces: Targets(o.Config), Clock: now,
		}),
		kindCache: newKindCache(kindCacheOptions{Cache: own, Live: live, Handler: e.handler, Listed: e.noteRead,
			Clock: now, Index: observe.IndexByApp(AppLabels(o.Families)...)}),
		triggers: t, enqueuer: e, Cache: own, every: o.Discovery,
	}
	if err := mgr.Add(k); err != nil {
		return nil, fmt.Errorf("add watch over schedulers' kinds: %w", err)
	}
	return k, nil
}

// Start checks the APIs until the context ends. It implements manager.Runnable.
func (k *SchedulerKinds) Start(ctx context.Context) error {
	k.events.begin(ctx)
	return run(ctx, k.Cache, k.every, func(ctx context.Context) {
		k.discover(ctx)
		for _, kind := range k.kinds {
			if k.watch(ctx, kind, k.mayWatch(kind)) {
				k.enqueuer.enqueueWaiters(kind, "")
			}
		}
	})
}

// run starts a cache and calls look regularly, to check the APIs of its kinds, until the context ends.
func run(ctx context.Context, c *namespaced.Cache, every time.Duration, look func(context.Context)) error {
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	ticker := time.NewTicker(cmp.Or(every, discoveryPeriod))
	defer ticker.Stop()
	for {
		look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case err := <-done:
			return err
		case <-ticker.C:
		}
	}
}

// NeedLeaderElection makes the manager start SchedulerKinds together with the controllers.
func (k *SchedulerKinds) NeedLeaderElection() bool { return true }
