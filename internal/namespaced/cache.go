// SPDX-License-Identifier: Apache-2.0

// Package namespaced is a cache over namespaces that come and go while the operator runs. A namespace that cannot be watched,
// for it does not exist or the rights are missing, holds up no other one: its informers try again by themselves.
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

// NotWatchedError is the answer to a question about a namespace that is not watched.
type NotWatchedError struct{ Namespace string }

// Error names the namespace.
func (e *NotWatchedError) Error() string {
	return fmt.Sprintf("namespace %q is not watched", e.Namespace)
}

// Cache is a cache.Cache over a set of namespaces, or over all of them. What has no namespace is in a separate cache.
type Cache struct {
	cfg     *rest.Config
	options cache.Options
	// changed is called with the namespace (All for all of them) that has become ready or ceased to be; failing, with each error
	// that keeps a watch from going on, and of nil when nothing does any more.
	changed func(namespace string)
	failing func(namespace string, err error)
	// selectors choose the objects of some kinds.
	selectors map[schema.GroupVersionKind]labels.Selector

	running sync.WaitGroup
	started chan struct{}

	mu      sync.Mutex
	ctx     context.Context // of Start
	updated chan struct{}   // closed, and replaced, whenever a member is ready or failing
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

// New returns a cache of the given options that watches nothing yet. DefaultNamespaces, DefaultWatchErrorHandler and
// NewInformer must be empty.
func New(cfg *rest.Config, options cache.Options) (*Cache, error) {
	c := &Cache{
		cfg: cfg, options: options, changed: func(string) {}, failing: func(string, error) {},
		started: make(chan struct{}), updated: make(chan struct{}), members: map[string]*member{}, kinds: map[kind]*informer{},
	}
	var err error
	c.cluster, err = c.newMember(All)
	return c, err
}

// Notify sets what is called for namespaces that become ready, or cease to be, and for errors of their watches. It has to
// be called before Start. The functions are called without a lock, and not in order: Ready and Watching know better.
func (c *Cache) Notify(changed func(namespace string), failing func(namespace string, err error)) {
	c.changed, c.failing = changed, failing
}

// Select makes the cache hold those objects of some kinds whose labels match. It has to be called before Set. Unlike the option ByObject it takes
// kinds whose definition is not installed yet, and leaves the other kinds as they are read.
func (c *Cache) Select(selectors map[schema.GroupVersionKind]labels.Selector) {
	c.selectors = selectors
}

// Set makes the cache watch these namespaces and no others. Those that stay are left as they are. An error leaves out the
// namespaces that it is about; Set can be called again.
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
	c.mu.Lock()   // a namespace that is added from now on sees that it is over
	c.mu.Unlock() //nolint:staticcheck // nothing is to be done in between
	c.running.Wait()
	return nil
}

// NeedLeaderElection is false: standby replicas watch too.
func (c *Cache) NeedLeaderElection() bool { return false }

// runLocked runs a member. It is over when the member is removed or the cache stops.
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

// WaitForCacheSync waits until every namespace is ready or has been found not to be watchable: the latter are
// not waited for. It is false if the context ends before.
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

// Ready reports whether a namespace is watched and all that is watched in it has been listed once.
func (c *Cache) Ready(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memberLocked(namespace)
	return m != nil && m.ready
}

// Serves reports whether objects of a kind, in one namespace or in all that are watched, can be read.
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

// memberLocked returns who watches a namespace, or nil.
func (c *Cache) memberLocked(namespace string) *member {
	if m, ok := c.members[namespace]; ok {
		return m
	}
	return c.members[All]
}

// Get reads an object. It is a *NotWatchedError if its namespace is not watched.
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

// Indexer returns the store of a kind in a namespace when it has been listed, for objects of another type than controller-runtime's
// readers copy. What is in it must not be changed. The error is a *NotWatchedError if the namespace is not watched.
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
	return store.(toolscache.Indexer), nil // newInformer has stored it
}

// List reads the objects of one namespace, or of all in which the kind has been listed.
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

// listed returns the members that have a kind, by namespace; of a kind without a watch yet, those that are ready. Other
// kinds of theirs may be missing: they must not hide this one from callers of Serves.
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

// IndexField indexes a kind of objects, in the namespaces that are added later, too.
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

// kind is a kind of objects in one of the forms in which controller-runtime caches them.
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

// notifyLocked notifies those who wait for a change.
func (c *Cache) notifyLocked() {
	close(c.updated)
	c.updated = make(chan struct{})
}

// settleLocked computes whether a member is ready, and notifies if that changed.
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

// With a selector of namespaces their labels are watched. These rights are apart from the others (config/rbac/namespaces):
// without a selector the operator has no business with namespaces.
//
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
