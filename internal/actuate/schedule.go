// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Schedule makes the objects of a scheduler plugin's plan exist, and those that it does not want any more go. An object
// of somebody else is never touched. seen is what the plugin was shown.
func (w Writer) Schedule(ctx context.Context, owner Owner, app string, plan scheduler.Plan, seen scheduler.Snapshot) lifecycle.Result {
	for _, ref := range plan.Delete {
		if err := w.deleteOwned(ctx, owner, ref); err != nil {
			return resultOf(lifecycle.Schedule, err)
		}
	}
	for _, object := range plan.Apply {
		wanted, err := ownedObject(object, owner, app)
		if err != nil {
			return resultOf(lifecycle.Schedule, err)
		}
		ref := scheduler.Ref{GroupVersionKind: object.GroupVersionKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
		if r := w.applyObject(ctx, owner, wanted, seen[ref.Read()]); r.Class != lifecycle.ClassDone {
			return r
		}
	}
	return lifecycle.Result{Kind: lifecycle.Schedule, Class: lifecycle.ClassDone}
}

// applyObject creates the object, or changes it if it is ours and another one than wanted.
func (w Writer) applyObject(ctx context.Context, owner Owner, wanted, existing *unstructured.Unstructured) lifecycle.Result {
	if existing == nil {
		err := w.Client.Create(ctx, wanted.DeepCopy())
		if !apierrors.IsAlreadyExists(err) {
			return resultOf(lifecycle.Schedule, err)
		}
		found, err := w.Existing(ctx, wanted)
		if err != nil || found == nil {
			return lifecycle.Result{Kind: lifecycle.Schedule, Class: lifecycle.ClassTransient, Message: fmt.Sprintf("%s %s was there and is gone", wanted.GetKind(), wanted.GetName())}
		}
		existing, _ = found.(*unstructured.Unstructured)
	}
	if lifecycle.OwnerOf(existing, owner.Reference.UID, owner.SubmissionID) == lifecycle.Foreign {
		r := nameTaken(wanted)
		r.Kind, r.Message = lifecycle.Schedule, fmt.Sprintf("%s %s exists already and does not belong to this application; delete or rename it", wanted.GetKind(), wanted.GetName())
		return r
	}
	if existing.GetAnnotations()[lifecycle.AnnotationApplied] == wanted.GetAnnotations()[lifecycle.AnnotationApplied] && stillSays(existing, wanted) {
		return lifecycle.Result{Kind: lifecycle.Schedule, Class: lifecycle.ClassDone}
	}
	wanted.SetUID(existing.GetUID()) // another object of this name is not meant
	err := w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.ForceOwnership)
	return resultOf(lifecycle.Schedule, err)
}

// stillSays is whether an object to which the same was applied before still has all of it: somebody may have edited it.
func stillSays(existing, wanted *unstructured.Unstructured) bool {
	for field, value := range wanted.Object {
		if field != "apiVersion" && field != "kind" && field != "metadata" && !holds(existing.Object[field], value) {
			return false
		}
	}
	return true
}

// holds is whether a value has everything that is wanted of it. What it has beyond that is somebody else's, e.g. a
// default. The same quantity may be written in several ways.
func holds(have, want any) bool {
	switch w := want.(type) {
	case nil:
		return true
	case map[string]any:
		h, _ := have.(map[string]any)
		for key, value := range w {
			if !holds(h[key], value) {
				return false
			}
		}
		return true
	case []any:
		h, _ := have.([]any)
		return slices.EqualFunc(h, w, holds)
	}
	return reflect.DeepEqual(have, want) || sameQuantity(have, want)
}

func sameQuantity(have, want any) bool {
	h, err := resource.ParseQuantity(fmt.Sprint(have))
	if err != nil {
		return false
	}
	w, err := resource.ParseQuantity(fmt.Sprint(want))
	return err == nil && h.Cmp(w) == 0
}

// ownedObject completes a plugin's object with its owner, its marks and the hash of what it says.
func ownedObject(object *unstructured.Unstructured, owner Owner, app string) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	h := fnv.New64a()
	_, _ = h.Write(text) // a hash never fails
	wanted := object.DeepCopy()
	lifecycle.Own(wanted, owner.Reference)
	lifecycle.Mark(wanted, owner.SubmissionID)
	marks := maps.Clone(wanted.GetLabels())
	marks[lifecycle.LabelApp] = app
	wanted.SetLabels(marks)
	annotations := maps.Clone(wanted.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[lifecycle.AnnotationApplied] = fmt.Sprintf("%016x", h.Sum64())
	wanted.SetAnnotations(annotations)
	return wanted, nil
}

// Release deletes what a scheduler plugin has made for an attempt. An API that was uninstalled, or that the operator may
// not use any more, has nothing for us to delete: the owner reference does the rest.
func (w Writer) Release(ctx context.Context, owner Owner, refs []scheduler.Ref) lifecycle.Result {
	for _, ref := range refs {
		err := w.deleteOwned(ctx, owner, ref)
		if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			return resultOf(lifecycle.Release, err)
		}
	}
	return lifecycle.Result{Kind: lifecycle.Release, Class: lifecycle.ClassDone}
}

// deleteOwned deletes the object if it belongs to the application.
func (w Writer) deleteOwned(ctx context.Context, owner Owner, ref scheduler.Ref) error {
	var u unstructured.Unstructured
	u.SetGroupVersionKind(ref.GroupVersionKind)
	u.SetNamespace(ref.Namespace)
	u.SetName(ref.Name)
	found, err := w.Existing(ctx, &u)
	var missing *meta.NoKindMatchError
	switch {
	case errors.As(err, &missing):
		return nil
	case err != nil:
		return err
	case found == nil || lifecycle.OwnerOf(found, owner.Reference.UID, owner.SubmissionID) == lifecycle.Foreign:
		return nil
	}
	return w.delete(ctx, found)
}
