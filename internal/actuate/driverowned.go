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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// submitDriver creates the driver pod of a submission and then its resources, which belong to the pod: they go with it. The last of them is
// what the driver waits for, its ConfigMap: it starts with all that it needs, or, after a crash, with what Restore creates. A submission
// that is refused leaves nothing behind.
func (w Writer) submitDriver(ctx context.Context, owner lifecycle.Owner, s spark.Submission) lifecycle.Result {
	if r := w.namesFree(ctx, owner, s); r.Class != lifecycle.ClassDone {
		return r
	}
	driver := owned(s.Driver, owner)
	err := w.Client.Create(ctx, driver)
	if apierrors.IsAlreadyExists(err) {
		if r, found := w.recognize(ctx, owner, s.Driver); found {
			return r // what it lacks is created when it waits for it
		}
		return transient(fmt.Sprintf("pod %s was deleted concurrently; retrying", s.Driver.Name))
	}
	if err != nil {
		r := resultOf(lifecycle.Submit, err)
		if r.Class == lifecycle.ClassTransient {
			return r
		}
		// An earlier try may have created it, and a policy refuses it since.
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

// attach creates those of a driver's resources that do not exist.
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

// namesFree reports whether the names that the user has chosen are free, and that of what the driver waits for: it would start with what is
// left of an application that had the name before. The others begin with the attempt's id, and are seen when they are created.
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

// goes reports whether the garbage collector deletes an object: every driver that owns it is gone or goes. It keeps one without owners, and one of
// another application.
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

// refusal judges an error about one of a driver's resources. An API that is not installed is no trouble of the API server, and the driver does
// not run without what belongs to it.
func refusal(o client.Object, err error) lifecycle.Result {
	r := resultOf(lifecycle.Submit, err)
	if meta.IsNoMatchError(err) {
		kind := o.GetObjectKind().GroupVersionKind()
		r.Class, r.Message = lifecycle.ClassRefused, fmt.Sprintf("%s %s: its API %s is not installed in the cluster; install it, or remove the %s from the spec",
			kind.Kind, o.GetName(), kind.GroupVersion(), kind.Kind)
	}
	return r
}

// refersTo reports whether an object belongs to a driver.
func refersTo(o client.Object, driver lifecycle.Owner) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == driver.Reference.UID })
}
