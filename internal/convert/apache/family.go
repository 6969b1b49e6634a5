// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"crypto/sha256"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// SparkApplications translates spark.apache.org SparkApplications (resolve.Kind).
type SparkApplications struct {
	// KeepHistory keeps the states of all attempts in one history (bounded by mostKept). Otherwise the states of the current and the previous attempt are kept.
	KeepHistory bool
}

// family describes the family to the core. Spark's own label for the application id marks the objects of an attempt, so that objects started by Apache's
// operator are recognized.
var family = lifecycle.Family{
	Group: v1.SchemeGroupVersion.Group, Version: v1.SchemeGroupVersion.Version, Kind: "SparkApplication",
	Labels: lifecycle.Labels{
		App: v1.LabelAppName, LaunchedBy: v1.LabelOperator, Submission: spark.LabelAppSelector, PlainOwner: true,
		CreatedBy: v1beta2.LabelCreatedBy, SpecHash: v1beta2.LabelSpecHash, Exposes: v1beta2.LabelExposes, Applied: v1beta2.AnnotationApplied,
	},
	DriverOwns: true, Finalizer: v1.Finalizer, Reads: []string{v1.LabelSentinel},
	Submitter: lifecycle.SubmitterKeys{User: v1beta2.AnnotationSubmitter, Groups: v1beta2.AnnotationSubmitterGroups},
	Fields:    fields,
	States:    stateNames(),
}

// stateNames returns the names of states. A running application has additional states that depend on its executors.
func stateNames() map[lifecycle.State]string {
	names := map[lifecycle.State]string{}
	for state, name := range map[lifecycle.State]v1.ApplicationStateSummary{
		lifecycle.Queued: v1.StateSubmitted, lifecycle.Submitted: v1.StateDriverRequested, lifecycle.Running: v1.StateRunningHealthy,
		lifecycle.Succeeding: v1.StateSucceeded, lifecycle.Failing: v1.StateFailed, lifecycle.Rerunning: v1.StateScheduledToRestart,
		lifecycle.Suspending: v1.StateSuspended, lifecycle.Suspended: v1.StateSuspended, lifecycle.Resuming: v1.StateSubmitted,
		lifecycle.SubmissionFailed: v1.StateSchedulingFailure, lifecycle.Succeeded: v1.StateSucceeded, lifecycle.Failed: v1.StateFailed,
	} {
		names[state] = string(name)
	}
	return names
}

// SparkConf returns the Spark properties of an object of the family.
func SparkConf(o metav1.Object) map[string]string {
	switch o := o.(type) {
	case *v1.SparkApplication:
		return o.Spec.SparkConf
	case *v1.SparkCluster:
		return o.Spec.SparkConf
	}
	return nil
}

// New returns an empty object.
func (SparkApplications) New() *v1.SparkApplication { return &v1.SparkApplication{} }

// Family describes the kind to the core.
func (SparkApplications) Family() lifecycle.Family { return family }

// Identity returns the ids of an attempt.
func (SparkApplications) Identity(o *v1.SparkApplication, attempt int32, submitTime time.Time) spark.Identity {
	return Identity(o, attempt, submitTime)
}

// FromStatus reads the record from the status that ToStatus or Apache's operator wrote.
func (SparkApplications) FromStatus(o *v1.SparkApplication) lifecycle.Record { return FromStatus(o) }

// Load returns the model of the object.
func (k SparkApplications) Load(o *v1.SparkApplication, record lifecycle.Record) lifecycle.Loaded {
	app, problems := Normalize(o)
	return lifecycle.Loaded{App: app, Problems: problems, Desired: k.Desired(o, record)}
}

// RaiseMemory returns the model unchanged: the family has no policy that raises memory.
func (SparkApplications) RaiseMemory(app spark.Application, _ *v1.SparkApplication, _ int32) spark.Application {
	return app
}

// Desired returns the input of lifecycle.Decide from the object. It has no hash of the spec, because an edit affects a running attempt only by policies and
// suspension.
func (SparkApplications) Desired(o *v1.SparkApplication, _ lifecycle.Record) lifecycle.Application {
	return lifecycle.Application{
		UID: string(o.UID), Generation: o.Generation, Suspend: o.Spec.Suspend, Probe: Sentinel(o),
		Policies: policies(&o.Spec), Tracking: tracking(&o.Spec), Deleting: !o.DeletionTimestamp.IsZero(), Fields: fields,
		ForceAfter: positive(ptr.Deref(tolerations(&o.Spec).ApplicationTimeoutConfig, v1.ApplicationTimeoutConfig{}).ForceTerminationGracePeriodMillis),
		Finalizer:  slices.Contains(o.Finalizers, v1.Finalizer),
	}
}

// Sentinel reports whether an object of the family is a health probe, which is edited to test the operator's watch. An object that ran before it got the
// label is no sentinel: its end must be observed.
func Sentinel(o metav1.Object) bool {
	known := false
	switch o := o.(type) {
	case *v1.SparkApplication:
		known = o.Status.CurrentState != nil || o.Status.Details != nil
	case *v1.SparkCluster:
		known = o.Status.CurrentState != nil
	}
	return !known && strings.EqualFold(o.GetLabels()[v1.LabelSentinel], "true")
}

// ToStatus returns a copy of the object with the status for the outcome; changed is false if the status stays the same. A sentinel has no status.
func (k SparkApplications) ToStatus(o *v1.SparkApplication, outcome lifecycle.Outcome, now time.Time) (next *v1.SparkApplication, changed bool) {
	if Sentinel(o) {
		return o, false
	}
	status := k.toStatus(o, outcome, now)
	if equality.Semantic.DeepEqual(&o.Status, &status) {
		return o, false
	}
	next = o.DeepCopy()
	next.Status = status
	return next, true
}

// DriverWaits returns the reason of the condition for a submitted driver that does not run yet.
func (SparkApplications) DriverWaits(o *v1.SparkApplication) string {
	if c := meta.FindStatusCondition(o.Status.Conditions, string(lifecycle.ConditionDriverReady)); c != nil {
		return c.Reason
	}
	return ""
}

// Bounds of the application id. An id made from the name has at most maxAppID characters. A longer one is cut to keptOfName characters of the name and
// keptOfHash of a hash. The user's own id may be as long as the value of a label.
const (
	maxAppID    = 46
	maxOwnID    = 63
	keptOfName  = 9
	keptOfHash  = 36
	hashNumbers = 36 // the base of the hash's digits
)

// Identity returns the ids of an attempt, counted from 1. The application id is <name>-<n>, with n from 0, and begins the names of all objects. If
// spark.app.id sets an id, the first attempt has it, and later attempts append to it to avoid conflicts with earlier objects.
func Identity(o *v1.SparkApplication, attempt int32, submitTime time.Time) spark.Identity {
	id := spark.NewIdentity(o.UID, attempt, submitTime)
	id.AppID = appID(o, attempt-1)
	// The id labels the pods a second time, under a label of the operator.
	id.SubmissionID = id.AppID
	return id
}

// nameProblems refuses a user's id that cannot be part of the names of objects, and a name that cannot be the value of the label that finds the objects. An
// id made from the name is always valid.
func nameProblems(o *v1.SparkApplication) (found []*spark.ConfError) {
	if problems := validation.IsValidLabelValue(o.Name); len(problems) > 0 {
		found = append(found, &spark.ConfError{
			Field: spark.FieldName, Value: o.Name, Problem: "all objects of the application have a label with its name; write at most 63 characters",
		})
	}
	own := o.Spec.SparkConf[spark.ConfAppID]
	if own == "" || len(own) <= maxOwnID && len(validation.IsDNS1123Subdomain(own)) == 0 {
		return found
	}
	return append(found, &spark.ConfError{
		Key: spark.ConfAppID, Value: own,
		Problem: `all objects of the application are named after it; write at most 63 lower-case letters, digits, '-' and '.', such as "nightly-report"`,
	})
}

func appID(o *v1.SparkApplication, n int32) string {
	number := strconv.FormatInt(int64(n), 10)
	if own := o.Spec.SparkConf[spark.ConfAppID]; own != "" {
		if n == 0 {
			return own
		}
		return strings.TrimRight(own[:min(len(own), maxOwnID-len(number)-1)], "-.") + "-" + number
	}
	name := o.Name + "-" + number
	if len(name) <= maxAppID {
		return name
	}
	sum := sha256.Sum256([]byte(o.Namespace + "/" + o.Name + "/" + number))
	hash := new(big.Int).SetBytes(sum[:]).Text(hashNumbers)
	return strings.TrimRight(name[:keptOfName], ".") + "-" + hash[:min(keptOfHash, len(hash))]
}
