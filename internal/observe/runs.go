// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// IndexSchedule indexes runs in the cache by the UID of their schedule.
const IndexSchedule = "schedule"

// Runs selects the runs of a schedule.
type Runs struct {
	Namespace, UID string
	// Label is on every run.
	Label client.MatchingLabels
	// Named are the names of runs to read live if the list lacks them.
	Named []string
	// Live lists runs from the API server, because the cache may lack new ones.
	Live bool
}

// ListRuns returns the runs of a schedule that owned selects. list is an empty list of their kind, and empty returns an empty object. Cached objects are
// read-only.
func ListRuns[T client.Object](ctx context.Context, r Reader, which Runs, list client.ObjectList, empty func() T, owned func(T) bool) ([]T, error) {
	cached, err := List[T](ctx, r.Cache, list, client.InNamespace(which.Namespace), client.MatchingFields{IndexSchedule: which.UID}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	all := cached
	ask := which.Named
	if which.Live {
		if all, err = List[T](ctx, r.Live, list, client.InNamespace(which.Namespace), which.Label); err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		for _, run := range cached { // a user may have removed the label
			ask = append(ask[:len(ask):len(ask)], run.GetName())
		}
	}
	var runs []T
	known := map[string]bool{}
	for _, run := range all {
		if owned(run) {
			known[run.GetName()] = true
			runs = append(runs, run)
		}
	}
	for _, name := range ask {
		if known[name] {
			continue
		}
		known[name] = true
		run := empty()
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: which.Namespace, Name: name}, run)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get run %s/%s: %w", which.Namespace, name, err)
		}
		if owned(run) {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// List returns the objects of a list; empty has the list's type.
func List[T client.Object](ctx context.Context, from client.Reader, empty client.ObjectList, options ...client.ListOption) ([]T, error) {
	list, _ := empty.DeepCopyObject().(client.ObjectList)
	if err := from.List(ctx, list, options...); err != nil {
		return nil, err
	}
	var all []T
	err := meta.EachListItem(list, func(o runtime.Object) error {
		all = append(all, o.(T))
		return nil
	})
	return all, err
}

// Names returns a function that lists the names of a kind's cached objects in a namespace, or in all namespaces with "".
func (r Reader) Names(empty client.ObjectList) func(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	return func(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
		all, err := List[client.Object](ctx, r.Cache, empty, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
		names := make([]types.NamespacedName, 0, len(all))
		for _, o := range all {
			names = append(names, client.ObjectKeyFromObject(o))
		}
		return names, err
	}
}

// listDrivers lists the live driver pods with a label, whatever their names.
func (r Reader) listDrivers(ctx context.Context, list *corev1.PodList, namespace, label, value string) error {
	roles, err := labels.NewRequirement(spark.LabelRole, selection.In, []string{spark.RoleDriver, spark.RoleServer})
	if err != nil {
		return err
	}
	which := labels.SelectorFromValidatedSet(labels.Set{label: value}).Add(*roles)
	return r.Live.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: which})
}

// HasDriver reports whether an application's name has a live driver pod, even without the application.
func (r Reader) HasDriver(ctx context.Context, namespace, app string) (bool, error) {
	var list corev1.PodList
	if err := r.listDrivers(ctx, &list, namespace, r.Labels.App, app); err != nil {
		return false, fmt.Errorf("list driver pods of %s/%s: %w", namespace, app, err)
	}
	for i := range list.Items {
		if !ended(list.Items[i].Status.Phase) {
			return true, nil
		}
	}
	return false, nil
}
