// SPDX-License-Identifier: Apache-2.0

// Package exposure builds the auxiliary objects of a running driver, which expose it to users and protect it from eviction: Services, Ingresses, a Gateway API
// route, a disruption budget, and a link to a history server. It is pure.
package exposure

import (
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Config is the administrator's configuration. With the zero value, only requested Services are created: those of spec.driverIngressOptions and the one of a
// server's clients.
type Config struct {
	// Service creates a Service for each application with a UI.
	Service bool
	Ingress Ingress
	Route   Route
	// ServicesOnly lets applications attach Services to their drivers, but no objects for external access.
	ServicesOnly bool
	// NoWorkerBudget turns off the disruption budgets for the workers of clusters.
	NoWorkerBudget bool
	// DisruptionBudget lets applications request one.
	DisruptionBudget bool
	// HistoryURLFormat is the link to the history server, with placeholders; "" for none.
	HistoryURLFormat string
}

// Ingress configures Ingresses.
type Ingress struct {
	// Enabled lets the operator create Ingresses: for the UI if there is a URLFormat, and for spec.driverIngressOptions.
	Enabled   bool
	URLFormat string
	ClassName string
	// TLS and Annotations are defaults for applications that set none.
	TLS         []networkingv1.IngressTLS
	Annotations map[string]string
}

// Route configures the HTTPRoute of the UI. There is none without a URLFormat.
type Route struct {
	URLFormat   string
	ParentRefs  []ParentRef
	Annotations map[string]string
}

// ParentRef refers to a Gateway, like a ParentReference in gateway.networking.k8s.io/v1.
type ParentRef struct {
	Name        string
	Namespace   string
	SectionName string
	// Port is a port of the Gateway; 0 for all ports.
	Port int32
}

// Attempt is an attempt with a driver.
type Attempt struct {
	App spark.Application
	// Owner owns the objects. The objects of an enduring driver belong to no attempt.
	Owner lifecycle.Owner
	// SparkAppID is the attempt's Spark application ID.
	SparkAppID string
	DriverName string
}

// Wanted is the desired state of auxiliary objects while an attempt's driver exists.
type Wanted struct {
	Objects []Object
	// Status has the addresses that are known before the objects exist.
	Status lifecycle.Exposure
	// Problems are reasons why objects cannot be created, independent of each other.
	Problems []Problem

	labels lifecycle.Labels
}

// Problem is the reason why an object cannot be created as requested. An existing object stays.
type Problem struct {
	// Object is the object that stays; zero for none.
	Object Ref
	lifecycle.Cause
}

// Of returns the desired objects of an attempt.
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

// History returns an attempt's link to the history server; "" if the server will not show it.
func History(app spark.Application, sparkAppID string, c Config) string {
	if c.HistoryURLFormat == "" || sparkAppID == "" || !spark.LogsEvents(app) {
		return ""
	}
	u, err := fill(c.HistoryURLFormat, namesOf(app, sparkAppID))
	if err != nil {
		return "" // impossible, because the configuration and the names are valid
	}
	return u.String()
}

// Configure returns the application with the Spark properties that a UI below a path needs (spark.ui.proxyBase and spark.ui.proxyRedirectUri), unless the user
// has set them. It removes attached objects that the configuration forbids.
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

// Seen has the existing auxiliary objects of an application, by reference. A missing object is nil.
type Seen map[Ref]metav1.Object

// About lists the objects to read: wanted, kept and recorded ones. Other operators recorded only names.
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
		if ref, err := ParseRef(text); err == nil { // this operator records only valid references
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

// diff returns the objects to write and to delete. An object with a problem is in neither. The writer checks the owner.
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

// same reports whether an existing object was last applied as wanted and is not being deleted.
func (w Wanted) same(found metav1.Object, want Object) bool {
	return w.labels.SameApplied(found, want) && found.GetDeletionTimestamp().IsZero()
}
