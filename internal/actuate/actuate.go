// SPDX-License-Identifier: Apache-2.0

// Package actuate is the only writer of the cluster. Every write can be repeated after a crash at any point. Names are functions of the application and its
// attempt. Creates recognize existing objects of the application. Deletes have the UID of the object, and status patches have the resourceVersion of the
// decision.
package actuate

import (
	"context"
	"fmt"
	"slices"

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
	// Existing returns the live object of the same kind, namespace and name, or nil; package observe implements it.
	Existing func(context.Context, client.Object) (client.Object, error)
	// Drivers returns the live driver pods of an attempt, whatever their names; package observe implements it.
	Drivers func(ctx context.Context, namespace, submissionID string) ([]client.Object, error)
	// Resources returns the other live objects of an attempt; package observe implements it.
	Resources func(ctx context.Context, namespace, submissionID string) ([]client.Object, error)
	// Deleted remembers the deleted objects of schedulers; nil to remember none.
	Deleted *Deletions
}

// Submit creates the resources of a submission and then its driver pod. If the submission is refused, only the clients' token stays. After an API server
// failure other resources may stay, too.
func (w Writer) Submit(ctx context.Context, owner lifecycle.Owner, s spark.Submission) lifecycle.Result {
	if owner.DriverOwns {
		return w.submitDriver(ctx, owner, s)
	}
	s, r := w.createToken(ctx, owner, s)
	switch {
	case r.Class != lifecycle.ClassDone:
		return w.abort(ctx, owner, s, r)
	case r.Message == driverExists:
		return done()
	}
	r = w.submit(ctx, owner, s)
	if found := r.Class == lifecycle.ClassDone && r.DriverUID == ""; s.TokenSecret != nil && !found { // an existing driver may read another token
		r.TokenSecret = s.TokenSecret.Name
	}
	return r
}

// submit creates the resources and the driver.
func (w Writer) submit(ctx context.Context, owner lifecycle.Owner, s spark.Submission) lifecycle.Result {
	for _, resource := range s.Resources {
		if r := w.createResource(ctx, owner, resource, s.Driver); r.Class != lifecycle.ClassDone {
			return w.abort(ctx, owner, s, r)
		} else if r.Message == driverExists {
			return done()
		}
	}
	driver := owned(s.Driver, owner)
	err := w.Client.Create(ctx, driver)
	if apierrors.IsAlreadyExists(err) {
		if r, found := w.recognize(ctx, owner, s.Driver); found {
			return w.abort(ctx, owner, s, r)
		}
		return transient(fmt.Sprintf("pod %s was deleted concurrently; retrying", s.Driver.Name))
	}
	if err == nil {
		return lifecycle.Result{Kind: lifecycle.Submit, Class: lifecycle.ClassDone, DriverUID: string(driver.GetUID())}
	}
	return w.abort(ctx, owner, s, resultOf(lifecycle.Submit, err))
}

// driverExists is the message of a resource that is not needed, because the driver exists.
const driverExists = "the driver exists"

func done() lifecycle.Result {
	return lifecycle.Result{Kind: lifecycle.Submit, Class: lifecycle.ClassDone}
}

// asResource converts the result of an existing driver to the result of one of its resources.
func asResource(r lifecycle.Result) lifecycle.Result {
	if r.Class == lifecycle.ClassDone {
		r.Message = driverExists
	}
	return r
}

// createResource creates one resource. It replaces a resource of an earlier try, because the spec may have changed, but only if certainly no driver uses it.
func (w Writer) createResource(ctx context.Context, owner lifecycle.Owner, resource client.Object, driver *corev1.Pod) lifecycle.Result {
	err := w.Client.Create(ctx, marked(resource, owner))
	if !apierrors.IsAlreadyExists(err) {
		return resultOf(lifecycle.Submit, err)
	}
	if r, found := w.recognize(ctx, owner, driver); found {
		return asResource(r)
	}
	left, err := w.Existing(ctx, resource)
	switch {
	case err != nil:
		return transient(err.Error())
	case left == nil:
		return transient(fmt.Sprintf("%s %s was deleted concurrently; retrying", kindOf(resource), resource.GetName()))
	case owner.Of(left) == lifecycle.NotOwned:
		return nameTaken(owner, resource, left)
	}
	if err := w.delete(ctx, left); err != nil {
		return resultOf(lifecycle.Submit, err)
	}
	if err := w.Client.Create(ctx, marked(resource, owner)); lifecycle.BySpec(err) {
		return resultOf(lifecycle.Submit, err)
	} else if err != nil {
		return transient(err.Error())
	}
	return done()
}

// recognize looks for the driver of this attempt: by its label under any name, and by its name under any owner. found is false only if certainly neither
// exists. A failed read is a transient error, with found set.
func (w Writer) recognize(ctx context.Context, owner lifecycle.Owner, driver *corev1.Pod) (r lifecycle.Result, found bool) {
	pods, err := w.Drivers(ctx, driver.Namespace, owner.SubmissionID)
	if err != nil {
		return transient(err.Error()), true
	}
	existing, err := w.Existing(ctx, driver)
	if err != nil {
		return transient(err.Error()), true
	}
	if existing != nil {
		pods = append(pods, existing)
	}
	for _, pod := range pods {
		switch owner.Of(pod) {
		case lifecycle.Current:
			if pod.GetLabels()[owner.Labels.SpecHash] != driver.Labels[owner.Labels.SpecHash] {
				return transient(fmt.Sprintf("pod %s was created from an earlier version of the spec", pod.GetName())), true
			}
			return done(), true
		case lifecycle.Previous:
			return transient(fmt.Sprintf("pod %s of an earlier attempt is not deleted yet", pod.GetName())), true
		case lifecycle.NotOwned:
		}
	}
	if existing != nil {
		return nameTaken(owner, driver, existing), true
	}
	return lifecycle.Result{}, false
}

// abort ends a refused submission. If certainly no driver of the application uses the resources, it deletes them, including the resources of an earlier try.
func (w Writer) abort(ctx context.Context, owner lifecycle.Owner, s spark.Submission, r lifecycle.Result) lifecycle.Result {
	if r.Class == lifecycle.ClassDone || r.Class == lifecycle.ClassTransient {
		return r
	}
	if seen, found := w.recognize(ctx, owner, s.Driver); found && ours(seen) {
		return seen
	}
	taken := false
	for _, resource := range s.Resources {
		left, err := w.Existing(ctx, resource)
		if err != nil {
			return transient(err.Error())
		}
		if left == nil || owner.Of(left) == lifecycle.NotOwned {
			continue
		}
		if err := w.delete(ctx, left); err != nil {
			return transient(err.Error())
		}
		taken = true
	}
	if taken {
		return w.recreate(ctx, owner, s, r)
	}
	return r
}

// recreate creates the resources again if another operator, which still believed to be the leader, created the driver.
func (w Writer) recreate(ctx context.Context, owner lifecycle.Owner, s spark.Submission, r lifecycle.Result) lifecycle.Result {
	seen, found := w.recognize(ctx, owner, s.Driver)
	if !found || seen.Class != lifecycle.ClassDone {
		return r
	}
	for _, resource := range s.Resources {
		if err := w.Client.Create(ctx, marked(resource, owner)); err != nil && !apierrors.IsAlreadyExists(err) {
			return transient(err.Error())
		}
	}
	return seen
}

// Restore creates the missing resources of a submission.
func (w Writer) Restore(ctx context.Context, owner lifecycle.Owner, s spark.Submission) lifecycle.Result {
	if owner.DriverOwns {
		driver, err := w.Existing(ctx, s.Driver)
		if err != nil || driver == nil || owner.Of(driver) != lifecycle.Current {
			return transient(fmt.Sprintf("pod %s is not the attempt's, or cannot be read: %v", s.Driver.Name, err))
		}
		return w.attach(ctx, owner.Driver(driver), s.Resources)
	}
	for _, resource := range s.Resources {
		left, err := w.Existing(ctx, resource)
		if err == nil && left == nil {
			err = w.Client.Create(ctx, marked(resource, owner))
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return resultOf(lifecycle.Submit, err)
		}
	}
	return done()
}

// DeleteDriver deletes the pod if it still has the action's UID. If the action has a version, a changed or missing pod is an error, because the observation is
// outdated.
func (w Writer) DeleteDriver(ctx context.Context, namespace, name string, action lifecycle.Action) lifecycle.Result {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(action.UID)}}
	if action.Version != "" {
		err := w.Client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID, ResourceVersion: &action.Version},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return lifecycle.Result{Kind: lifecycle.DeleteDriver, Class: lifecycle.ClassTransient, Message: err.Error()}
		}
		return resultOf(lifecycle.DeleteDriver, err)
	}
	var opts []client.DeleteOption
	if action.Force {
		opts = append(opts, client.GracePeriodSeconds(0))
	}
	return resultOf(lifecycle.DeleteDriver, w.delete(ctx, pod, opts...))
}

// DeleteResources deletes an attempt's objects other than its driver pod. It keeps objects of other owners with the attempt's label. After a failed delete it
// continues with the others, and returns the first error.
func (w Writer) DeleteResources(ctx context.Context, namespace string, owner lifecycle.Owner) lifecycle.Result {
	if owner.DriverOwns {
		return resultOf(lifecycle.DeleteResources, nil) // the garbage collector deletes them with the driver
	}
	all, err := w.Resources(ctx, namespace, owner.SubmissionID)
	r := resultOf(lifecycle.DeleteResources, err)
	for _, resource := range all {
		if owner.Of(resource) != lifecycle.Current || !resource.GetDeletionTimestamp().IsZero() {
			continue
		}
		next := resultOf(lifecycle.DeleteResources, w.delete(ctx, resource))
		if next.Class == lifecycle.ClassTransient {
			return next
		}
		if r.Class == lifecycle.ClassDone {
			r = next
		}
	}
	return r
}

// DeleteApplication deletes the application unless it has changed since it was read.
func (w Writer) DeleteApplication(ctx context.Context, app client.Object) lifecycle.Result {
	uid, version := app.GetUID(), app.GetResourceVersion()
	precondition := client.Preconditions{UID: &uid, ResourceVersion: &version}
	return resultOf(lifecycle.DeleteApplication, w.Client.Delete(ctx, app, precondition, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// RemoveFinalizer removes one finalizer of the application unless the application has changed since it was read. It reads the other finalizers live, because
// the cache keeps only the first ones.
func (w Writer) RemoveFinalizer(ctx context.Context, app client.Object, finalizer string) lifecycle.Result {
	found, err := w.Existing(ctx, app)
	if err != nil || found == nil || found.GetUID() != app.GetUID() {
		return resultOf(lifecycle.RemoveFinalizer, err)
	}
	found.SetResourceVersion(app.GetResourceVersion())
	next := found.DeepCopyObject().(client.Object)
	next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == finalizer }))
	patch := client.MergeFromWithOptions(found, client.MergeFromWithOptimisticLock{})
	return resultOf(lifecycle.RemoveFinalizer, client.IgnoreNotFound(w.Client.Patch(ctx, next, patch)))
}

func (w Writer) delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	uid := obj.GetUID()
	err := w.Client.Delete(ctx, obj, append(opts, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))...)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the object is already deleted
	}
	return err
}

func owned(obj client.Object, owner lifecycle.Owner) client.Object {
	mine := obj.DeepCopyObject().(client.Object)
	owner.Own(mine)
	return mine
}

func marked(obj client.Object, owner lifecycle.Owner) client.Object {
	mine := owned(obj, owner)
	owner.Mark(mine)
	return mine
}

func resultOf(kind lifecycle.ActionKind, err error) lifecycle.Result {
	r := lifecycle.Result{Kind: kind, Class: lifecycle.Classify(kind, err)}
	if err != nil {
		r.Message, r.BySpec = err.Error(), lifecycle.BySpec(err)
	}
	return r
}

func transient(message string) lifecycle.Result {
	return lifecycle.Result{Kind: lifecycle.Submit, Class: lifecycle.ClassTransient, Message: message}
}

// nameTaken is the result for an object whose name belongs to another owner's object.
func nameTaken(owner lifecycle.Owner, wanted, there client.Object) lifecycle.Result {
	r := lifecycle.Result{Kind: lifecycle.Submit, Class: lifecycle.ClassLeaving}
	what := kindOf(wanted) + " " + wanted.GetName()
	switch {
	case owner.Predecessor(there):
		r.Message = what + " of a deleted application of this name is not deleted yet; the driver starts when it is gone"
	case !there.GetDeletionTimestamp().IsZero():
		r.Message = what + " of another owner is not deleted yet; the driver starts when it is gone"
	default:
		r.Class, r.Message = lifecycle.ClassNameTaken, what+" already exists and does not belong to this application; delete or rename it"
	}
	return r
}

// ours reports whether a recognized driver belongs to the application.
func ours(r lifecycle.Result) bool {
	return r.Class != lifecycle.ClassNameTaken && r.Class != lifecycle.ClassLeaving
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
