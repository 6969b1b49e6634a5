// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Auxiliary is a cache of the metadata of auxiliary objects, with the index IndexApp. It has only objects with the label Exposes of lifecycle.Labels. It may be
// stale.
type Auxiliary interface {
	client.Reader
	// Watched lists the cached kinds of a namespace.
	Watched(namespace string) []schema.GroupVersionKind
}

// Exposed returns the auxiliary objects of an application's driver: all cached ones, and the objects of about that the cache lacks. It reads an object live
// only if the object is recorded to exist or if its kind has no watch.
func (r Reader) Exposed(ctx context.Context, namespace, app string, about []exposure.Ref, recorded func(exposure.Ref) bool) (exposure.Seen, error) {
	seen := exposure.Seen{}
	watched := map[schema.GroupVersionKind]bool{}
	if r.Auxiliary != nil {
		for _, kind := range r.Auxiliary.Watched(namespace) {
			watched[kind] = true
			if err := r.listAuxiliary(ctx, kind, namespace, app, seen); err != nil {
				return nil, err
			}
		}
	}
	for _, ref := range about {
		if seen[ref] != nil || watched[ref.Kind] && !recorded(ref) {
			continue
		}
		found, err := r.getAuxiliary(ctx, namespace, ref)
		if err != nil {
			return nil, err
		}
		if found != nil {
			seen[ref] = found
		}
	}
	return seen, nil
}

// HasAuxiliary reports whether the cache has an auxiliary object of an application.
func (r Reader) HasAuxiliary(ctx context.Context, app client.Object) (bool, error) {
	if r.Auxiliary == nil {
		return false, nil
	}
	seen := exposure.Seen{}
	for _, kind := range r.Auxiliary.Watched(app.GetNamespace()) {
		if err := r.listAuxiliary(ctx, kind, app.GetNamespace(), app.GetName(), seen); err != nil {
			return false, err
		}
	}
	for _, found := range seen {
		if r.ownership(found, Target{UID: app.GetUID()}) != lifecycle.NotOwned {
			return true, nil
		}
	}
	return false, nil
}

// listAuxiliary adds the cached objects of one kind to seen.
func (r Reader) listAuxiliary(ctx context.Context, kind schema.GroupVersionKind, namespace, app string, seen exposure.Seen) error {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.Auxiliary.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{IndexApp: indexValue(r.Labels.App, app)},
		client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list %ss of %s/%s: %w", kind.Kind, namespace, app, err)
	}
	for i := range list.Items {
		if o := &list.Items[i]; o.DeletionTimestamp.IsZero() {
			seen[exposure.Ref{Kind: kind, Name: o.Name}] = o
		}
	}
	return nil
}

// getAuxiliary reads the metadata of one object; nil if there is none. A forbidden object, or one of a missing API, counts as absent, because the write reports
// the error.
func (r Reader) getAuxiliary(ctx context.Context, namespace string, ref exposure.Ref) (*metav1.PartialObjectMetadata, error) {
	var found metav1.PartialObjectMetadata
	found.SetGroupVersionKind(ref.Kind)
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &found)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s in %s: %w", ref, namespace, err)
	}
	return &found, nil
}
