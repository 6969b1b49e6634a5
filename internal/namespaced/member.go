// SPDX-License-Identifier: Apache-2.0

package namespaced

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// member is the cache of one namespace.
type member struct {
	namespace string
	cache     cache.Cache
	ctx       context.Context
	cancel    context.CancelFunc
	// informers are the informers that must have listed their objects before the member is ready.
	informers map[kind]*joined
	// ready is set after the first list of all informers.
	ready bool
	// stores has the indexer of each kind with an informer.
	stores sync.Map
	// failed lists the kinds that cannot be watched.
	failed map[kind]bool
}

// joined is the informer of one kind in one member.
type joined struct {
	cache.Informer
	synced bool
}

// newMember returns the cache of a namespace. It is not running yet.
func (c *Cache) newMember(namespace string) (*member, error) {
	m := &member{namespace: namespace, informers: map[kind]*joined{}, failed: map[kind]bool{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	options := c.options
	options.NewInformer = c.newInformer(m)
	if namespace != All {
		options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	var err error
	if m.cache, err = cache.New(c.cfg, options); err != nil {
		m.cancel()
		return nil, fmt.Errorf("create cache: %w", err)
	}
	return m, nil
}

// unsettled reports whether callers have to wait for the member.
func (m *member) unsettled() bool { return !m.ready && !m.failing() }

func (m *member) failing() bool { return len(m.failed) > 0 }

func (m *member) serves(key kind) bool {
	j, ok := m.informers[key]
	return ok && j.synced
}

// await waits for the first list of an informer.
func (m *member) await(ctx context.Context, i cache.Informer) error {
	select {
	case <-i.HasSyncedChecker().Done():
		return nil
	case <-m.ctx.Done():
		return &NotWatchedError{Namespace: m.namespace}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isWatchError reports whether an error is not just the normal end of a watch.
func isWatchError(err error) bool {
	return err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, context.Canceled) &&
		!apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) && !apierrors.IsTooManyRequests(err)
}

// Whole reports whether a list over all namespaces has all objects of a kind, and not only the objects of watched namespaces.
func (c *Cache) Whole(object client.Object) bool {
	namespaced, err := apiutil.IsObjectNamespaced(object, c.options.Scheme, c.options.Mapper)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !namespaced || c.members[All] != nil
}

// listAll fills the list with the objects of all members.
func listAll(ctx context.Context, members []*member, list client.ObjectList, o client.ListOptions) error {
	var all []runtime.Object
	version := ""
	for _, m := range members {
		part, ok := list.DeepCopyObject().(client.ObjectList)
		if !ok {
			return fmt.Errorf("%T is not a list", list)
		}
		if err := m.cache.List(ctx, part, &o); err != nil {
			return err
		}
		items, err := meta.ExtractList(part)
		if err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
		all, version = append(all, items...), part.GetResourceVersion()
		if o.Limit > 0 {
			if o.Limit -= int64(len(items)); o.Limit <= 0 {
				break
			}
		}
	}
	list.SetResourceVersion(version)
	return meta.SetList(list, all)
}

func formOf(object runtime.Object) string {
	switch object.(type) {
	case *unstructured.Unstructured, *unstructured.UnstructuredList:
		return "unstructured"
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return "metadata"
	}
	return ""
}
