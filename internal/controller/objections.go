// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// keep records what stays as it was made before, because something is wrong with what is asked for now, and goes on to tell
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

// complain tells what is wrong. A policy may change without an event that brings the application here.
func (x *exposing) complain() {
	var all []lifecycle.Cause
	for _, p := range x.wanted.Problems {
		all = append(all, p.Cause)
		if p.Reason == lifecycle.ReasonExposureForbidden {
			x.again = sooner(x.again, exposureRetry)
		}
	}
	x.after.Trouble = lifecycle.Told(append(all, x.trouble...))
}

// audit logs what an application may not have beside its driver, once for each edit of it and each other change of what is
// objected to. Who has edited it is in the API server's audit log, at this generation.
func (s *scope[T]) audit(ctx context.Context, to lifecycle.Record) {
	if s.stored.Exposure.Trouble == to.Exposure.Trouble && s.stored.Generation == to.Generation {
		return
	}
	for _, o := range s.objections {
		ctrllog.FromContext(ctx).Info("a policy forbids what a running application asks for beside its driver",
			"application", s.App.Namespace+"/"+s.App.Name, "generation", to.Generation, "object", o.Object.String(),
			"field", o.Field, "value", o.Shown(), "policy", o.Policy, "limit", o.Limit, "problem", o.Problem)
	}
}
