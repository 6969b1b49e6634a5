// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Snapshot reads the objects that a scheduler plugin needs. The result is read-only.
func (r Reader) Snapshot(ctx context.Context, reads []scheduler.Read) (scheduler.Snapshot, error) {
	s := make(scheduler.Snapshot, len(reads))
	for _, read := range reads {
		if _, done := s[read]; done {
			continue // two plugins of a chain may read the same object
		}
		found, err := r.read(ctx, read)
		switch {
		case err == nil && read.Name != "" && r.Deleted != nil && r.Deleted(found.GetUID()):
			s[read] = nil
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			s[read] = nil // a kind that is not installed has no objects
		case read.Optional && apierrors.IsForbidden(err):
			s[read] = &unstructured.Unstructured{} // a denied read does not prove absence
		case err != nil:
			return nil, fmt.Errorf("read %s %s/%s: %w", read.Kind, read.Namespace, read.Name, err)
		default:
			s[read] = found
		}
	}
	return s, nil
}

func (r Reader) read(ctx context.Context, read scheduler.Read) (*unstructured.Unstructured, error) {
	reader := r.Kinds
	if reader == nil {
		reader = r.Live
	}
	if read.Name != "" {
		var u unstructured.Unstructured
		u.SetGroupVersionKind(read.GroupVersionKind)
		return &u, reader.Get(ctx, client.ObjectKey{Namespace: read.Namespace, Name: read.Name}, &u)
	}
	options := []client.ListOption{client.InNamespace(read.Namespace), client.UnsafeDisableDeepCopy}
	if read.Labels != "" {
		selector, err := labels.Parse(read.Labels)
		if err != nil {
			return nil, fmt.Errorf("label selector %q: %w", read.Labels, err)
		}
		options = append(options, client.MatchingLabelsSelector{Selector: selector})
	}
	if read.Fields != "" {
		selector, err := fields.ParseSelector(read.Fields)
		if err != nil {
			return nil, fmt.Errorf("field selector %q: %w", read.Fields, err)
		}
		options = append(options, client.MatchingFieldsSelector{Selector: selector})
	}
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(read.GroupVersion().WithKind(read.Kind + "List"))
	if err := reader.List(ctx, &list, options...); err != nil {
		return nil, err
	}
	items := make([]*unstructured.Unstructured, 0, len(list.Items))
	for i := range list.Items {
		items = append(items, &list.Items[i])
	}
	cut := list.GetContinue() != ""
	if cut || read.Namespace == "" && r.Whole != nil && !r.Whole(read.GroupVersionKind) {
		return scheduler.NewPartialList(items...), nil
	}
	return scheduler.NewList(items...), nil
}

// Scheduled returns an application's cached objects of the schedulers' kinds.
func (r Reader) Scheduled(ctx context.Context, app client.Object, kinds []schema.GroupVersionKind) ([]scheduler.Ref, error) {
	if r.Owned == nil {
		return nil, nil
	}
	var refs []scheduler.Ref
	for _, kind := range kinds {
		found, err := r.Owned(ctx, kind, app.GetNamespace(), indexValue(r.Labels.App, app.GetName()))
		if err != nil {
			return nil, fmt.Errorf("list %ss of %s/%s: %w", kind.Kind, app.GetNamespace(), app.GetName(), err)
		}
		for i := range found {
			if o := &found[i]; o.GetDeletionTimestamp().IsZero() && r.ownership(o, Target{UID: app.GetUID()}) != lifecycle.NotOwned {
				refs = append(refs, scheduler.Ref{GroupVersionKind: kind, Namespace: o.GetNamespace(), Name: o.GetName()})
			}
		}
	}
	return refs, nil
}

// PodStatuses returns the statuses of the attempt's cached pods for schedulers.
func (r Reader) PodStatuses(ctx context.Context, t Target, now time.Time) (scheduler.PodStatuses, error) {
	pods, err := r.pods(ctx, t)
	f := scheduler.PodStatuses{Now: now}
	for _, pod := range r.marked(pods, t.SubmissionID) {
		if status := pod.status; pod.runsDriver {
			f.Driver = &status
		} else {
			f.Executors = append(f.Executors, status)
		}
	}
	return f, err
}

// NamespaceAnnotations returns the annotations of a namespace.
func (r Reader) NamespaceAnnotations(ctx context.Context, name string) (map[string]string, error) {
	var ns corev1.Namespace
	if err := r.Live.Get(ctx, client.ObjectKey{Name: name}, &ns); err != nil {
		return nil, fmt.Errorf("get namespace %s: %w", name, err)
	}
	return ns.Annotations, nil
}
