// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// FieldOwner is the name under which the operator writes.
const FieldOwner = "spark-operator"

// Expose makes an object beside a driver be as it is wanted, and returns it as it is then. It is created, or changed in
// place if it is ours, also if an operator before us has made it. An object of somebody else is never touched.
func (w Writer) Expose(ctx context.Context, owner Owner, object exposure.Object) (*unstructured.Unstructured, lifecycle.Result) {
	wanted := object.DeepCopy()
	lifecycle.Own(wanted, owner.Reference)
	made := wanted.DeepCopy()
	err := w.Client.Create(ctx, made, client.FieldOwner(FieldOwner))
	if err == nil {
		return made, exposed(nil)
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, exposed(err)
	}
	return w.takeOver(ctx, owner, object, wanted)
}

// Amend changes an object beside a driver that exists.
func (w Writer) Amend(ctx context.Context, owner Owner, object exposure.Object) (*unstructured.Unstructured, lifecycle.Result) {
	wanted := object.DeepCopy()
	lifecycle.Own(wanted, owner.Reference)
	return w.takeOver(ctx, owner, object, wanted)
}

// takeOver looks at the object that has the name, and makes it as it is wanted if it is ours.
func (w Writer) takeOver(ctx context.Context, owner Owner, object exposure.Object, wanted *unstructured.Unstructured) (*unstructured.Unstructured, lifecycle.Result) {
	found, err := w.Existing(ctx, bare(object.Ref, wanted.GetNamespace()))
	existing, _ := found.(*unstructured.Unstructured)
	switch {
	case err != nil:
		return nil, exposed(err)
	case existing == nil || !existing.GetDeletionTimestamp().IsZero():
		return nil, lifecycle.Result{Kind: lifecycle.Schedule, Class: lifecycle.ClassTransient, Message: object.String() + " is on its way out"}
	case lifecycle.OwnerOf(existing, owner.Reference.UID, owner.SubmissionID) == lifecycle.Foreign:
		return nil, lifecycle.Result{
			Kind: lifecycle.Schedule, Class: lifecycle.ClassNameTaken,
			Message: fmt.Sprintf("%s %s exists already and does not belong to this application; delete or rename it", wanted.GetKind(), wanted.GetName()),
		}
	case exposure.Same(existing, object):
		return existing, exposed(nil)
	}
	return w.change(ctx, existing, wanted)
}

// change applies what is wanted. What was created by an update is first recorded as applied: only then does Kubernetes
// take away what is not wanted any more (server-side apply, "Upgrading from client-side apply").
func (w Writer) change(ctx context.Context, existing, wanted *unstructured.Unstructured) (*unstructured.Unstructured, lifecycle.Result) {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(existing, sets.New(FieldOwner), FieldOwner)
	if err != nil {
		return nil, exposed(fmt.Errorf("managed fields of %s %s: %w", wanted.GetKind(), wanted.GetName(), err))
	}
	if len(patch) > 0 {
		if err := w.Client.Patch(ctx, existing, client.RawPatch(types.JSONPatchType, patch)); err != nil {
			return nil, exposed(err)
		}
	}
	wanted.SetUID(existing.GetUID()) // another object of this name is not meant
	if err := w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.ForceOwnership, client.FieldOwner(FieldOwner)); err != nil {
		return nil, exposed(err)
	}
	return wanted, exposed(nil)
}

// Conceal deletes an object beside a driver, if it is the one that was seen and belongs to the application. An API that
// is not installed has nothing to delete.
func (w Writer) Conceal(ctx context.Context, owner Owner, ref exposure.Ref, seen metav1.Object) lifecycle.Result {
	if lifecycle.OwnerOf(seen, owner.Reference.UID, owner.SubmissionID) == lifecycle.Foreign {
		return exposed(nil)
	}
	object := bare(ref, seen.GetNamespace())
	object.SetUID(seen.GetUID())
	err := w.delete(ctx, object)
	if meta.IsNoMatchError(err) {
		err = nil
	}
	return exposed(err)
}

// Companion returns the live object, or nil.
func (w Writer) Companion(ctx context.Context, namespace string, ref exposure.Ref) *unstructured.Unstructured {
	found, err := w.Existing(ctx, bare(ref, namespace))
	if err != nil {
		return nil
	}
	existing, _ := found.(*unstructured.Unstructured)
	return existing
}

func bare(ref exposure.Ref, namespace string) *unstructured.Unstructured {
	var u unstructured.Unstructured
	u.SetGroupVersionKind(ref.Kind)
	u.SetNamespace(namespace)
	u.SetName(ref.Name)
	return &u
}

// exposed judges the answer to a write. A kind that is not installed is refused until it is.
func exposed(err error) lifecycle.Result {
	r := resultOf(lifecycle.Schedule, err)
	if meta.IsNoMatchError(err) {
		r.Class, r.Message = lifecycle.ClassRefused, fmt.Sprintf("its API is not installed in the cluster: %v", err)
	}
	return r
}
