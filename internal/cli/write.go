// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// This file contains all writes of the program to a cluster, with the user's permissions. It writes spec.suspend and spec.backfill, sets annotations that
// request a run or wake a server, deletes objects, and for an adoption creates the application and labels the pods. It also sends access reviews, which the
// API server does not store. The linter confines writes to this file.

// writer has the write methods of a client that this program may use.
type writer interface {
	Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error
	Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error
	Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error
}

// fieldOwner is the name of this program in managedFields.
const fieldOwner = client.FieldOwner("kubectl-spark")

// dryRun is the value of kubectl's flag --dry-run.
type dryRun string

const (
	dryRunNone   dryRun = "none"
	dryRunClient dryRun = "client"
	dryRunServer dryRun = "server"
)

func (d *dryRun) addTo(command *cobra.Command) {
	chosen(command, (*string)(d), "dry-run", "", string(dryRunNone),
		`"client" sends nothing, "server" sends a request that changes nothing, "none" changes the object`,
		string(dryRunNone), string(dryRunClient), string(dryRunServer))
}

// suffix returns the text that kubectl prints after the name of an object in a dry run.
func (d dryRun) suffix() string {
	switch d {
	case dryRunClient:
		return " (dry run)"
	case dryRunServer:
		return " (server dry run)"
	case dryRunNone:
	}
	return ""
}

// setSuspend writes spec.suspend.
func (c *connection) setSuspend(ctx context.Context, o inspect.Object, to bool, dry dryRun) error {
	return c.patch(ctx, o, dry, map[string]any{"spec": map[string]any{"suspend": to}})
}

// setTime writes an annotation that requests a run. A later time requests another run.
func (c *connection) setTime(ctx context.Context, o inspect.Object, annotation string, at time.Time, dry dryRun) error {
	return c.patch(ctx, o, dry, map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: stamp(at)}}})
}

// setWake writes the annotation that wakes a server. Its time is one second after the stop. This time is in the past even if the operator's clock is behind
// the clock of this machine.
func (c *connection) setWake(ctx context.Context, o metav1.Object, stopped time.Time) error {
	which := &unstructured.Unstructured{}
	which.SetGroupVersionKind(inspect.Servers.ObjectKind(""))
	which.SetNamespace(o.GetNamespace())
	which.SetName(o.GetName())
	which.SetUID(o.GetUID())
	return c.setTime(ctx, inspect.Object{Type: inspect.Servers, Unstructured: which}, inspect.Servers.Family.WakeAt,
		stopped.Truncate(time.Second).Add(time.Second), dryRunNone)
}

// setBackfill writes spec.backfill of a schedule.
func (c *connection) setBackfill(ctx context.Context, o inspect.Object, b schedule.Backfill, dry dryRun) error {
	fields := map[string]any{"from": stamp(b.From), "to": stamp(b.To), "maxActive": nil}
	if b.MaxActive != 0 {
		fields["maxActive"] = b.MaxActive
	}
	return c.patch(ctx, o, dry, map[string]any{"spec": map[string]any{"backfill": fields}})
}

// create creates an object and updates it to the stored object.
func (c *connection) create(ctx context.Context, o *unstructured.Unstructured, dry dryRun) error {
	if dry == dryRunClient {
		return nil
	}
	options := []client.CreateOption{fieldOwner}
	if dry == dryRunServer {
		options = append(options, client.DryRunAll)
	}
	return c.writes.Create(ctx, o, options...)
}

// mark adds labels to a pod, and owners if there are any. It fails if the pod was replaced. If ResourceVersion is set, it fails after any change of the pod.
func (c *connection) mark(ctx context.Context, pod *corev1.Pod, labels map[string]any, owners []metav1.OwnerReference, dry dryRun) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	o.SetNamespace(pod.Namespace)
	o.SetName(pod.Name)
	o.SetUID(pod.UID)
	metadata := map[string]any{"labels": labels}
	if pod.ResourceVersion != "" {
		metadata["resourceVersion"] = pod.ResourceVersion
	}
	if len(owners) > 0 {
		metadata["ownerReferences"] = slices.Concat(pod.OwnerReferences, owners)
	}
	return c.patch(ctx, inspect.Object{Unstructured: o}, dry, map[string]any{"metadata": metadata})
}

// patch changes some fields of an object. The UID prevents a change of another object with the same name.
func (c *connection) patch(ctx context.Context, o inspect.Object, dry dryRun, fields map[string]any) error {
	if dry == dryRunClient {
		return nil
	}
	metadata, _ := fields["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["uid"] = o.GetUID()
	fields["metadata"] = metadata
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	options := []client.PatchOption{fieldOwner}
	if dry == dryRunServer {
		options = append(options, client.DryRunAll)
	}
	return c.writes.Patch(ctx, o.DeepCopy(), client.RawPatch(types.MergePatchType, text), options...)
}

// remove deletes an object. Its dependents are deleted, too, unless orphan is set.
func (c *connection) remove(ctx context.Context, o inspect.Object, orphan bool, dry dryRun) error {
	if dry == dryRunClient {
		return nil
	}
	policy := metav1.DeletePropagationBackground
	if orphan {
		policy = metav1.DeletePropagationOrphan
	}
	options := []client.DeleteOption{client.PropagationPolicy(policy), client.Preconditions{UID: ptr.To(o.GetUID())}}
	if dry == dryRunServer {
		options = append(options, client.DryRunAll)
	}
	return c.writes.Delete(ctx, o.DeepCopy(), options...)
}

// stamp formats a time for annotations. It has whole seconds, as the operator records it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// mayCreate asks the API server whether the user may create objects of a resource.
func mayCreate(ctx context.Context, c client.Client, namespace string, of schema.GroupResource) (bool, error) {
	asked := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Group: of.Group, Resource: of.Resource},
	}}
	err := c.Create(ctx, asked)
	return asked.Status.Allowed, err
}

// createsPods asks the API server whether a service account may create pods. The access review is sent as an object but not stored.
func createsPods(ctx context.Context, c client.Client, namespace, account string) (bool, error) {
	asked := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + namespace + ":" + account,
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Resource: "pods"},
		},
	}
	err := c.Create(ctx, asked)
	return asked.Status.Allowed, err
}
