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

// expose applies the auxiliary objects of a live driver, and deletes them afterwards. It runs between the actions and the status write of a step, so that the
// status has the result without another write. The status lists an object until its deletion is confirmed. Errors are reported and never fail the application.
func (e *Engine[T]) expose(ctx context.Context, s *scope[T], o *lifecycle.Outcome) {
	if o.Auxiliary == lifecycle.AuxiliaryKept {
		o.Record.Exposure = s.Record.Exposure
		return
	}
	key := client.ObjectKeyFromObject(s.obj)
	owner := s.Owner
	owner.SubmissionID = o.Record.SubmissionID
	if s.Desired.Endures {
		owner.SubmissionID = "" // an attempt's objects would be deleted with the attempt
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

// exposed returns the wanted and the existing auxiliary objects.
func (e *Engine[T]) exposed(ctx context.Context, s *scope[T], o *lifecycle.Outcome, owner lifecycle.Owner) (exposure.Wanted, exposure.Seen, error) {
	// The objects of an enduring driver exist before the attempt has a driver.
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
		// Another operator may have created them, or this one before a crash without a status write.
		about = exposure.About(exposure.Of(attempt, e.Exposure), before)
	}
	seen, err := e.Reader.Exposed(ctx, s.App.Namespace, s.App.Name, about, func(r exposure.Ref) bool {
		return !applied || slices.Contains(before.Objects, r.String()) || r.Name == before.Service || r.Name == before.Ingress
	})
	return wanted, seen, err
}

// converge applies and deletes the planned objects. After an error it continues with the others.
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

// lookup reads the cluster IP of a Service; "" if it has none or after an error.
func (e *Engine[T]) lookup(ctx context.Context, namespace string, service exposure.Ref) string {
	found, err := e.Reader.Existing(ctx, actuate.Reference(service.Kind, namespace, service.Name))
	if err != nil {
		return ""
	}
	existing, _ := found.(*unstructured.Unstructured)
	return clusterIP(existing)
}

// clusterIP returns the IP of a Service; "" for none.
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

// minNonZero returns the shorter of two waits; 0 means no wait.
func minNonZero(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// leftovers reports whether an ended application still has objects to delete: a driver, auxiliary objects, or scheduler objects.
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

// refusals remembers the auxiliary objects with content that the API server refused, by application.
type refusals struct {
	mu  sync.Mutex
	all map[types.NamespacedName]exposure.Refusals
}

// of returns the refusals of an application. The result never changes.
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

// forget drops the state of an application.
func (r *refusals) forget(app types.NamespacedName) { r.set(app, nil) }
