// SPDX-License-Identifier: Apache-2.0

// Package kinds is the table of the kinds of objects that the operator serves: what admission, manifests and the command line know of
// each. They range over it, so a new kind is a new row. It is pure.
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
	// Older are versions of the kind that are served too, with the same fields or fewer.
	Older []string
	// Plural and Short are the names of the resource that kubectl takes beside the kind in lower case.
	Plural, Short string
	// One and Many are what messages call an object of the kind, with its article, and several.
	One, Many string
	// Family is what the core knows of the kind; of a schedule, that of its runs.
	Family lifecycle.Family
	// Optional says that the kind is served only if the operator's configuration turns it on, and then for the objects that it selects.
	Optional bool
	// AddToScheme adds the types of the kind's version.
	AddToScheme func(*runtime.Scheme) error
	// New returns an empty object, and Fields a pointer to an empty struct of the same fields without the lenient decoder.
	New    func() Object
	Fields func() any
	// Decode decodes an object as the operator does: malformed says why its spec is left out, and is "" if it is not. The paths of
	// unknown fields are dropped.
	Decode func(content []byte) (o Object, malformed string, err error)
	// Default writes down what admission assumes of a spec; nil if it assumes nothing.
	Default func(Object)
	// States are the words that statuses have for states, in their order; nil where they are not listed.
	States []string
	// Read says what an application and its status mean, under the operator's configuration; nil for a kind whose objects are no applications.
	Read func(o Object, operator resolve.Operator, now time.Time) Reading
	// ReadCluster does so for a standalone cluster, and ReadSchedule for a schedule; nil for other kinds.
	ReadCluster  func(o Object, operator resolve.Operator, now time.Time) ClusterReading
	ReadSchedule func(o Object, operator resolve.Operator, now time.Time) ScheduleReading
	// TriggerAt is the annotation by which a user asks for a run of a schedule: a time in RFC 3339. "" for other kinds.
	TriggerAt string
	// DryRun judges an object as the operator would. It completes the object with what the API server would fill in.
	DryRun func(Object, Assumed, resolve.Operator) Forecast
}

// Reading is an application as it is stored.
type Reading struct {
	resolve.Application
	Conditions []metav1.Condition
	// State is the word of the family, with its message, which not all families have; "" for an object that has no status yet.
	State, Message string
	// Endpoint is where a server takes clients; empty for an application that takes none.
	Endpoint Endpoint
	// ObservedGeneration is that of the spec that the status is about; 0 if it does not say.
	ObservedGeneration int64
}

// Endpoint leads clients to a server: the names of its pod, of its Service, and of the Secret with the token that it asks for. Each is ""
// where there is none.
type Endpoint struct{ Pod, Service, TokenSecret string }

// ScheduleReading is a schedule as it is stored. The kind of its runs is that of Row.Family.
type ScheduleReading struct {
	Desired    schedule.Desired
	Record     schedule.Record
	Conditions []metav1.Condition
	// RunLabels are those by which its runs are found, and RunOf is what it has to know of one of them.
	RunLabels map[string]string
	RunOf     func(run metav1.Object) schedule.Run
	// Run resolves a run that is not created yet.
	Run func(schedule.Start) resolve.Application
}

// ClusterReading is a standalone cluster as it is stored.
type ClusterReading struct {
	Record standalone.Record
	// Desired is without what its scheduler lays over the pods.
	Desired standalone.Cluster
	// Start is its start as its scheduler sees it.
	Start      admission.Cluster
	Conditions []metav1.Condition
	// State is the word of the family, with its message and since when it is; all are empty for an object that has no status yet.
	State, Message string
	Since          time.Time
	// Word is what the family calls a state; "" for one without a word.
	Word func(standalone.State) string
	// Master and Workers are the names of its StatefulSets.
	Master, Workers string
	// Pods are the numbers of its pods; nil if its status has none.
	Pods *standalone.Pods
}

// Singular is the kind in lower case, as kubectl prints objects.
func (r *Row) Singular() string { return strings.ToLower(r.Kind) }

// All are the rows, in the order in which a name without a type is looked for.
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

// Served says how the kinds of a group are written in a manifest; "" if the operator serves none of the group.
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

// DefaultUID stands in for the UID that the API server would give the application. Names are derived from it.
const DefaultUID types.UID = "00000000-0000-4000-8000-000000000000"

// DefaultSubmitTime stands in for the time of the submission, so that the same manifest gives the same objects.
var DefaultSubmitTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// DefaultNamespace is where an application goes whose manifest names none.
const DefaultNamespace = "default"

// Assumed is what only a cluster would know. What is left empty gets a default.
type Assumed struct {
	Namespace  string
	UID        types.UID
	SubmitTime time.Time
	// Now is the time at which a schedule is judged, and Local the operator's time zone; UTC by default.
	Now   time.Time
	Local *time.Location
}

// complete fills in what is empty, here and in the object.
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

// Objects returns what the operator would create, in its order.
func (f Forecast) Objects() ([]spark.Object, error) {
	if len(f.Makes) > 0 && len(f.Errors) == 0 {
		return f.Makes, nil
	}
	return f.DryRunResult.Objects()
}

// Forecast is what is certain about an object before it is in a cluster.
type Forecast struct {
	admission.DryRunResult
	// Creates is the object of ours that it creates next, such as the run of a schedule; nil for none.
	Creates Object
	// Makes are the objects of one that is no application.
	Makes []spark.Object
	// Remarks are notes about the fields of an object without errors.
	Remarks field.ErrorList
}
