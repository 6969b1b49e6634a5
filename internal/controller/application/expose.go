// SPDX-License-Identifier: Apache-2.0

package application

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// +kubebuilder:rbac:groups="",resources=services,verbs=watch;patch

// expose keeps the auxiliary objects of a driver while it lives, and deletes them when it is over. It runs after the actions
// of a reconcile and before its status write, so that the status reports them at no cost. An object stays recorded until it
// is known to be gone. Problems are reported, and never fail the application.
func (e *Engine[T]) expose(ctx context.Context, s *scope[T], o *lifecycle.Outcome) {
	if o.Auxiliary == lifecycle.AuxiliaryKept {
		o.Record.Exposure = s.Record.Exposure
		return
	}
	key := client.ObjectKeyFromObject(s.obj)
	owner := s.Owner
	owner.SubmissionID = o.Record.SubmissionID
	if s.Desired.Endures {
		owner.SubmissionID = "" // an attempt's resources are deleted with it
	}
	wanted, seen, err := e.exposed(ctx, s, o, owner)
	if err != nil {
		ctrllog.FromContext(ctx).Info("cannot read the auxiliary objects of the driver", "answer", err.Error())
		o.Record.Exposure, o.Requeue = s.Record.Exposure, minNonZero(o.Requeue, exposure.Soon)
		return
	}
	plan := exposure.Decide(wanted, seen, s.Record.Exposure, e.refused.of(key))
	if plan.Lookup.Name != "" {
		plan.Address = e.lookup(ctx, s.App.Namespace, plan.Lookup)
	}
	settled := exposure.Settle(plan, e.converge(ctx, owner, s.App.Namespace, plan, seen), cmp.Or(e.ExposureRetry, exposure.Retry))
	e.refused.set(key, settled.Refused)
	settled.HistoryURL = exposure.History(s.App, o.Record.SparkAppID, e.Exposure)
	o.Record.Exposure = settled.Exposure
	if settled.Again > 0 {
		o.Requeue = minNonZero(o.Requeue, settled.Again)
	}
}

// exposed is what is wanted of auxiliary objects, and what there is.
func (e *Engine[T]) exposed(ctx context.Context, s *scope[T], o *lifecycle.Outcome, owner lifecycle.Owner) (exposure.Wanted, exposure.Seen, error) {
	// What endures is there before the attempt has a driver.
	attempt := exposure.Attempt{
		App: s.App, Owner: owner, SparkAppID: cmp.Or(o.Record.SparkAppID, s.Identity.AppID), DriverName: o.Record.DriverName,
	}
	before, wanted := s.Record.Exposure, exposure.Wanted{}
	applied := o.Auxiliary == lifecycle.AuxiliaryApplied
	if applied {
		wanted, s.objections = exposure.Of(attempt, e.Exposure).Without(s.App, s.Policies.CheckExposure(s.App, o.Record.SparkAppID))
	}
	about := exposure.About(wanted, before)
	if !applied && s.Record.State.HasDriver() && len(before.Objects) == 0 {
		// A previous operator may have made it, or this one did and crashed before it wrote the status.
		about = exposure.About(exposure.Of(attempt, e.Exposure), before)
	}
	seen, err := e.Reader.Exposed(ctx, s.App.Namespace, s.App.Name, about, func(r exposure.Ref) bool {
		return !applied || slices.Contains(before.Objects, r.String()) || r.Name == before.Service || r.Name == before.Ingress
	})
	return wanted, seen, err
}

// converge writes and deletes what is planned. Nothing waits for what fails.
func (e *Engine[T]) converge(ctx context.Context, owner lifecycle.Owner, namespace string, plan exposure.Plan,
	seen exposure.Seen) map[exposure.Ref]exposure.Result {
	results := map[exposure.Ref]exposure.Result{}
	note := func(ref exposure.Ref, found *unstructured.Unstructured, r lifecycle.Result) {
		if results[ref] = (exposure.Result{Result: r, ClusterIP: clusterIP(found)}); r.Class != lifecycle.ClassDone {
			ctrllog.FromContext(ctx).Info("cannot apply or delete an auxiliary object of the driver", "object", ref.String(), "answer", r.Message)
		}
	}
	for _, object := range plan.Write {
		found, r := e.Writer.Apply(ctx, owner, object.Unstructured, seen[object.Ref])
		note(object.Ref, found, r)
	}
	for _, ref := range plan.Remove {
		note(ref, nil, e.Writer.Delete(ctx, owner, actuate.Reference(ref.Kind, namespace, ref.Name), seen[ref]))
	}
	return results
}

// lookup reads the cluster IP of a Service; "" for none, or if it cannot be read.
func (e *Engine[T]) lookup(ctx context.Context, namespace string, service exposure.Ref) string {
	found, err := e.Reader.Existing(ctx, actuate.Reference(service.Kind, namespace, service.Name))
	if err != nil {
		return ""
	}
	existing, _ := found.(*unstructured.Unstructured)
	return clusterIP(existing)
}

// clusterIP is that of a Service; "" if it has none.
func clusterIP(service *unstructured.Unstructured) string {
	if service == nil {
		return ""
	}
	ip, _, err := unstructured.NestedString(service.Object, "spec", "clusterIP")
	if err != nil || ip == "None" {
		return ""
	}
	return ip
}

// minNonZero is the shorter of two waits; 0 means no wait.
func minNonZero(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// leftovers reports whether something of an application that is over must still be deleted: a driver, its auxiliary objects, or those of its scheduler.
func (e *Engine[T]) leftovers(ctx context.Context, o client.Object, r lifecycle.Record) (bool, error) {
	if len(r.Exposure.Objects) > 0 {
		return true, nil
	}
	orphans, err := e.Reader.Orphans(ctx, o)
	if orphans || err != nil {
		return orphans, err
	}
	if scheduled, err := e.Reader.Scheduled(ctx, o, e.Registry.Owned()); len(scheduled) > 0 || err != nil {
		return true, err
	}
	return e.Reader.HasAuxiliary(ctx, o)
}

// refusals remembers which auxiliary objects of applications the API server has refused for what they say.
type refusals struct {
	mu  sync.Mutex
	all map[types.NamespacedName]exposure.Refusals
}

// of returns those of an application. They are not changed any more.
func (r *refusals) of(app types.NamespacedName) exposure.Refusals {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[app]
}

func (r *refusals) set(app types.NamespacedName, now exposure.Refusals) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(now) == 0 {
		delete(r.all, app)
		return
	}
	if r.all == nil {
		r.all = map[types.NamespacedName]exposure.Refusals{}
	}
	r.all[app] = now
}

// forget drops what is remembered of an application.
func (r *refusals) forget(app types.NamespacedName) { r.set(app, nil) }
