// SPDX-License-Identifier: Apache-2.0

package application

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
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

const (
	// exposureRetry is how often an auxiliary object that the API server refuses is tried again, and exposureSoon what it may
	// well take in a moment.
	exposureRetry = 30 * time.Second
	exposureSoon  = 5 * time.Second
)

// exposing is one reconcile of the auxiliary objects of a driver.
type exposing struct {
	app    string
	owner  lifecycle.Owner
	before lifecycle.Exposure
	wanted exposure.Wanted
	seen   exposure.Seen
	after  lifecycle.Exposure
	// problems say what cannot be made; again is when to try it again, 0 for no need.
	problems []lifecycle.Cause
	again    time.Duration
	// retry is when what was refused is tried again.
	retry time.Duration
}

// expose keeps the auxiliary objects of a driver while it lives, and deletes them when it is over. It runs after the actions
// of a reconcile and before its status write, so that the status reports them at no cost. An object stays recorded until it
// is known to be gone. Problems are reported, and never fail the application.
func (e *Engine[T]) expose(ctx context.Context, s *scope[T], o *lifecycle.Outcome) {
	x := exposing{app: s.App.Name, owner: s.Owner, before: s.Record.Exposure, retry: cmp.Or(e.ExposureRetry, exposureRetry)}
	if o.Auxiliary == lifecycle.AuxiliaryKept {
		o.Record.Exposure = x.before
		return
	}
	x.owner.SubmissionID = o.Record.SubmissionID
	if s.Desired.Endures {
		x.owner.SubmissionID = "" // an attempt's resources are deleted with it
	}
	// What endures is there before the attempt has a driver.
	attempt := exposure.Attempt{
		App: s.App, Owner: x.owner, SparkAppID: cmp.Or(o.Record.SparkAppID, s.Identity.AppID), DriverName: o.Record.DriverName,
	}
	applied := o.Auxiliary == lifecycle.AuxiliaryApplied
	if applied {
		x.wanted, s.objections = exposure.Of(attempt, e.Exposure).Without(s.Policies.CheckExposure(s.App, o.Record.SparkAppID))
	}
	about := exposure.About(x.wanted, x.before)
	if !applied && s.Record.State.HasDriver() && len(x.before.Objects) == 0 {
		// A previous operator may have made it, or this one did and crashed before it wrote the status.
		about = exposure.About(exposure.Of(attempt, e.Exposure), x.before)
	}
	seen, err := e.Reader.Exposed(ctx, s.App.Namespace, s.App.Name, about, func(r exposure.Ref) bool {
		return !applied || slices.Contains(x.before.Objects, r.String()) || r.Name == x.before.Service || r.Name == x.before.Ingress
	})
	if err != nil {
		ctrllog.FromContext(ctx).Info("cannot read the auxiliary objects of the driver", "answer", err.Error())
		o.Record.Exposure, o.Requeue = x.before, minNonZero(o.Requeue, exposureSoon)
		return
	}
	x.seen = seen
	e.converge(ctx, &x, s.App.Namespace)
	x.complain()
	x.after.HistoryURL = exposure.History(s.App, o.Record.SparkAppID, e.Exposure)
	o.Record.Exposure = x.after
	if x.again > 0 {
		o.Requeue = minNonZero(o.Requeue, x.again)
	}
}

// converge writes and deletes, and notes what is there then.
func (e *Engine[T]) converge(ctx context.Context, x *exposing, namespace string) {
	write, remove := exposure.Diff(x.wanted, x.seen)
	there := map[exposure.Ref]*unstructured.Unstructured{}
	for _, object := range x.wanted.Objects {
		there[object.Ref] = nil
	}
	key := types.NamespacedName{Namespace: namespace, Name: x.app}
	e.refused.retain(key, func(r exposure.Ref) bool { _, wanted := there[r]; return wanted })
	for _, object := range write {
		hash := object.GetAnnotations()[x.owner.Labels.Applied]
		if cause, same := e.refused.of(key, object.Ref, hash); same {
			delete(there, object.Ref)
			x.problems = append(x.problems, cause)
			continue
		}
		found, r := e.Writer.Apply(ctx, x.owner, object.Unstructured, x.seen[object.Ref])
		if there[object.Ref] = found; r.Class != lifecycle.ClassDone {
			delete(there, object.Ref)
			x.failed(ctx, object.Ref, r)
		}
		if r.BySpec && e.refused.add(key, object.Ref, hash, x.problems[len(x.problems)-1]) {
			x.again = minNonZero(x.again, x.retry)
		}
	}
	for _, ref := range remove {
		if r := e.Writer.Delete(ctx, x.owner, actuate.Reference(ref.Kind, namespace, ref.Name), x.seen[ref]); r.Class != lifecycle.ClassDone {
			x.failed(ctx, ref, r)
			x.after.Objects = append(x.after.Objects, ref.String())
		}
	}
	for _, object := range x.wanted.Objects {
		if _, ok := there[object.Ref]; ok || x.seen[object.Ref] != nil {
			x.after.Objects = append(x.after.Objects, object.String())
		}
	}
	x.keep()
	slices.Sort(x.after.Objects)
	x.after.Objects = slices.Compact(x.after.Objects)
	e.describe(ctx, x, there, namespace)
}

// failed notes what the API server answered. What may pass in a moment is not worth a condition.
func (x *exposing) failed(ctx context.Context, ref exposure.Ref, r lifecycle.Result) {
	ctrllog.FromContext(ctx).Info("cannot apply or delete an auxiliary object of the driver", "object", ref.String(), "answer", r.Message)
	if r.Class == lifecycle.ClassTransient {
		x.again = minNonZero(x.again, exposureSoon)
		x.after.Objects = append(x.after.Objects, ref.String()) // it may have been made
		return
	}
	if !r.BySpec {
		x.again = minNonZero(x.again, x.retry)
	}
	x.problems = append(x.problems, lifecycle.Cause{Reason: r.Class.Reason(lifecycle.ReasonExposureRefused), Message: ref.String() + ": " + r.Message})
}

// describe records the addresses of what is there.
func (e *Engine[T]) describe(ctx context.Context, x *exposing, there map[exposure.Ref]*unstructured.Unstructured, namespace string) {
	w := x.wanted.Status
	service := exposure.Ref{Kind: exposure.Service, Name: w.Service}
	if found, ok := there[service]; ok {
		x.after.Service, x.after.ServicePort = w.Service, w.ServicePort
		if known, _, err := net.SplitHostPort(x.before.ServiceAddress); found == nil && err == nil && x.before.Service == w.Service {
			x.after.ServiceAddress = net.JoinHostPort(known, strconv.Itoa(int(w.ServicePort)))
		} else {
			if found == nil {
				found = e.existing(ctx, namespace, service)
			}
			x.after.ServiceAddress = addressOf(found, w.ServicePort)
		}
	}
	if _, ok := there[exposure.Ref{Kind: exposure.IngressKind, Name: w.Ingress}]; ok {
		x.after.Ingress, x.after.IngressAddress = w.Ingress, w.IngressAddress
	}
	if _, ok := there[exposure.Ref{Kind: exposure.HTTPRoute, Name: w.Route}]; ok {
		x.after.Route, x.after.RouteAddress = w.Route, w.RouteAddress
	}
}

// existing returns the live object, or nil.
func (e *Engine[T]) existing(ctx context.Context, namespace string, ref exposure.Ref) *unstructured.Unstructured {
	found, err := e.Reader.Existing(ctx, actuate.Reference(ref.Kind, namespace, ref.Name))
	if err != nil {
		return nil
	}
	existing, _ := found.(*unstructured.Unstructured)
	return existing
}

// addressOf is the cluster IP of a Service with a port; "" if it has none.
func addressOf(service *unstructured.Unstructured, port int32) string {
	if service == nil {
		return ""
	}
	ip, _, err := unstructured.NestedString(service.Object, "spec", "clusterIP")
	if err != nil || ip == "" || ip == "None" {
		return ""
	}
	return net.JoinHostPort(ip, strconv.Itoa(int(port)))
}

// minNonZero is the shorter of two waits; 0 means no wait.
func minNonZero(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// leftovers reports whether something of an application that is over must still be deleted: a driver, or its auxiliary objects.
func (e *Engine[T]) leftovers(ctx context.Context, o client.Object, r lifecycle.Record) (bool, error) {
	if len(r.Exposure.Objects) > 0 {
		return true, nil
	}
	orphans, err := e.Reader.Orphans(ctx, o)
	if orphans || err != nil {
		return orphans, err
	}
	return e.Reader.HasAuxiliary(ctx, o)
}

// keep records what stays as it was made before, because something is wrong with what is asked for now, and keeps reporting
// its addresses.
func (x *exposing) keep() {
	for _, p := range x.wanted.Problems {
		if x.seen[p.Object] == nil {
			continue
		}
		x.after.Objects = append(x.after.Objects, p.Object.String())
		switch p.Object {
		case exposure.Ref{Kind: exposure.Service, Name: x.before.Service}:
			x.after.Service, x.after.ServiceAddress, x.after.ServicePort = x.before.Service, x.before.ServiceAddress, x.before.ServicePort
		case exposure.Ref{Kind: exposure.IngressKind, Name: x.before.Ingress}:
			x.after.Ingress, x.after.IngressAddress = x.before.Ingress, x.before.IngressAddress
		case exposure.Ref{Kind: exposure.HTTPRoute, Name: x.before.Route}:
			x.after.Route, x.after.RouteAddress = x.before.Route, x.before.RouteAddress
		}
	}
}

// complain reports what is wrong. A policy may change without an event that brings the application here.
func (x *exposing) complain() {
	var all []lifecycle.Cause
	for _, p := range x.wanted.Problems {
		all = append(all, p.Cause)
		if p.Reason == lifecycle.ReasonExposureForbidden {
			x.again = minNonZero(x.again, x.retry)
		}
	}
	x.after.Trouble = lifecycle.JoinCauses(append(all, x.problems...))
}
