// SPDX-License-Identifier: Apache-2.0

// Package kinds is the table of the operator's kinds, for admission, manifests and the command line. They range over it, so a
// new kind is a new row. It is pure.
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
	// Older are further served versions of the kind, with the same or fewer fields.
	Older []string
	// Plural and Short are the resource names that kubectl accepts besides the kind in lower case.
	Plural, Short string
	// One and Many are the kind's names in messages: one object with its article, and several.
	One, Many string
	// Family describes the kind to the core; for a schedule, that of its runs.
	Family lifecycle.Family
	// Optional is set if the operator serves the kind only if its configuration enables it, for the objects that the
	// configuration selects.
	Optional bool
	// AddToScheme adds the types of the kind's version.
	AddToScheme func(*runtime.Scheme) error
	// New returns an empty object, and Fields a pointer to an empty struct of the same fields without the lenient decoder.
	New    func() Object
	Fields func() any
	// Decode decodes an object as the operator does. malformed explains a missing spec, "" otherwise. The paths of unknown
	// fields are dropped.
	Decode func(content []byte) (o Object, malformed string, err error)
	// Default writes admission's defaults into a spec; nil for a kind without defaults.
	Default func(Object)
	// States are the names of states in statuses, in order; nil if they are not listed.
	States []string
	// Read interprets an application and its status under the operator's configuration; nil for kinds without applications.
	Read func(o Object, operator resolve.Operator, now time.Time) Reading
	// ReadCluster interprets a standalone cluster, and ReadSchedule a schedule; nil for other kinds.
	ReadCluster  func(o Object, operator resolve.Operator, now time.Time) ClusterReading
	ReadSchedule func(o Object, operator resolve.Operator, now time.Time) ScheduleReading
	// TriggerAt is the annotation with which a user requests a run of a schedule: a time in RFC 3339. "" for other kinds.
	TriggerAt string
	// DryRun checks an object as the operator would, after it fills in the API server's part.
	DryRun func(Object, Assumed, resolve.Operator) Forecast
}

// Reading is an interpreted application.
type Reading struct {
	resolve.Application
	Conditions []metav1.Condition
	// State is the family's name of the state, with its message if the family has one; "" for an object without a status.
	State, Message string
	// Endpoint is the access to a server; empty for an application without clients.
	Endpoint Endpoint
	// ObservedGeneration is the generation of the spec that the status describes; 0 if unknown.
	ObservedGeneration int64
}

// Endpoint names a server's pod, its Service, and the Secret with its token; "" for a missing one.
type Endpoint struct{ Pod, Service, TokenSecret string }

// ScheduleReading is an interpreted schedule. The kind of its runs is that of Row.Family.
type ScheduleReading struct {
	Desired    schedule.Desired
	Record     schedule.Record
	Conditions []metav1.Condition
	// RunLabels selects its runs, and RunOf returns the part of a run that the schedule needs.
	RunLabels map[string]string
	RunOf     func(run metav1.Object) schedule.Run
	// Run resolves a run before its creation.
	Run func(schedule.Start) resolve.Application
}

// ClusterReading is an interpreted standalone cluster.
type ClusterReading struct {
	Record standalone.Record
	// Desired lacks the scheduler's decoration of the pods.
	Desired standalone.Cluster
	// Start is its start in the form of schedulers.
	Start      admission.Cluster
	Conditions []metav1.Condition
	// State is the family's name of the state, with its message and its time; all are empty for an object without a status.
	State, Message string
	Since          time.Time
	// Word returns the family's name of a state; "" for none.
	Word func(standalone.State) string
	// Master and Workers are the names of its StatefulSets.
	Master, Workers string
	// Pods counts its pods; nil if its status does not.
	Pods *standalone.Pods
}

// Singular returns the kind in lower case, as kubectl prints objects.
func (r *Row) Singular() string { return strings.ToLower(r.Kind) }

// All returns the rows in the order in which a name without a type is searched.
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

// Served lists the kinds of a group as written in a manifest; "" if the operator serves none of the group.
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

// DefaultUID stands in for the UID that the API server would set. Names are derived from it.
const DefaultUID types.UID = "00000000-0000-4000-8000-000000000000"

// DefaultSubmitTime stands in for the time of submission, so that equal manifests give equal objects.
var DefaultSubmitTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// DefaultNamespace is the namespace of manifests without one.
const DefaultNamespace = "default"

// Assumed is the input that only a cluster has. Empty fields get defaults.
type Assumed struct {
	Namespace  string
	UID        types.UID
	SubmitTime time.Time
	// Now is the time of the check, and Local the operator's time zone; UTC by default.
	Now   time.Time
	Local *time.Location
}

// complete fills in empty fields, here and in the object.
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

// Forecast is the result of checks of an object outside a cluster.
type Forecast struct {
	admission.DryRunResult
	// Creates is the next object of this operator's kinds that it creates, such as the run of a schedule; nil for none.
	Creates Object
	// Makes are the objects of an object that is no application.
	Makes []spark.Object
	// Remarks are notes about the fields of an object without errors.
	Remarks field.ErrorList
}
