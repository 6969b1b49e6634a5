// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// submitDriver creates the driver pod of a submission and then its resources, which the pod owns. The last resource is the ConfigMap that the driver waits for,
// so the driver starts with all resources, even if Restore creates them after a crash. A refused submission leaves nothing behind.
func (w Writer) submitDriver(ctx context.Context, owner lifecycle.Owner, s spark.Submission) lifecycle.Result {
	if r := w.namesFree(ctx, owner, s); r.Class != lifecycle.ClassDone {
		return r
	}
	driver := owned(s.Driver, owner)
	err := w.Client.Create(ctx, driver)
	if apierrors.IsAlreadyExists(err) {
		if r, found := w.recognize(ctx, owner, s.Driver); found {
			return r // missing resources are created while the driver waits
		}
		return transient(fmt.Sprintf("pod %s was deleted concurrently; retrying", s.Driver.Name))
	}
	if err != nil {
		r := resultOf(lifecycle.Submit, err)
		if r.Class == lifecycle.ClassTransient {
			return r
		}
		// An earlier try may have created the driver before a policy began to refuse it.
		if seen, found := w.recognize(ctx, owner, s.Driver); found && ours(seen) {
			return seen
		}
		return r
	}
	if r := w.attach(ctx, owner.Driver(driver), s.Resources); r.Class != lifecycle.ClassDone && r.Class != lifecycle.ClassTransient {
		if err := w.delete(ctx, driver); err != nil {
			return transient(err.Error())
		}
		return r
	}
	return lifecycle.Result{Kind: lifecycle.Submit, Class: lifecycle.ClassDone, DriverUID: string(driver.GetUID())}
}

// TryExecutor asks the API server, in a dry run, to create an executor pod of a running driver.
func (w Writer) TryExecutor(ctx context.Context, owner lifecycle.Owner, driver lifecycle.Driver, pod *corev1.Pod) lifecycle.Result {
	its := owner.Driver(&metav1.ObjectMeta{Name: driver.Name, UID: types.UID(driver.UID)})
	its.Reference.Controller = new(true) // as Spark sets it
	return resultOf(lifecycle.TryExecutor, w.Client.Create(ctx, owned(pod, its), client.DryRunAll))
}

// attach creates the missing resources of a driver.
func (w Writer) attach(ctx context.Context, driver lifecycle.Owner, resources []spark.Object) lifecycle.Result {
	for _, resource := range resources {
		err := w.Client.Create(ctx, owned(resource, driver))
		if !apierrors.IsAlreadyExists(err) {
			if err != nil {
				return refusal(resource, err)
			}
			continue
		}
		left, err := w.Existing(ctx, resource)
		switch {
		case err != nil:
			return transient(err.Error())
		case left == nil:
			return transient(fmt.Sprintf("%s %s was deleted concurrently; retrying", kindOf(resource), resource.GetName()))
		case !refersTo(left, driver):
			return nameTaken(driver, resource, left)
		}
	}
	return done()
}

// namesFree returns an error if an object has the ConfigMap's name or a name chosen by the user. Otherwise the driver would start with the ConfigMap of an
// earlier application of the same name. All other names begin with the attempt's ID, and their conflicts appear at the create.
func (w Writer) namesFree(ctx context.Context, owner lifecycle.Owner, s spark.Submission) lifecycle.Result {
	for i, resource := range s.Resources {
		if i < len(s.Resources)-1 && strings.HasPrefix(resource.GetName(), owner.SubmissionID) {
			continue
		}
		left, err := w.Existing(ctx, resource)
		switch {
		case err != nil:
			return refusal(resource, err)
		case left == nil:
			continue
		}
		goes := left.GetLabels()[owner.Labels.App] == owner.Reference.Name
		if goes {
			goes, err = w.goes(ctx, owner, left)
		}
		switch {
		case err != nil:
			return refusal(resource, err)
		case goes:
			return transient(fmt.Sprintf("%s %s of an earlier attempt is not deleted yet", kindOf(resource), resource.GetName()))
		}
		return nameTaken(owner, resource, left)
	}
	return done()
}

// goes reports whether the garbage collector will delete an object: each driver that owns it is deleted, is being deleted, or belongs to an application of this
// name. Objects without owners and those of other applications stay.
func (w Writer) goes(ctx context.Context, owner lifecycle.Owner, o client.Object) (bool, error) {
	for _, r := range o.GetOwnerReferences() {
		if r.APIVersion != "v1" || r.Kind != "Pod" {
			return false, nil
		}
		pod, err := w.Existing(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: r.Name}})
		if err != nil {
			return false, err
		}
		if pod != nil && pod.GetUID() == r.UID && pod.GetDeletionTimestamp().IsZero() && !slices.ContainsFunc(pod.GetOwnerReferences(), owner.Named) {
			return false, nil
		}
	}
	return len(o.GetOwnerReferences()) > 0, nil
}

// refusal classifies an error about one of a driver's resources. A missing API is a permanent refusal, because the driver needs the resource.
func refusal(o client.Object, err error) lifecycle.Result {
	r := resultOf(lifecycle.Submit, err)
	if meta.IsNoMatchError(err) {
		kind := o.GetObjectKind().GroupVersionKind()
		r.Class, r.Message = lifecycle.ClassRefused, fmt.Sprintf("%s %s: its API %s is not installed in the cluster; install it, or remove the %s from the spec",
			kind.Kind, o.GetName(), kind.GroupVersion(), kind.Kind)
	}
	return r
}

// refersTo reports whether an owner reference of an object names a driver.
func refersTo(o client.Object, driver lifecycle.Owner) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == driver.Reference.UID })
}
