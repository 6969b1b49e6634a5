// SPDX-License-Identifier: Apache-2.0

// Package informers has the caches other than the manager's: for the kinds that scheduler plugins read, and for auxiliary
// objects. It says which namespaces are the operator's, and enqueues the applications that a change concerns. It knows no
// API family but by its labels.
package informers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// discoveryPeriod is how often it is looked whether the APIs of schedulers came or went.
const discoveryPeriod = 15 * time.Second

// SchedulerKinds keeps an eye on the APIs that scheduler plugins need: it reads them from informers as long as they are
// installed, and enqueues the applications that a change concerns. Its cache is apart from the manager's: an API that goes
// away must not block anything else.
type SchedulerKinds struct {
	// Cache has the kinds that are watched.
	Cache     *namespaced.Cache
	live      client.WithWatch
	discovery discovery.DiscoveryInterface
	options   SchedulerOptions
	triggers  triggers
	now       func() time.Time

	eventCache eventCache
	classes    *classCache
	mapper     meta.RESTMapper
	rights     rights

	mu    sync.Mutex
	known map[schema.GroupVersionKind]*kindState
}

// SchedulerOptions are what the watch over the APIs of schedulers works with.
type SchedulerOptions struct {
	Config  config.OperatorConfiguration
	Plugins []scheduler.Plugin
	// Families are those whose labels name the application of an object.
	Families []lifecycle.Family
	// Waiters are the applications that wait for a kind in a namespace, or in all of them, the first of them if there are more than so many in
	// no line. It is asked when the manager has started.
	Waiters func(kind schema.GroupVersionKind, namespace string, everywhere bool, most int) []scheduler.Key
	// Discovery is in place of discoveryPeriod; 0 is not.
	Discovery time.Duration
}

// Configure takes over for which namespaces rights are needed.
func (k *SchedulerKinds) Configure(c config.OperatorConfiguration) { k.rights.configure(Targets(c)) }

// kindState is what is known of one kind.
type kindState struct {
	served   bool
	informer cache.Informer
	// everywhere is whether a plugin has read the objects of all namespaces.
	everywhere bool
	// enqueuedAt is when all who wait for it were enqueued last, by namespace; "" for all of them.
	enqueuedAt map[string]time.Time
}

// NewSchedulerKinds returns the watch over the APIs of the plugins and adds it to the manager.
func NewSchedulerKinds(mgr ctrl.Manager, o SchedulerOptions) (*SchedulerKinds, error) {
	apis, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("create client for discovery: %w", err)
	}
	own, err := namespaced.New(mgr.GetConfig(), cache.Options{
		DefaultTransform: observe.StripObject,
		Scheme:           mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
	})
	if err != nil {
		return nil, fmt.Errorf("create cache of schedulers' kinds: %w", err)
	}
	live, err := client.NewWithWatch(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("create client of schedulers' kinds: %w", err)
	}
	k := &SchedulerKinds{
		Cache: own, live: live, discovery: apis, options: o, now: time.Now, classes: newClassCache(),
		mapper: mgr.GetRESTMapper(), known: map[schema.GroupVersionKind]*kindState{},
	}
	k.Configure(o.Config)
	if err := mgr.Add(k); err != nil {
		return nil, fmt.Errorf("add watch over schedulers' kinds: %w", err)
	}
	return k, nil
}

// Start looks for the APIs until the context ends. It implements manager.Runnable.
func (k *SchedulerKinds) Start(ctx context.Context) error {
	k.eventCache.begin(ctx)
	return run(ctx, k.Cache, k.options.Discovery, k.discover)
}

// run starts a cache, and looks for the APIs of its kinds now and then, until the context ends.
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

// NeedLeaderElection makes the manager start it with the controllers.
func (k *SchedulerKinds) NeedLeaderElection() bool { return true }

// all returns the kinds that plugins read. Core kinds that the operator reads anyway are read live.
func (k *SchedulerKinds) all() []schema.GroupVersionKind {
	var found []schema.GroupVersionKind
	for _, p := range k.options.Plugins {
		d := p.Describe()
		wanted := slices.Concat(d.Owns, d.Reads)
		for _, api := range d.Needs {
			for _, version := range api.Versions {
				wanted = append(wanted, api.WithVersion(version))
			}
		}
		for _, kind := range wanted {
			if !slices.Contains(found, kind) && kind.Kind != eventKind {
				found = append(found, kind)
			}
		}
	}
	return found
}

// discover compares what is installed with what was.
func (k *SchedulerKinds) discover(ctx context.Context) {
	groups := map[schema.GroupVersion]map[string]bool{}
	for _, kind := range k.all() {
		kinds, looked := groups[kind.GroupVersion()]
		if !looked {
			list, err := k.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
			if err != nil && !apierrors.IsNotFound(err) {
				continue // an API server that fails proves nothing
			}
			kinds = map[string]bool{}
			if list != nil {
				for i := range list.APIResources {
					kinds[list.APIResources[i].Kind] = true
				}
			}
			groups[kind.GroupVersion()] = kinds
		}
		if k.setServed(kind, kinds[kind.Kind]) {
			k.rights.forget()
		}
	}
	k.rights.review(ctx, k.live, k.options.Plugins, k.now())
	for _, kind := range k.all() {
		k.watch(ctx, kind)
	}
}

// setServed notes whether a kind is installed and reports whether that has changed.
func (k *SchedulerKinds) setServed(kind schema.GroupVersionKind, served bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	state := k.known[kind]
	if state == nil {
		state = &kindState{}
		k.known[kind] = state
	}
	changed := state.served != served
	state.served = served
	return changed
}

// watch starts or stops watching one kind. What the plugins have no rule to watch is read when it is needed.
func (k *SchedulerKinds) watch(ctx context.Context, kind schema.GroupVersionKind) {
	k.mu.Lock()
	state := *k.known[kind]
	k.mu.Unlock()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	may := state.served && k.mayWatch(kind)
	switch {
	case may && state.informer == nil:
		informer, err := k.Cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(k.handler(kind))
		}
		if err != nil {
			ctrllog.FromContext(ctx).Error(err, "cannot watch", "kind", kind.String())
			return
		}
		state.informer = informer
	case !may && state.informer != nil:
		if err := k.Cache.RemoveInformer(ctx, object); err != nil {
			ctrllog.FromContext(ctx).Error(err, "cannot stop watching", "kind", kind.String())
		}
		state.informer = nil
	default:
		return
	}
	k.mu.Lock()
	k.known[kind].informer = state.informer
	k.mu.Unlock()
	k.enqueueWaiters(kind, "")
}

// mayWatch reports whether a plugin's rules say that the kind is to be watched, and the operator has the right.
func (k *SchedulerKinds) mayWatch(kind schema.GroupVersionKind) bool {
	mapping, err := k.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return false
	}
	watch := scheduler.Access{Group: kind.Group, Resource: mapping.Resource.Resource, Verb: "watch"}
	for _, p := range k.options.Plugins {
		if slices.Contains(p.Describe().Accesses(), watch) {
			return k.rights.has(watch)
		}
	}
	return false
}

// Unavailable says why a plugin cannot be asked.
func (k *SchedulerKinds) Unavailable(d scheduler.Descriptor) (scheduler.Admission, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	served := func(kind schema.GroupVersionKind) bool {
		state := k.known[kind]
		return state == nil || state.served // not checked yet
	}
	return d.Unready(served, k.rights.has)
}

// Get reads an object from its informer, or live if its kind is not watched. PriorityClasses are remembered for a while.
func (k *SchedulerKinds) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if class, ok := o.(*unstructured.Unstructured); ok && class.GroupVersionKind() == scheduler.PriorityClassKind {
		return k.classes.get(ctx, k.live, key, class)
	}
	return k.reader(o.GetObjectKind().GroupVersionKind(), key.Namespace).Get(ctx, key, o, options...)
}

// List reads a list from its informer. One that is chosen by fields is read live: informers have no index for them. Events
// are remembered, and followed as long as anyone asks for them.
func (k *SchedulerKinds) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind := list.GetObjectKind().GroupVersionKind()
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	var o client.ListOptions
	o.ApplyOptions(options)
	events, _ := list.(*unstructured.UnstructuredList)
	switch {
	case kind.Kind == eventKind && events != nil:
		return k.eventCache.list(ctx, k.live, events, o, k.now)
	case o.FieldSelector != nil:
		return k.live.List(ctx, list, options...)
	}
	k.noteRead(kind, o.Namespace)
	return k.reader(kind, o.Namespace).List(ctx, list, options...)
}

func (k *SchedulerKinds) reader(kind schema.GroupVersionKind, namespace string) client.Reader {
	k.mu.Lock()
	state := k.known[kind]
	watched := state != nil && state.informer != nil
	k.mu.Unlock()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	if watched && k.Cache.Serves(object, namespace) {
		return k.Cache
	}
	return k.live
}

// Whole reports whether all objects of a kind are to be seen, not those of some namespaces.
func (k *SchedulerKinds) Whole(kind schema.GroupVersionKind) bool {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return k.Cache.Whole(object)
}
