// SPDX-License-Identifier: Apache-2.0

// Package namespaced is a cache over a set of namespaces that changes while the operator runs. A namespace that cannot be watched, because it or a permission
// is missing, does not delay the others: its informers retry independently.
package namespaced

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// All stands for all namespaces in Set.
const All = metav1.NamespaceAll

// NotWatchedError is the error for a namespace that is not watched.
type NotWatchedError struct{ Namespace string }

// Error names the namespace.
func (e *NotWatchedError) Error() string {
	return fmt.Sprintf("namespace %q is not watched", e.Namespace)
}

// Cache is a cache.Cache over some namespaces, or over all of them. A separate member has the cluster-scoped objects.
type Cache struct {
	cfg     *rest.Config
	options cache.Options
	// changed is called with a namespace (All for all) whose readiness changes. failing is called with each error that stops a watch, and with nil after the
	// last such error is over.
	changed func(namespace string)
	failing func(namespace string, err error)
	// selectors select the objects of some kinds.
	selectors map[schema.GroupVersionKind]labels.Selector

	running sync.WaitGroup
	started chan struct{}

	mu      sync.Mutex
	ctx     context.Context // of Start
	updated chan struct{}   // closed and replaced when a member becomes ready or fails
	members map[string]*member
	cluster *member
	kinds   map[kind]*informer
	indexes []index
}

var _ cache.Cache = (*Cache)(nil)

type index struct {
	object  client.Object
	field   string
	extract client.IndexerFunc
}

// New returns a cache with these options that watches no namespace yet. DefaultNamespaces, DefaultWatchErrorHandler and NewInformer must be empty.
func New(cfg *rest.Config, options cache.Options) (*Cache, error) {
	c := &Cache{
		cfg: cfg, options: options, changed: func(string) {}, failing: func(string, error) {},
		started: make(chan struct{}), updated: make(chan struct{}), members: map[string]*member{}, kinds: map[kind]*informer{},
	}
	var err error
	c.cluster, err = c.newMember(All)
	return c, err
}

// Notify sets the functions for changes of readiness and for watch errors. It must be called before Start. The functions are called without a lock and in any
// order. They get the present state from Ready and Watching.
func (c *Cache) Notify(changed func(namespace string), failing func(namespace string, err error)) {
	c.changed, c.failing = changed, failing
}

// Select restricts the cache to objects with matching labels, for some kinds. It must be called before Set. Unlike the option ByObject it accepts kinds that
// are not installed yet, and it does not change other kinds.
func (c *Cache) Select(selectors map[schema.GroupVersionKind]labels.Selector) {
	c.selectors = selectors
}

// Set makes the cache watch exactly these namespaces. Namespaces that stay are unchanged. After an error the namespace is skipped, and Set can be called again.
func (c *Cache) Set(ctx context.Context, namespaces ...string) error {
	c.mu.Lock()
	var gone []string
	for namespace, m := range c.members {
		if !slices.Contains(namespaces, namespace) {
			m.cancel()
			delete(c.members, namespace)
			gone = append(gone, namespace)
		}
	}
	var failed error
	for _, namespace := range namespaces {
		if c.members[namespace] != nil {
			continue
		}
		if err := c.addLocked(ctx, namespace); err != nil {
			failed = fmt.Errorf("watch namespace %q: %w", namespace, err)
		}
	}
	c.mu.Unlock()
	for _, namespace := range gone {
		c.changed(namespace)
	}
	return failed
}

func (c *Cache) addLocked(ctx context.Context, namespace string) error {
	m, err := c.newMember(namespace)
	if err != nil {
		return err
	}
	for _, i := range c.indexes {
		if err := m.cache.IndexField(ctx, i.object, i.field, i.extract); err != nil {
			return err
		}
	}
	for _, i := range c.kinds {
		if err := i.join(ctx, m); err != nil {
			return err
		}
	}
	c.members[namespace] = m
	if c.ctx != nil {
		c.runLocked(m)
	}
	return nil
}

// Start watches until the context ends.
func (c *Cache) Start(ctx context.Context) error {
	c.mu.Lock()
	c.ctx = ctx
	c.runLocked(c.cluster)
	for _, m := range c.members {
		c.runLocked(m)
	}
	c.mu.Unlock()
	close(c.started)
	<-ctx.Done()
	c.mu.Lock()   // namespaces that are added later see that the cache has stopped
	c.mu.Unlock() //nolint:staticcheck // only waits for concurrent calls
	c.running.Wait()
	return nil
}

// NeedLeaderElection is false, because standby replicas also watch.
func (c *Cache) NeedLeaderElection() bool { return false }

// runLocked runs a member until the member is removed or the cache stops.
func (c *Cache) runLocked(m *member) {
	if c.ctx.Err() != nil {
		return
	}
	context.AfterFunc(c.ctx, m.cancel)
	c.running.Go(func() {
		if err := m.cache.Start(m.ctx); err != nil {
			c.noteFailed(m, kind{}, err)
		}
	})
	c.settleLocked(m)
}

// WaitForCacheSync waits until every namespace is ready or cannot be watched. It returns false if the context ends first.
func (c *Cache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.started:
	case <-ctx.Done():
		return false
	}
	for {
		c.mu.Lock()
		updated, waits := c.updated, c.cluster.unsettled()
		for _, m := range c.members {
			waits = waits || m.unsettled()
		}
		c.mu.Unlock()
		if !waits {
			return true
		}
		select {
		case <-updated:
		case <-ctx.Done():
			return false
		}
	}
}

// Ready reports whether a namespace is watched and all its watched kinds have been listed.
func (c *Cache) Ready(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memberLocked(namespace)
	return m != nil && m.ready
}

// Serves reports whether objects of a kind can be read in a namespace, or in all watched namespaces.
func (c *Cache) Serves(object client.Object, namespace string) bool {
	key, err := c.kindOf(object)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.cluster.informers[key]; ok {
		return c.cluster.serves(key)
	}
	if m := c.memberLocked(namespace); m != nil {
		return m.serves(key)
	}
	for _, m := range c.members {
		if !m.serves(key) {
			return false
		}
	}
	return namespace == All && len(c.members) > 0
}

// memberLocked returns the member of a namespace, or nil.
func (c *Cache) memberLocked(namespace string) *member {
	if m, ok := c.members[namespace]; ok {
		return m
	}
	return c.members[All]
}

// Get reads an object. It returns a *NotWatchedError if the namespace is not watched.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if key.Namespace == "" {
		return c.cluster.cache.Get(ctx, key, object, options...)
	}
	c.mu.Lock()
	m := c.memberLocked(key.Namespace)
	c.mu.Unlock()
	if m == nil {
		return &NotWatchedError{Namespace: key.Namespace}
	}
	return m.cache.Get(ctx, key, object, options...)
}

// Indexer returns the store of a kind in a namespace, after the first list. It is for types that controller-runtime's readers cannot copy. The content is
// read-only. The error is a *NotWatchedError if the namespace is not watched.
func (c *Cache) Indexer(ctx context.Context, object client.Object, namespace string) (toolscache.Indexer, error) {
	c.mu.Lock()
	m := c.memberLocked(namespace)
	c.mu.Unlock()
	if m == nil {
		return nil, &NotWatchedError{Namespace: namespace}
	}
	key, err := c.kindOf(object)
	if err != nil {
		return nil, err
	}
	i, err := m.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err == nil && !i.HasSynced() {
		err = m.await(ctx, i)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s in namespace %q: %w", key.Kind, namespace, err)
	}
	store, _ := m.stores.Load(key)
	return store.(toolscache.Indexer), nil // newInformer stored it
}

// List reads the objects of one namespace, or of all namespaces in which the kind is listed.
func (c *Cache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	if o.Namespace != "" {
		c.mu.Lock()
		m := c.memberLocked(o.Namespace)
		c.mu.Unlock()
		if m == nil {
			return &NotWatchedError{Namespace: o.Namespace}
		}
		return m.cache.List(ctx, list, options...)
	}
	namespaced, err := apiutil.IsObjectNamespaced(list, c.options.Scheme, c.options.Mapper)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if !namespaced {
		return c.cluster.cache.List(ctx, list, options...)
	}
	gvk, err := apiutil.GVKForObject(list, c.options.Scheme)
	if err != nil {
		return fmt.Errorf("kind of %T: %w", list, err)
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	return listAll(ctx, c.listed(kind{gvk, formOf(list)}), list, o)
}

// listed returns the members that have listed a kind, sorted by namespace. If a member does not watch the kind, it must be ready. Other missing kinds do not
// matter, as in Serves.
func (c *Cache) listed(key kind) []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*member
	for _, namespace := range slices.Sorted(maps.Keys(c.members)) {
		m := c.members[namespace]
		if _, watched := m.informers[key]; m.serves(key) || !watched && m.ready {
			all = append(all, m)
		}
	}
	return all
}

// IndexField indexes a kind of objects, also in namespaces that are added later.
func (c *Cache) IndexField(ctx context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	if _, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
		return err
	}
	namespaced, err := apiutil.IsObjectNamespaced(object, c.options.Scheme, c.options.Mapper)
	if err != nil {
		return fmt.Errorf("index %T: %w", object, err)
	}
	if !namespaced {
		return c.cluster.cache.IndexField(ctx, object, field, extract)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexes = append(c.indexes, index{object, field, extract})
	for _, m := range c.members {
		if err := m.cache.IndexField(ctx, object, field, extract); err != nil {
			return err
		}
	}
	return nil
}

// kind is a kind of objects in one of controller-runtime's cached forms.
type kind struct {
	schema.GroupVersionKind
	form string
}

func (c *Cache) kindOf(object client.Object) (kind, error) {
	gvk, err := apiutil.GVKForObject(object, c.options.Scheme)
	if err != nil {
		return kind{}, fmt.Errorf("kind of %T: %w", object, err)
	}
	return kind{gvk, formOf(object)}, nil
}

// notifyLocked wakes the callers that wait for a change.
func (c *Cache) notifyLocked() {
	close(c.updated)
	c.updated = make(chan struct{})
}

// settleLocked updates a member's readiness, and reports a change.
func (c *Cache) settleLocked(m *member) {
	ready := c.ctx != nil
	for _, joined := range m.informers {
		ready = ready && joined.synced
	}
	if ready == m.ready {
		return
	}
	m.ready = ready
	c.notifyLocked()
	if m != c.cluster {
		go c.changed(m.namespace)
	}
}

// With a namespace selector, the operator watches the labels of namespaces. The permission is separate (config/rbac/namespaces), because the operator does
// not need it without a selector.
//
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
