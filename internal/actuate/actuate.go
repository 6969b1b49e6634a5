// Package actuate is the only writer of the cluster. Every write can be repeated after a crash at any point: names are
// functions of the application and its attempt, creates recognise what is already ours, deletes carry the UID of the
// very object that they mean, and status patches the resourceVersion that they were decided from.
package actuate

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Writer writes to the cluster.
type Writer struct {
	Client client.Client
	// Existing returns the live object of the same kind, namespace and name, or nil. It is package observe's.
	Existing func(context.Context, client.Object) (client.Object, error)
}

// Owner is the application that an object is created for.
type Owner struct {
	Reference    metav1.OwnerReference
	SubmissionID string
}

// Submit creates the resources of a submission and then its driver pod. Unless the API server is merely in trouble,
// a submission that does not get its driver leaves nothing behind.
func (w Writer) Submit(ctx context.Context, owner Owner, s spark.Submission) lifecycle.Result {
	var made []client.Object
	for _, resource := range s.Resources {
		obj, result := w.createResource(ctx, owner, resource, s.Driver)
		if obj != nil {
			made = append(made, obj)
		}
		if result != nil {
			return w.giveUp(ctx, made, *result)
		}
	}
	pod := owned(s.Driver, owner)
	err := w.Client.Create(ctx, pod)
	switch {
	case err == nil:
		return lifecycle.Result{Kind: lifecycle.Submit, Class: lifecycle.ClassDone}
	case apierrors.IsAlreadyExists(err):
		return w.giveUp(ctx, made, w.recognise(ctx, owner, pod))
	}
	return w.giveUp(ctx, made, resultOf(lifecycle.Submit, err))
}

// createResource returns the object that was created, or a result that ends the submission. A resource that an earlier
// try of this application left behind is replaced, since the spec may have changed; but not under a driver that lives.
func (w Writer) createResource(ctx context.Context, owner Owner, resource client.Object, driver *corev1.Pod) (client.Object, *lifecycle.Result) {
	obj := owned(resource, owner)
	err := w.Client.Create(ctx, obj)
	if err == nil {
		return obj, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		r := resultOf(lifecycle.Submit, err)
		return nil, &r
	}
	if r := w.recognise(ctx, owner, owned(driver, owner)); r.Class != lifecycle.ClassTransient {
		return nil, &r // the driver exists: it is ours, or its name is taken
	}
	left, err := w.Existing(ctx, obj)
	if err != nil || left == nil {
		r := transient(fmt.Sprintf("%s %s was there and is gone", kindOf(obj), obj.GetName()))
		return nil, &r
	}
	if lifecycle.OwnerOf(left, owner.Reference.UID, owner.SubmissionID) == lifecycle.Foreign {
		r := nameTaken(obj)
		return nil, &r
	}
	if err := w.delete(ctx, left); err != nil {
		r := resultOf(lifecycle.Submit, err)
		return nil, &r
	}
	obj = owned(resource, owner)
	if err := w.Client.Create(ctx, obj); err != nil {
		r := transient(err.Error())
		return nil, &r
	}
	return obj, nil
}

// recognise tells whether the driver pod that has our name is ours: Done if so.
func (w Writer) recognise(ctx context.Context, owner Owner, pod client.Object) lifecycle.Result {
	existing, err := w.Existing(ctx, pod)
	switch {
	case err != nil:
		return transient(err.Error())
	case existing == nil:
		return transient(fmt.Sprintf("pod %s was there and is gone", pod.GetName()))
	}
	switch lifecycle.OwnerOf(existing, owner.Reference.UID, owner.SubmissionID) {
	case lifecycle.Current:
		return lifecycle.Result{Kind: lifecycle.Submit, Class: lifecycle.ClassDone}
	case lifecycle.Former:
		return transient(fmt.Sprintf("pod %s of an earlier attempt is not gone yet", pod.GetName()))
	case lifecycle.Foreign:
	}
	return nameTaken(pod)
}

// giveUp ends a submission. Only when it was refused are the resources taken back: with a driver of ours they are in
// use, and after a passing trouble they will be.
func (w Writer) giveUp(ctx context.Context, made []client.Object, r lifecycle.Result) lifecycle.Result {
	if r.Class == lifecycle.ClassDone || r.Class == lifecycle.ClassTransient {
		return r
	}
	for _, obj := range made {
		if err := w.delete(ctx, obj); err != nil {
			return transient(err.Error())
		}
	}
	return r
}

// DeleteDriver deletes the pod if it still is the one with the given UID.
func (w Writer) DeleteDriver(ctx context.Context, namespace, name, uid string) lifecycle.Result {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}
	return resultOf(lifecycle.DeleteDriver, w.delete(ctx, pod))
}

// PatchStatus stores the status of next if the object still is as before was read.
func (w Writer) PatchStatus(ctx context.Context, before, next client.Object) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return w.Client.Status().Patch(ctx, next, patch)
}

func (w Writer) delete(ctx context.Context, obj client.Object) error {
	uid := obj.GetUID()
	err := w.Client.Delete(ctx, obj, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the object meant is gone
	}
	return err
}

func owned(obj client.Object, owner Owner) client.Object {
	mine := obj.DeepCopyObject().(client.Object)
	lifecycle.Own(mine, owner.Reference)
	return mine
}

func resultOf(kind lifecycle.ActionKind, err error) lifecycle.Result {
	r := lifecycle.Result{Kind: kind, Class: lifecycle.Classify(kind, err)}
	if err != nil {
		r.Message = err.Error()
	}
	return r
}

func transient(message string) lifecycle.Result {
	return lifecycle.Result{Kind: lifecycle.Submit, Class: lifecycle.ClassTransient, Message: message}
}

func nameTaken(obj client.Object) lifecycle.Result {
	return lifecycle.Result{
		Kind: lifecycle.Submit, Class: lifecycle.ClassNameTaken,
		Message: fmt.Sprintf("%s %s exists already and does not belong to this application; delete or rename it", kindOf(obj), obj.GetName()),
	}
}

func kindOf(obj client.Object) string {
	switch obj.(type) {
	case *corev1.Pod:
		return "pod"
	case *corev1.Service:
		return "service"
	case *corev1.ConfigMap:
		return "ConfigMap"
	case *corev1.Secret:
		return "Secret"
	case *corev1.PersistentVolumeClaim:
		return "PersistentVolumeClaim"
	}
	return fmt.Sprintf("%T", obj)
}
