// SPDX-License-Identifier: Apache-2.0

package namespaced

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// GetInformer returns the informer of a kind over all present and future namespaces. If the call blocks, it waits as WaitForCacheSync does.
func (c *Cache) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	i, err := c.informer(ctx, object)
	if err != nil {
		return nil, err
	}
	var o cache.InformerGetOptions
	for _, option := range options {
		option(&o)
	}
	c.mu.Lock()
	started := c.ctx != nil
	c.mu.Unlock()
	if started && (o.BlockUntilSynced == nil || *o.BlockUntilSynced) && !c.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("wait for informer of %T: %w", object, ctx.Err())
	}
	return i, nil
}

// GetInformerForKind is like GetInformer, for a kind of the scheme.
func (c *Cache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, options ...cache.InformerGetOption) (cache.Informer, error) {
	made, err := c.options.Scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("informer of %s: %w", gvk, err)
	}
	object, ok := made.(client.Object)
	if !ok {
		return nil, fmt.Errorf("informer of %s: not a kind of objects", gvk)
	}
	return c.GetInformer(ctx, object, options...)
}

func (c *Cache) informer(ctx context.Context, object client.Object) (*informer, error) {
	key, err := c.kindOf(object)
	if err != nil {
		return nil, err
	}
	namespaced, err := apiutil.IsObjectNamespaced(object, c.options.Scheme, c.options.Mapper)
	if err != nil {
		return nil, fmt.Errorf("informer of %s: %w", key.Kind, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.kinds[key]; i != nil {
		return i, nil
	}
	i := &informer{cache: c, key: key, object: object}
	for _, m := range i.homesLocked(namespaced) {
		if err := i.join(ctx, m); err != nil {
			return nil, err
		}
	}
	if namespaced { // the others do not join later namespaces
		c.kinds[key] = i
	}
	return i, nil
}

// RemoveInformer stops watching a kind, and removes its indexes.
func (c *Cache) RemoveInformer(ctx context.Context, object client.Object) error {
	key, err := c.kindOf(object)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kinds, key)
	c.indexes = slices.DeleteFunc(c.indexes, func(i index) bool {
		indexed, err := c.kindOf(i.object)
		return err == nil && indexed == key
	})
	var failed []error
	for _, m := range c.allLocked() {
		if _, joined := m.informers[key]; joined {
			delete(m.informers, key)
			delete(m.failed, key)
			failed = append(failed, m.cache.RemoveInformer(ctx, object))
			c.settleLocked(m)
		}
	}
	return errors.Join(failed...)
}

func (c *Cache) allLocked() []*member {
	all := []*member{c.cluster}
	for _, m := range c.members {
		all = append(all, m)
	}
	return all
}

// informer is the informer of one kind over all members. The cache's lock protects its fields.
type informer struct {
	cache    *Cache
	key      kind
	object   client.Object
	handlers []*registration
	indexers []toolscache.Indexers
}

var _ cache.Informer = (*informer)(nil)

// homesLocked returns the members that can have objects of the kind.
func (i *informer) homesLocked(namespaced bool) []*member {
	if !namespaced {
		return []*member{i.cache.cluster}
	}
	return i.cache.allLocked()[1:]
}

// join adds the informer and its handlers to a member. The member is ready again when it has listed the kind.
func (i *informer) join(ctx context.Context, m *member) error {
	j, ok := m.informers[i.key]
	if !ok {
		found, err := m.cache.GetInformer(ctx, i.object, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		for _, indexers := range i.indexers {
			if err := found.AddIndexers(indexers); err != nil {
				return fmt.Errorf("index %s in namespace %q: %w", i.key.Kind, m.namespace, err)
			}
		}
		j = &joined{Informer: found}
		m.informers[i.key] = j
		go i.await(m, j)
	}
	for _, r := range i.handlers {
		if err := r.join(m, j); err != nil {
			return err
		}
	}
	i.cache.settleLocked(m)
	return nil
}

// await waits for an informer's first list, and updates the member's readiness.
func (i *informer) await(m *member, j *joined) {
	select {
	case <-j.HasSyncedChecker().Done():
	case <-m.ctx.Done():
		return
	}
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	j.synced = true
	i.cache.settleLocked(m)
}

// joinedLocked returns the informers of the kind by member.
func (i *informer) joinedLocked() map[*member]*joined {
	all := map[*member]*joined{}
	for _, m := range i.cache.allLocked() {
		if j, ok := m.informers[i.key]; ok {
			all[m] = j
		}
	}
	return all
}

// AddEventHandler adds a handler in every present and future namespace.
func (i *informer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod is like AddEventHandler, with a resync period.
func (i *informer) AddEventHandlerWithResyncPeriod(handler toolscache.ResourceEventHandler,
	period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions is AddEventHandler with options.
func (i *informer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler,
	options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	r := &registration{informer: i, handler: handler, options: options, handles: map[*member]toolscache.ResourceEventHandlerRegistration{}}
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	for m, j := range i.joinedLocked() {
		if err := r.join(m, j); err != nil {
			return nil, err
		}
	}
	i.handlers = append(i.handlers, r)
	return r, nil
}

// RemoveEventHandler removes a handler that this informer has registered.
func (i *informer) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok || r.informer != i {
		return errors.New("the registration is of another informer")
	}
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	var failed []error
	for m, j := range i.joinedLocked() {
		if h := r.handles[m]; h != nil {
			failed = append(failed, j.RemoveEventHandler(h))
		}
	}
	kept := i.handlers[:0:0]
	for _, other := range i.handlers {
		if other != r {
			kept = append(kept, other)
		}
	}
	i.handlers = kept
	return errors.Join(failed...)
}

// AddIndexers adds indexes, also in namespaces that are watched later.
func (i *informer) AddIndexers(indexers toolscache.Indexers) error {
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	for _, j := range i.joinedLocked() {
		if err := j.AddIndexers(indexers); err != nil {
			return fmt.Errorf("index %s: %w", i.key.Kind, err)
		}
	}
	i.indexers = append(i.indexers, indexers)
	return nil
}

// HasSynced reports whether the kind is listed in all watchable namespaces.
func (i *informer) HasSynced() bool {
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	for m, j := range i.joinedLocked() {
		if !m.failing() && !j.synced {
			return false
		}
	}
	return true
}

// HasSyncedChecker is done when the kind is listed in the present namespaces.
func (i *informer) HasSyncedChecker() toolscache.DoneChecker {
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	var all []pending
	for m, j := range i.joinedLocked() {
		all = append(all, pending{m, j.HasSyncedChecker()})
	}
	return awaitAll(i.key.String(), all)
}

// IsStopped reports whether the cache has stopped.
func (i *informer) IsStopped() bool {
	i.cache.mu.Lock()
	defer i.cache.mu.Unlock()
	return i.cache.ctx != nil && i.cache.ctx.Err() != nil
}

// registration is a handler in all namespaces.
type registration struct {
	informer *informer
	handler  toolscache.ResourceEventHandler
	options  toolscache.HandlerOptions
	handles  map[*member]toolscache.ResourceEventHandlerRegistration
}

func (r *registration) join(m *member, j *joined) error {
	handle, err := j.AddEventHandlerWithOptions(r.handler, r.options)
	if err != nil {
		return fmt.Errorf("add handler of %s in namespace %q: %w", r.informer.key.Kind, m.namespace, err)
	}
	r.handles[m] = handle
	context.AfterFunc(m.ctx, func() {
		r.informer.cache.mu.Lock()
		defer r.informer.cache.mu.Unlock()
		delete(r.handles, m)
	})
	return nil
}

// HasSynced reports whether the handler has received all objects of the ready namespaces.
func (r *registration) HasSynced() bool {
	r.informer.cache.mu.Lock()
	defer r.informer.cache.mu.Unlock()
	for m, handle := range r.handles {
		if m.ready && !handle.HasSynced() {
			return false
		}
	}
	return true
}

// HasSyncedChecker is done when the handler has received all objects of the present namespaces.
func (r *registration) HasSyncedChecker() toolscache.DoneChecker {
	r.informer.cache.mu.Lock()
	defer r.informer.cache.mu.Unlock()
	var all []pending
	for m, handle := range r.handles {
		all = append(all, pending{m, handle.HasSyncedChecker()})
	}
	return awaitAll(r.informer.key.String(), all)
}

// pending is a condition to wait for as long as its member exists.
type pending struct {
	member  *member
	checker toolscache.DoneChecker
}

type done struct {
	name string
	over chan struct{}
}

// Name describes the wait.
func (d done) Name() string { return d.name }

// Done is closed at the end of the wait.
func (d done) Done() <-chan struct{} { return d.over }

func awaitAll(name string, all []pending) done {
	d := done{name: name, over: make(chan struct{})}
	go func() {
		defer close(d.over)
		for _, p := range all {
			select {
			case <-p.checker.Done():
			case <-p.member.ctx.Done():
			}
		}
	}()
	return d
}
