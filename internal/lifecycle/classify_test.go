// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	pods       = schema.GroupResource{Resource: "pods"}
	configMaps = schema.GroupResource{Resource: "configmaps"}
)

// forbidden is a 403 with the text that the API server gives it.
func forbidden(text string) error {
	return apierrors.NewForbidden(pods, "pi-driver", errors.New(text))
}

func terminating() error {
	err := apierrors.NewForbidden(configMaps, "pi", errors.New("unable to create new content in namespace jobs because it is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: "namespace jobs is being terminated", Field: "metadata.namespace",
	})
	return err
}

func TestClassify(t *testing.T) {
	cases := map[string]struct {
		reason string
		kind   ActionKind
		err    error
		want   Class
	}{
		"Created":           {reason: "no error is done", kind: Submit, want: ClassDone},
		"Deleted":           {reason: "no error is done", kind: DeleteDriver, want: ClassDone},
		"DeletedBefore":     {reason: "a driver that is gone needs no deletion", kind: DeleteDriver, err: apierrors.NewNotFound(pods, "pi-driver"), want: ClassDone},
		"AnotherOne":        {reason: "the UID precondition failed: the pod meant is gone", kind: DeleteDriver, err: apierrors.NewConflict(pods, "pi-driver", errors.New("precondition failed: UID")), want: ClassDone},
		"NoAPI":             {reason: "a group that was not made must not let the driver start", kind: Schedule, err: apierrors.NewNotFound(schema.GroupResource{Group: "x", Resource: "podgroups"}, ""), want: ClassTransient},
		"ScheduleConflict":  {reason: "the object is not what was wanted", kind: Schedule, err: apierrors.NewConflict(pods, "group", errors.New("precondition failed: UID")), want: ClassTransient},
		"NoNamespace":       {reason: "a create meets NotFound when the namespace is gone", kind: Submit, err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "jobs"), want: ClassRefused},
		"CreateConflict":    {reason: "a conflict does not say that a create happened", kind: Submit, err: apierrors.NewConflict(pods, "pi-driver", errors.New("try again")), want: ClassTransient},
		"NameTaken":         {reason: "the caller has ruled out that the object is ours", kind: Submit, err: apierrors.NewAlreadyExists(pods, "pi-driver"), want: ClassNameTaken},
		"Quota":             {reason: "quota may have room later", kind: Submit, err: forbidden("exceeded quota: team, requested: pods=1, used: pods=10, limited: pods=10"), want: ClassQuota},
		"QuotaNeedsRequest": {reason: "a quota that wants limits to be set is a quota", kind: Submit, err: forbidden("failed quota: team: must specify limits.cpu for: spark-kubernetes-driver"), want: ClassQuota},
		"Terminating":       {reason: "the cause distinguishes it from other 403s", kind: Submit, err: terminating(), want: ClassTerminating},
		"RBAC":              {reason: "the operator's own rights", kind: Submit, err: forbidden(`User "system:serviceaccount:spark-operator:spark-operator" cannot create resource "pods" in API group "" in the namespace "jobs"`), want: ClassOperatorForbidden},
		"OwnerRBAC":         {reason: "the right to block the owner's deletion is the operator's too", kind: Submit, err: forbidden("cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"), want: ClassOperatorForbidden},
		"DeleteRBAC":        {reason: "the same of a delete", kind: DeleteDriver, err: forbidden(`User "system:serviceaccount:spark-operator:spark-operator" cannot delete resource "pods" in API group "" in the namespace "jobs"`), want: ClassOperatorForbidden},
		"PodSecurity":       {reason: "what an admission plugin misses may come; grace ends the wait", kind: Submit, err: forbidden(`violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "spark-kubernetes-driver" must set securityContext.allowPrivilegeEscalation=false)`), want: ClassPolicy},
		"ServiceAccount":    {reason: "a service account may be applied a moment later than the application", kind: Submit, err: forbidden(`error looking up service account jobs/spark: serviceaccount "spark" not found`), want: ClassPolicy},
		"Invalid":           {reason: "the object is not acceptable", kind: Submit, err: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "pi-driver", nil), want: ClassRefused},
		"Webhook":           {reason: "a webhook denies with 400", kind: Submit, err: apierrors.NewBadRequest(`admission webhook "policy.example" denied the request: no latest tag`), want: ClassRefused},
		"TooLarge":          {reason: "the object stays as large as it is", kind: Submit, err: apierrors.NewRequestEntityTooLargeError("limit is 3145728"), want: ClassRefused},
		"TooLargeForEtcd":   {reason: "a 500, and the object stays as large as it is", kind: Submit, err: apierrors.NewInternalError(errors.New("etcdserver: request is too large")), want: ClassRefused},
		"TooLargeToSend":    {reason: "the same of etcd's client", kind: Schedule, err: apierrors.NewInternalError(errors.New("rpc error: code = ResourceExhausted desc = trying to send message larger than max (2097252 vs. 2097152)")), want: ClassRefused},
		"NoMethod":          {reason: "the API server does not know the call", kind: Submit, err: apierrors.NewMethodNotSupported(pods, "create"), want: ClassRefused},
		"Timeout":           {reason: "it may or may not have happened", kind: Submit, err: apierrors.NewTimeoutError("request timed out", 1), want: ClassTransient},
		"ServerTimeout":     {reason: "it may or may not have happened", kind: Submit, err: apierrors.NewServerTimeout(pods, "create", 1), want: ClassTransient},
		"TooMany":           {reason: "priority and fairness says later", kind: Submit, err: apierrors.NewTooManyRequests("slow down", 1), want: ClassTransient},
		"Internal":          {reason: "a webhook that cannot be reached gives a 500", kind: Submit, err: apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example"`)), want: ClassTransient},
		"Unavailable":       {reason: "the API server restarts", kind: Submit, err: apierrors.NewServiceUnavailable("etcd leader changed"), want: ClassTransient},
		"Unauthorized":      {reason: "a token is being renewed", kind: Submit, err: apierrors.NewUnauthorized("token expired"), want: ClassTransient},
		"Cancelled":         {reason: "the operator stops", kind: Submit, err: context.Canceled, want: ClassTransient},
		"Network":           {reason: "no answer is no refusal", kind: Submit, err: errors.New("dial tcp 10.96.0.1:443: connect: connection refused"), want: ClassTransient},
		"DeleteApplication": {reason: "it was changed since: it is read again before it is deleted", kind: DeleteApplication, err: apierrors.NewConflict(pods, "pi", errors.New("precondition failed: resourceVersion")), want: ClassTransient},
		"ApplicationGone":   {reason: "an application that is gone needs no deletion", kind: DeleteApplication, err: apierrors.NewNotFound(pods, "pi"), want: ClassDone},
		"ResourcesGone":     {reason: "nor do the objects of an attempt", kind: DeleteResources, err: apierrors.NewNotFound(configMaps, "pi"), want: ClassDone},
		"WebhookForbids":    {reason: "a policy engine denies with 403", kind: Submit, err: forbidden(`admission webhook "policy.example" denied the request: no latest tag`), want: ClassPolicy},
		"TryWebhookDown":    {reason: "the driver gets this answer, too", kind: TryExecutor, err: apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example"`)), want: ClassPolicy},
		"TryNoDryRun":       {reason: "it says nothing about the driver's request", kind: TryExecutor, err: apierrors.NewBadRequest(`admission webhook "policy.example" does not support dry run`), want: ClassDone},
		"TryDenied":         {reason: "a webhook denies with 400", kind: TryExecutor, err: apierrors.NewBadRequest(`admission webhook "policy.example" denied the request: it does not support dry run`), want: ClassRefused},
		"Wrapped":           {reason: "errors are looked through", kind: Submit, err: fmt.Errorf("create pod: %w", forbidden("exceeded quota: team")), want: ClassQuota},
		"WrappedGone":       {reason: "errors are looked through", kind: DeleteDriver, err: fmt.Errorf("delete pod: %w", apierrors.NewNotFound(pods, "pi-driver")), want: ClassDone},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Classify(tc.kind, tc.err); got != tc.want {
				t.Errorf("%s: Classify(%s, %v) = %s, want %s", tc.reason, tc.kind, tc.err, got, tc.want)
			}
		})
	}
}

// A policy's refusal that happens to use two words of RBAC's sentence is not treated as missing rights of the operator.
func TestClassifyWebhookRefusalIsAPolicy(t *testing.T) {
	err := forbidden(`admission webhook "policy.example" denied the request: containers cannot use the resource nvidia.com/gpu here`)
	err2 := forbidden(`admission webhook "policy.example" denied the request: pods cannot ask for the resource type gpu`)
	for _, e := range []error{err, err2} {
		if got := Classify(Submit, e); got != ClassPolicy {
			t.Errorf("%v: %s, want Policy", e, got)
		}
	}
}
