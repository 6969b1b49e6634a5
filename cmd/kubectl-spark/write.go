// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
)

// This file has all that the program writes to a cluster, with the rights of the user: spec.suspend, the annotations that
// ask for a run or wake a server, spec.backfill, and deletions. The linter holds this.

// writer is what writes. Nothing else of a client's is used.
type writer interface {
	Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error
	Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error
}

// fieldOwner is the name under which managedFields lists what this program wrote.
const fieldOwner = client.FieldOwner("kubectl-spark")

// dryRun is kubectl's flag --dry-run.
type dryRun string

const (
	dryRunNone   dryRun = "none"
	dryRunClient dryRun = "client"
	dryRunServer dryRun = "server"
)

func (d *dryRun) addTo(command *cobra.Command) {
	command.Flags().StringVar((*string)(d), "dry-run", string(dryRunNone), `"client" sends nothing, "server" sends a request that changes nothing, "none" changes the object`)
	_ = command.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(
		[]string{string(dryRunNone), string(dryRunClient), string(dryRunServer)}, cobra.ShellCompDirectiveNoFileComp))
}

func (d dryRun) check() error {
	switch d {
	case dryRunNone, dryRunClient, dryRunServer:
		return nil
	}
	return fmt.Errorf("--dry-run: %q is none of none, client and server", string(d))
}

// suffix is what kubectl adds to the line of an object.
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
func (c *connection) setSuspend(ctx context.Context, o found, to bool, dry dryRun) error {
	return c.patch(ctx, o, dry, map[string]any{"spec": map[string]any{"suspend": to}})
}

// setTime writes an annotation that asks for a run: a later time than the one before asks for another.
func (c *connection) setTime(ctx context.Context, o found, annotation string, at time.Time, dry dryRun) error {
	return c.patch(ctx, o, dry, map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: stamp(at)}}})
}

// setWake writes the annotation that wakes a server. It counts from the second after the stop, which is in the past also
// for an operator whose clock is behind this machine's.
func (c *connection) setWake(ctx context.Context, o *v1alpha1.SparkConnect, stopped time.Time) error {
	which := &unstructured.Unstructured{}
	which.SetGroupVersionKind(servers.object(""))
	which.SetNamespace(o.Namespace)
	which.SetName(o.Name)
	which.SetUID(o.UID)
	return c.setTime(ctx, found{servers, which}, v1alpha1.AnnotationWakeAt, stopped.Truncate(time.Second).Add(time.Second), dryRunNone)
}

// setBackfill writes spec.backfill of a schedule.
func (c *connection) setBackfill(ctx context.Context, o found, b backfill, dry dryRun) error {
	return c.patch(ctx, o, dry, map[string]any{"spec": map[string]any{"backfill": b.fields()}})
}

// patch changes some fields. The UID keeps it from an object that has the name by now.
func (c *connection) patch(ctx context.Context, o found, dry dryRun, fields map[string]any) error {
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

// remove deletes an object, and what it owns unless that is to stay.
func (c *connection) remove(ctx context.Context, o found, orphan bool, dry dryRun) error {
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

// stamp is a time as the annotations have it: whole seconds, as what the operator records of it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
