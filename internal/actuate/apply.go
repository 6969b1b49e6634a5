// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// FieldOwner is the operator's name in managedFields.
const FieldOwner = "spark-operator"

// Schedule creates the objects that a scheduler plugin wants, and deletes its objects that it no longer wants. seen is the plugin's snapshot.
func (w Writer) Schedule(ctx context.Context, owner lifecycle.Owner, app string, a scheduler.Admission, seen scheduler.Snapshot) lifecycle.Result {
	for _, ref := range a.Delete {
		if r := w.Delete(ctx, owner, Reference(ref.GroupVersionKind, ref.Namespace, ref.Name), nil); r.Class != lifecycle.ClassDone {
			return r
		}
	}
	for _, object := range a.Apply {
		wanted, err := scheduled(object, owner, app)
		if err != nil {
			return applied(err)
		}
		var existing metav1.Object
		if found := shown(seen, object); found != nil {
			existing = found
		}
		if _, r := w.Apply(ctx, owner, wanted, existing); r.Class != lifecycle.ClassDone {
			return r
		}
	}
	return applied(nil)
}

// Scheduled reports whether Schedule would send no request, by the plugin's snapshot.
func Scheduled(owner lifecycle.Owner, app string, a scheduler.Admission, seen scheduler.Snapshot) bool {
	return len(a.Delete) == 0 && !slices.ContainsFunc(a.Apply, func(object *unstructured.Unstructured) bool {
		wanted, err := scheduled(object, owner, app)
		if err != nil {
			return true
		}
		owner.Own(wanted)
		existing := shown(seen, object)
		return existing == nil || !current(owner, existing, wanted)
	})
}

// shown returns an object from the snapshot; nil if the snapshot lacks it.
func shown(seen scheduler.Snapshot, o *unstructured.Unstructured) *unstructured.Unstructured {
	ref := scheduler.Ref{GroupVersionKind: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	return seen[ref.Read()]
}

// current reports whether an object equals the wanted one.
func current(owner lifecycle.Owner, existing, wanted *unstructured.Unstructured) bool {
	return owner.Labels.SameApplied(existing, wanted) && lifecycle.Contains(existing, wanted)
}

// scheduled adds the application's labels and the content's hash to a plugin's object.
func scheduled(object *unstructured.Unstructured, owner lifecycle.Owner, app string) (*unstructured.Unstructured, error) {
	wanted := object.DeepCopy()
	if err := owner.Labels.MarkApplied(wanted); err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	owner.Mark(wanted)
	labels := wanted.GetLabels()
	labels[owner.Labels.App] = app
	wanted.SetLabels(labels)
	return wanted, nil
}

// Release deletes a scheduler plugin's objects of an attempt. It skips objects that the operator may no longer delete, because the garbage collector deletes
// them.
func (w Writer) Release(ctx context.Context, owner lifecycle.Owner, refs []scheduler.Ref) lifecycle.Result {
	for _, ref := range refs {
		r := w.Delete(ctx, owner, Reference(ref.GroupVersionKind, ref.Namespace, ref.Name), nil)
		if r.Class == lifecycle.ClassTransient {
			return lifecycle.Result{Kind: lifecycle.Release, Class: r.Class, Message: r.Message}
		}
	}
	return lifecycle.Result{Kind: lifecycle.Release, Class: lifecycle.ClassDone}
}

// Apply creates or updates an object and returns it. It updates an object of the application even if another operator created it. It never changes an object of
// another owner. seen is the existing object, nil for none; Apply reads the object if seen is metadata only.
func (w Writer) Apply(ctx context.Context, owner lifecycle.Owner, wanted *unstructured.Unstructured,
	seen metav1.Object) (*unstructured.Unstructured, lifecycle.Result) {
	wanted = wanted.DeepCopy()
	owner.Own(wanted)
	if seen == nil {
		made := wanted.DeepCopy()
		err := w.Client.Create(ctx, made, client.FieldOwner(FieldOwner))
		if !apierrors.IsAlreadyExists(err) {
			return made, applied(err)
		}
	}
	existing, whole := seen.(*unstructured.Unstructured)
	if !whole {
		found, err := w.Existing(ctx, Reference(wanted.GroupVersionKind(), wanted.GetNamespace(), wanted.GetName()))
		if err != nil {
			return nil, applied(err)
		}
		existing, _ = found.(*unstructured.Unstructured)
	}
	switch {
	case existing == nil || !existing.GetDeletionTimestamp().IsZero():
		return nil, lifecycle.Result{
			Kind: lifecycle.Schedule, Class: lifecycle.ClassTransient,
			Message: fmt.Sprintf("%s %s is being deleted", wanted.GetKind(), wanted.GetName()),
		}
	case owner.Of(existing) == lifecycle.NotOwned:
		return nil, lifecycle.Result{
			Kind: lifecycle.Schedule, Class: lifecycle.ClassNameTaken,
			Message: fmt.Sprintf("%s %s already exists and does not belong to %s %s; delete or rename it",
				wanted.GetKind(), wanted.GetName(), owner.Reference.Kind, owner.Reference.Name),
		}
	case current(owner, existing, wanted):
		return existing, applied(nil)
	}
	return w.change(ctx, existing, wanted)
}

// change applies the wanted object. If an update created the existing object, its fields are first recorded as applied, because only then does Kubernetes
// remove unwanted fields (server-side apply, "Upgrading from client-side apply").
func (w Writer) change(ctx context.Context, existing, wanted *unstructured.Unstructured) (*unstructured.Unstructured, lifecycle.Result) {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(existing, sets.New(FieldOwner), FieldOwner)
	if err != nil {
		return nil, applied(fmt.Errorf("managed fields of %s %s: %w", wanted.GetKind(), wanted.GetName(), err))
	}
	if len(patch) > 0 {
		if err := w.Client.Patch(ctx, existing, client.RawPatch(types.JSONPatchType, patch)); err != nil {
			return nil, applied(err)
		}
	}
	wanted.SetUID(existing.GetUID()) // the UID prevents changing another object of this name
	err = w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.ForceOwnership, client.FieldOwner(FieldOwner))
	return wanted, applied(err)
}

// Delete deletes an object if it belongs to the application and is the object that was seen; nil reads it first. It succeeds if the object's API is not
// installed.
func (w Writer) Delete(ctx context.Context, owner lifecycle.Owner, object *unstructured.Unstructured, seen metav1.Object) lifecycle.Result {
	var missing *meta.NoKindMatchError
	if seen == nil {
		found, err := w.Existing(ctx, object)
		switch {
		case errors.As(err, &missing), err == nil && found == nil:
			return applied(nil)
		case err != nil:
			return applied(err)
		}
		seen = found
	}
	if owner.Of(seen) == lifecycle.NotOwned {
		return applied(nil)
	}
	object.SetUID(seen.GetUID())
	err := w.delete(ctx, object)
	if errors.As(err, &missing) {
		err = nil
	}
	if err == nil {
		w.Deleted.add(seen.GetUID())
	}
	return applied(err)
}

// DeleteObject deletes the object with the given UID. A missing object counts as deleted.
func (w Writer) DeleteObject(ctx context.Context, object client.Object) lifecycle.Result {
	return applied(w.delete(ctx, object))
}

// Reference returns an object that has only kind, namespace and name.
func Reference(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	var u unstructured.Unstructured
	u.SetGroupVersionKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return &u
}

// applied classifies the error of a write. A kind is refused while it is not installed.
func applied(err error) lifecycle.Result {
	r := resultOf(lifecycle.Schedule, err)
	if meta.IsNoMatchError(err) {
		r.Class, r.Message = lifecycle.ClassRefused, fmt.Sprintf("its API is not installed in the cluster: %v", err)
	}
	return r
}
