// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// breakage changes what an operator believes.
type breakage struct {
	desired  func(*lifecycle.Application)
	record   func(*lifecycle.Record)
	family   func(*lifecycle.Family)
	sessions func(*lifecycle.Sessions)
	server   func(*spark.Server)
}

// engineOf is the controller of servers in a process.
func (s *servers) engineOf(o *operator, memory *reservations.Manager) reconcile.Reconciler {
	var kind resolve.Kind[*v1alpha1.SparkConnect] = kubeflow.SparkConnects{}
	if s.broken != nil {
		kind = brokenKind{kind, s.broken}
	}
	return engineOf(o, kind, &v1alpha1.SparkConnectList{}, memory)
}

// brokenKind is a kind whose operator is wrong about something.
type brokenKind struct {
	resolve.Kind[*v1alpha1.SparkConnect]
	b *breakage
}

func (k brokenKind) Desired(o *v1alpha1.SparkConnect, r lifecycle.Record) lifecycle.Application {
	app := k.Kind.Desired(o, r)
	if k.b.desired != nil {
		k.b.desired(&app)
	}
	return app
}

func (k brokenKind) Load(o *v1alpha1.SparkConnect, r lifecycle.Record) lifecycle.Loaded {
	loaded := k.Kind.Load(o, r)
	loaded.Desired = k.Desired(o, r)
	if k.b.server != nil {
		k.b.server(loaded.App.Server)
	}
	return loaded
}

func (k brokenKind) FromStatus(o *v1alpha1.SparkConnect) lifecycle.Record {
	r := k.Kind.FromStatus(o)
	if k.b.record != nil {
		k.b.record(&r)
	}
	return r
}

func (k brokenKind) Family() lifecycle.Family {
	f := k.Kind.Family()
	if k.b.family != nil {
		k.b.family(&f)
	}
	return f
}
