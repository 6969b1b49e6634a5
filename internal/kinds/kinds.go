// SPDX-License-Identifier: Apache-2.0

// Package kinds is the table of the operator's kinds, for admission, manifests and the command line. They range over the table, so a new kind is a new row. It
// is pure.
package kinds

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// Object is an object of any kind.
type Object interface {
	metav1.Object
	runtime.Object
}

// Row is one kind.
type Row struct {
	schema.GroupVersionKind
	// Older are other served versions of the kind, with the same fields or fewer.
	Older []string
	// Plural and Short are the resource names that kubectl accepts in addition to the kind in lower case.
	Plural, Short string
	// One and Many are the kind's names in messages: One with its article for one object, Many for several.
	One, Many string
	// Family describes the kind to the core. For a schedule it describes the kind of the runs.
	Family lifecycle.Family
	// Optional is set if the operator serves the kind only when its configuration enables it. The configuration may then select objects.
	Optional bool
	// AddToScheme adds the types of the kind's version.
	AddToScheme func(*runtime.Scheme) error
	// New returns an empty object. Fields returns a pointer to an empty struct with the same fields and without the lenient decoder.
	New    func() Object
	Fields func() any
	// Decode decodes an object as the operator does. malformed explains why the spec is missing, "" if it is not. Paths of unknown fields are dropped.
	Decode func(content []byte) (o Object, malformed string, err error)
	// Default writes admission's defaults into a spec; nil for a kind without defaults.
	Default func(Object)
	// States are the names of states in statuses, in order; nil for no list.
	States []string
	// Read interprets an application and its status under the operator's configuration; nil for kinds without applications.
	Read func(o Object, operator resolve.Operator, now time.Time) Reading
	// ReadCluster interprets a standalone cluster; nil for other kinds. ReadSchedule interprets a schedule; nil for other kinds.
	ReadCluster  func(o Object, operator resolve.Operator, now time.Time) ClusterReading
	ReadSchedule func(o Object, operator resolve.Operator, now time.Time) ScheduleReading
	// TriggerAt is the annotation with which a user requests a run of a schedule, a time in RFC 3339; "" for other kinds.
	TriggerAt string
	// DryRun checks an object as the operator would. It first fills in the fields that the API server sets.
	DryRun func(Object, Assumed, resolve.Operator) Forecast
}

// Reading is an interpreted application.
type Reading struct {
	resolve.Application
	Conditions []metav1.Condition
	// State is the family's name of the state. Message is the state's message, if the family has one. Both are "" for an object without a status.
	State, Message string
	// Endpoint has the objects of a server; empty for an application without clients.
	Endpoint Endpoint
	// ObservedGeneration is the generation of the spec that the status describes; 0 if unknown.
	ObservedGeneration int64
}

// Endpoint names a server's pod, its Service, and the Secret with its token; "" for a missing object.
type Endpoint struct{ Pod, Service, TokenSecret string }

// ScheduleReading is an interpreted schedule. Row.Family has the kind of its runs.
type ScheduleReading struct {
	Desired    schedule.Desired
	Record     schedule.Record
	Conditions []metav1.Condition
	// RunLabels selects the runs. RunOf returns the part of a run that the schedule needs.
	RunLabels map[string]string
	RunOf     func(run metav1.Object) schedule.Run
	// Run resolves a run before the run is created.
	Run func(schedule.Start) resolve.Application
}

// ClusterReading is an interpreted standalone cluster.
type ClusterReading struct {
	Record standalone.Record
	// Desired lacks the scheduler's decoration of the pods.
	Desired standalone.Cluster
	// Start is the cluster's start in the form for schedulers.
	Start      admission.Cluster
	Conditions []metav1.Condition
	// State is the family's name of the state, Message its message, and Since its time. All are empty for an object without a status.
	State, Message string
	Since          time.Time
	// Word returns the family's name of a state; "" for none.
	Word func(standalone.State) string
	// Master and Workers name the cluster's StatefulSets.
	Master, Workers string
	// Pods counts the cluster's pods; nil if the status has no counts.
	Pods *standalone.Pods
}

// Singular returns the kind in lower case, as kubectl prints objects.
func (r *Row) Singular() string { return strings.ToLower(r.Kind) }

// All returns the rows. A name without a type is searched in this order.
func All() []*Row {
	return []*Row{SparkApplication, ScheduledSparkApplication, SparkConnect, ApacheSparkApplication, ApacheSparkCluster}
}

// Of returns the row of a kind; nil if the operator does not serve it.
func Of(kind schema.GroupVersionKind) *Row {
	for _, r := range All() {
		if r.GroupKind() == kind.GroupKind() && (r.Version == kind.Version || slices.Contains(r.Older, kind.Version)) {
			return r
		}
	}
	return nil
}

// Served lists the served kinds of a group in the form of a manifest; "" if the operator serves none.
func Served(group string) string {
	var versions []string
	kinds := map[string][]string{}
	for _, r := range All() {
		if r.Group != group {
			continue
		}
		version := r.GroupVersion().String()
		if !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
		kinds[version] = append(kinds[version], r.Kind)
	}
	for i, version := range versions {
		versions[i] = "kind: " + strings.Join(kinds[version], " or ") + ", apiVersion: " + version
	}
	return strings.Join(versions, ", or ")
}

// DefaultUID replaces the UID that the API server would set. Names are derived from it.
const DefaultUID types.UID = "00000000-0000-4000-8000-000000000000"

// DefaultSubmitTime replaces the time of submission, so that equal manifests yield equal objects.
var DefaultSubmitTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// DefaultNamespace is the namespace of manifests without one.
const DefaultNamespace = "default"

// Assumed is the input that exists only in a cluster. Empty fields get defaults.
type Assumed struct {
	Namespace  string
	UID        types.UID
	SubmitTime time.Time
	// Now is the time of the check, and Local the operator's time zone; UTC by default.
	Now   time.Time
	Local *time.Location
}

// complete fills in the empty fields, and the namespace of the object.
func (a *Assumed) complete(o Object) {
	a.UID = cmp.Or(a.UID, DefaultUID)
	if a.SubmitTime.IsZero() {
		a.SubmitTime = DefaultSubmitTime
	}
	if a.Now.IsZero() {
		a.Now = DefaultSubmitTime
	}
	if a.Local == nil {
		a.Local = time.UTC
	}
	o.SetNamespace(cmp.Or(o.GetNamespace(), a.Namespace, DefaultNamespace))
}

// Objects returns the objects that the operator would create, in order.
func (f Forecast) Objects() ([]spark.Object, error) {
	if len(f.Makes) > 0 && len(f.Errors) == 0 {
		return f.Makes, nil
	}
	return f.DryRunResult.Objects()
}

// Forecast is the result of checking an object outside a cluster.
type Forecast struct {
	admission.DryRunResult
	// Creates is the object of this operator's kinds that the checked object creates next, such as the run of a schedule; nil for none.
	Creates Object
	// Makes are the objects that the operator creates for an object that is no application.
	Makes []spark.Object
	// Remarks are notes about the fields of a valid object.
	Remarks field.ErrorList
}
