// SPDX-License-Identifier: Apache-2.0

// Package exposure builds the auxiliary objects of a running driver, which expose it to users and protect it from
// eviction: Services, Ingresses, a Gateway API route, a disruption budget, and a link to a history server. It is pure:
// values in, objects out.
package exposure

import (
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Config is set by the operator's administrator. Its zero value creates only what an application itself requests, the
// Services of spec.driverIngressOptions and that of a server's clients.
type Config struct {
	// Service of the UI for each application that has one.
	Service bool
	Ingress Ingress
	Route   Route
	// ServicesOnly lets applications attach Services to their drivers, and nothing that leads to them from outside.
	ServicesOnly bool
	// NoWorkerBudget makes none for the workers of clusters, which have one otherwise.
	NoWorkerBudget bool
	// DisruptionBudget lets applications ask for one.
	DisruptionBudget bool
	// HistoryURLFormat is the link to the history server, with placeholders; "" for none.
	HistoryURLFormat string
}

// Ingress says whether and how Ingresses are made.
type Ingress struct {
	// Enabled lets the operator make Ingresses: that of the UI if there is a URLFormat, and those of
	// spec.driverIngressOptions.
	Enabled   bool
	URLFormat string
	ClassName string
	// TLS and Annotations are for applications that have none of their own.
	TLS         []networkingv1.IngressTLS
	Annotations map[string]string
}

// Route says how the HTTPRoute of the UI is made; without a URLFormat there is none.
type Route struct {
	URLFormat   string
	ParentRefs  []ParentRef
	Annotations map[string]string
}

// ParentRef is a Gateway, as gateway.networking.k8s.io/v1 refers to it.
type ParentRef struct {
	Name        string
	Namespace   string
	SectionName string
	// Port of the Gateway; 0 for all.
	Port int32
}

// Attempt is the attempt whose driver runs.
type Attempt struct {
	App spark.Application
	// Owner owns the objects. Those of a driver that endures belong to no attempt.
	Owner lifecycle.Owner
	// SparkAppID is Spark's id of the attempt.
	SparkAppID string
	DriverName string
}

// Wanted is the desired auxiliary objects while the driver of an attempt exists.
type Wanted struct {
	Objects []Object
	// Status names what the objects offer, as far as it is known before they exist.
	Status lifecycle.Exposure
	// Problems are why something cannot be made. They concern nothing else.
	Problems []Problem

	labels lifecycle.Labels
}

// Problem is why an object cannot be created as requested. An existing one is kept.
type Problem struct {
	// Object is the zero value if nothing is to stay.
	Object Ref
	lifecycle.Cause
}

// Of returns what is to be there for an attempt.
func Of(a Attempt, c Config) Wanted {
	w := &wanted{Wanted: Wanted{labels: a.Owner.Labels}, attempt: a, config: c, names: namesOf(a.App, a.SparkAppID)}
	w.ui()
	for i := range a.App.Exposure.Ports {
		w.port(a.App.Exposure.Ports[i])
	}
	for i := range a.App.Exposure.Services {
		w.requested(&a.App.Exposure.Services[i])
	}
	if c.DisruptionBudget && a.App.Exposure.DisruptionBudget {
		w.add(disruptionBudget(a), exposesDriver)
	}
	for _, object := range w.Objects {
		w.Status.Objects = append(w.Status.Objects, object.String())
	}
	return w.Wanted
}

// History returns the link to the history server for an attempt, or "" if there will be nothing to see.
func History(app spark.Application, sparkAppID string, c Config) string {
	if c.HistoryURLFormat == "" || sparkAppID == "" || !spark.LogsEvents(app) {
		return ""
	}
	u, err := fill(c.HistoryURLFormat, namesOf(app, sparkAppID))
	if err != nil {
		return "" // the configuration was checked, and names need no more than it
	}
	return u.String()
}

// Configure returns the application with the Spark properties that the UI needs to be read below a path, unless the user
// has set them, and without what the configuration forbids to attach. Properties: spark.ui.proxyBase and spark.ui.proxyRedirectUri.
func Configure(app spark.Application, sparkAppID string, c Config) spark.Application {
	if c.ServicesOnly {
		app = servicesOnly(app)
	}
	if !c.Service || app.Exposure.NoUI || spark.UIPort(app) == 0 {
		return app
	}
	format := c.Ingress.URLFormat
	if format == "" {
		format = c.Route.URLFormat
	}
	if format == "" {
		return app
	}
	u, err := rule(format, namesOf(app, sparkAppID))
	if err != nil || pathOf(u) == "" {
		return app
	}
	return withDefaults(app, map[string]string{spark.ConfUIProxyBase: pathOf(u), spark.ConfUIProxyRedirect: "/"})
}

// Seen is the existing auxiliary objects of an application, by reference; nil for one that does not exist.
type Seen map[Ref]metav1.Object

// About names the objects to read: those that are wanted or stay as they are, and those that are recorded. What an
// previous operator recorded are names only.
func About(w Wanted, recorded lifecycle.Exposure) []Ref {
	var refs []Ref
	add := func(r Ref) {
		if !slices.Contains(refs, r) {
			refs = append(refs, r)
		}
	}
	for _, object := range w.Objects {
		add(object.Ref)
	}
	for _, p := range w.Problems {
		if p.Object.Name != "" {
			add(p.Object)
		}
	}
	for _, text := range recorded.Objects {
		if ref, err := ParseRef(text); err == nil { // what cannot be parsed was not written by this operator
			add(ref)
		}
	}
	if recorded.Service != "" {
		add(Ref{Service, recorded.Service})
	}
	if recorded.Ingress != "" {
		add(Ref{IngressKind, recorded.Ingress})
	}
	return refs
}

// diff compares what is wanted with what was seen: what is to be written, and what is to be deleted. What has a
// problem is neither. Whether an object is ours is checked by the writer.
func diff(w Wanted, seen Seen) (write []Object, remove []Ref) {
	keep := map[Ref]bool{}
	for _, object := range w.Objects {
		keep[object.Ref] = true
		if found := seen[object.Ref]; found == nil || !w.same(found, object) {
			write = append(write, object)
		}
	}
	for ref, found := range seen {
		if found != nil && !keep[ref] && !w.keeps(ref) {
			remove = append(remove, ref)
		}
	}
	slices.SortFunc(remove, func(a, b Ref) int { return strings.Compare(a.String(), b.String()) })
	return write, remove
}

// same reports whether an object was applied as it is wanted, and is there to stay.
func (w Wanted) same(found metav1.Object, want Object) bool {
	return w.labels.SameApplied(found, want) && found.GetDeletionTimestamp().IsZero()
}
