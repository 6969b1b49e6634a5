// SPDX-License-Identifier: Apache-2.0

// Package cluster runs standalone clusters: it reads a cluster and its objects, plans (internal/standalone), acts, and writes the status. A Kind hides the API
// family.
package cluster

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/attempt"
	"github.com/firesteel-dev/firesteel/internal/eventrecorder"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
	"github.com/firesteel-dev/firesteel/internal/statuscache"
)

// staleRetry is the delay of the next reconcile while the cache is stale, and raceRetry after a concurrent change.
const (
	staleRetry = 5 * time.Second
	raceRetry  = time.Second
)

// maxSteps bounds the steps of one reconcile. A refused cluster needs the most steps: the refusal, the deletions, and the release.
const maxSteps = 4

// owned are the kinds of a cluster's objects, with the types that the cache holds.
var owned = map[string]func() client.Object{
	"Service":                 func() client.Object { return &corev1.Service{} },
	"StatefulSet":             func() client.Object { return &appsv1.StatefulSet{} },
	"NetworkPolicy":           func() client.Object { return &networkingv1.NetworkPolicy{} },
	"HorizontalPodAutoscaler": func() client.Object { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"PodDisruptionBudget":     func() client.Object { return &policyv1.PodDisruptionBudget{} },
}

// Engine reconciles the clusters of a kind.
type Engine[T client.Object] struct {
	Kind Kind[T]
	// List is an empty list of clusters.
	List client.ObjectList

	Reader   observe.Reader
	Writer   actuate.Writer
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Operator returns the operator's current configuration.
	Operator func() resolve.Operator
	// Schedulers keeps the state that clusters share.
	Schedulers *reservations.Manager
	// Kinds knows which schedulers are available; nil for all.
	Kinds attempt.Kinds
	// Watches reports whether the operator works in a namespace; nil for all of them.
	Watches func(namespace string) bool

	written statuscache.Cache
}

// NewEngine returns the reconciler of a kind.
func NewEngine[T client.Object](k Kind[T], list client.ObjectList, reader observe.Reader, writer client.Client, recorder events.EventRecorder,
	now clock.PassiveClock, schedulers *reservations.Manager, config func() resolve.Operator) *Engine[T] {
	deleted := &actuate.Deletions{}
	reader.Labels, reader.Deleted = k.Family().Labels, deleted.Has
	e := &Engine[T]{
		Kind: k, List: list, Reader: reader, Writer: actuate.Writer{Client: writer, Existing: reader.Existing, Deleted: deleted},
		Recorder: recorder, Clock: now, Schedulers: schedulers, Operator: config,
	}
	schedulers.Rebuild(e.enterRunning)
	return e
}

// forget drops the state of a deleted cluster.
func (e *Engine[T]) forget(name types.NamespacedName) {
	e.written.Forget(name)
	e.Schedulers.Forget(scheduler.Key{Kind: e.Kind.Family().GroupKind(), Namespace: name.Namespace, Name: name.Name})
}

// Reconcile advances one cluster: read, decide, act, write the status. A step that waits for nothing follows immediately.
func (e *Engine[T]) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	obj := e.Kind.New()
	if e.Watches != nil && !e.Watches(req.Namespace) {
		e.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err := e.Reader.Cache.Get(ctx, req.NamespacedName, obj); err != nil {
		e.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if e.written.Newer(obj) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	for range maxSteps {
		next, again, result, err := e.step(ctx, obj)
		if !again || err != nil {
			return result, err
		}
		obj = next
	}
	return ctrl.Result{RequeueAfter: raceRetry}, nil
}

// step takes one step. next is the cluster as stored.
func (e *Engine[T]) step(ctx context.Context, obj T) (next T, again bool, result ctrl.Result, err error) {
	c := e.load(obj)
	asked, err := e.ask(ctx, obj, c)
	if err != nil {
		return obj, false, ctrl.Result{}, err
	}
	desired, objects := e.Kind.Desired(obj, c, asked.plugin, asked.decoration)
	if c.Record.State == standalone.Running && asked.problem.Reason != "" {
		desired.Problem = asked.problem
	}
	target, err := e.targetOf(obj, c, desired, objects)
	if err != nil {
		return obj, false, ctrl.Result{}, err
	}
	seen, err := e.Reader.Cluster(ctx, target)
	if err != nil {
		return obj, false, ctrl.Result{}, err
	}
	seen.Admission, seen.Placing = asked.Admission, asked.placing
	if s := c.Record.State; !s.Starts() && s != standalone.Running && c.Record.Scheduling.HeldBy == "" {
		if seen.Scheduled, err = e.Reader.Scheduled(ctx, obj, e.Operator().Registry.Owned()); err != nil {
			return obj, false, ctrl.Result{}, err
		}
	}
	plan := standalone.Decide(desired, c.Record, seen)
	if len(plan.Actions) > 0 {
		// A stale cache may lack a suspension or a resume, or have an earlier cluster of the same name.
		if fresh, err := e.Reader.Fresh(ctx, obj, e.Kind.Family().GroupVersionKind()); err != nil || !fresh {
			return obj, false, ctrl.Result{RequeueAfter: raceRetry}, err
		}
	}
	out := standalone.Settle(plan, e.act(ctx, obj, c, target, plan, asked.seen))
	if !out.Record.State.Starts() && out.Record.State != standalone.Running {
		e.Schedulers.Forget(scheduler.Key{Kind: e.Kind.Family().GroupKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()})
	}
	next, stored, result, err := e.writeStatus(ctx, obj, c.Record, out)
	return next, stored && out.Again, result, err
}

// pods selects the pods of a cluster.
func (e *Engine[T]) pods(o T, c standalone.Loaded) observe.ClusterTarget {
	return observe.ClusterTarget{Owner: e.Kind.Family().Owner(o, ""), Namespace: o.GetNamespace(), Name: o.GetName(), Master: c.Master, Workers: c.Workers}
}

// targetOf selects the objects of a cluster.
func (e *Engine[T]) targetOf(o T, c standalone.Loaded, desired standalone.Cluster, objects []spark.Object) (observe.ClusterTarget, error) {
	t := e.pods(o, c)
	t.Parts, t.Optional, t.Empty = desired.Parts, desired.Optional, func(kind string) client.Object { return owned[kind]() }
	for _, object := range objects {
		wanted, err := marked(object, t.Owner.Labels)
		if err != nil {
			return t, fmt.Errorf("build %s of %s/%s: %w", object.GetName(), o.GetNamespace(), o.GetName(), err)
		}
		t.Wanted = append(t.Wanted, wanted)
	}
	return t, nil
}

// marked returns an object as it is applied: with a hash of its content, and without the fields that the API server sets.
func marked(object runtime.Object, labels lifecycle.Labels) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(content, "spec", "template", "metadata", "creationTimestamp")
	wanted := &unstructured.Unstructured{Object: content}
	return wanted, labels.MarkApplied(wanted)
}

// act runs the actions of a plan, up to one that ends the plan. shown is the plugin's snapshot.
func (e *Engine[T]) act(ctx context.Context, o T, c standalone.Loaded, t observe.ClusterTarget,
	plan standalone.Plan, shown scheduler.Snapshot) []standalone.Result {
	var results []standalone.Result
	for _, a := range plan.Actions {
		var r lifecycle.Result
		switch a.Kind {
		case standalone.Apply:
			var there metav1.Object // the writer reads it
			if plan.Observation.Found[a.Ref].Presence == lifecycle.Present {
				there = &metav1.ObjectMeta{}
			}
			for i, part := range t.Parts {
				if part.Ref == a.Ref {
					_, r = e.Writer.Apply(ctx, t.Owner, t.Wanted[i], there)
				}
			}
		case standalone.Delete:
			object := owned[a.Ref.Kind]()
			object.SetNamespace(o.GetNamespace())
			object.SetName(a.Ref.Name)
			object.SetUID(types.UID(a.UID))
			r = e.Writer.DeleteObject(ctx, object)
		case standalone.Schedule:
			r = e.Writer.Schedule(ctx, t.Owner, o.GetName(), plan.Observation.Admission, shown)
		case standalone.Release:
			r = e.release(ctx, o, c, plan.Observation.Scheduled)
		case standalone.RemoveFinalizer:
			r = e.Writer.RemoveFinalizer(ctx, o, e.Kind.Family().Finalizer)
		}
		results = append(results, standalone.Result{Class: r.Class, Message: r.Message})
		if !plan.GoesOn(a, r.Class) {
			break
		}
	}
	return results
}

// writeStatus writes a changed status, and then records an event for a new state.
func (e *Engine[T]) writeStatus(ctx context.Context, obj T, before standalone.Record, out standalone.Outcome) (
	next T, stored bool, result ctrl.Result, err error) {
	result = ctrl.Result{RequeueAfter: out.Requeue}
	now := e.Clock.Now()
	next, changed := e.Kind.ToStatus(obj, out, now)
	if !changed || !obj.GetDeletionTimestamp().IsZero() {
		return obj, false, result, out.Err
	}
	err = e.Writer.PatchStatus(ctx, obj, next)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return obj, false, ctrl.Result{RequeueAfter: raceRetry}, nil // the object's own event enqueues it; the timer covers a lost event
	}
	if err != nil {
		return obj, false, ctrl.Result{}, fmt.Errorf("patch status of %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	e.written.Add(next, now)
	if word, message := e.Kind.State(next); word != "" && before.State != out.Record.State {
		bad := out.Record.State == standalone.Refused
		e.Recorder.Eventf(next, nil, eventrecorder.EventType(bad), word, "Reconcile", "%s", message)
	}
	return next, true, result, out.Err
}
