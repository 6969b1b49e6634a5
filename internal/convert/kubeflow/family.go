// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// SparkApplications translates sparkoperator.k8s.io SparkApplications (resolve.Kind).
type SparkApplications struct{}

// New returns an empty object.
func (SparkApplications) New() *v1beta2.SparkApplication { return &v1beta2.SparkApplication{} }

// sparkApplications is the family as the core knows it.
var sparkApplications = lifecycle.Family{
	Group: v1beta2.GroupVersion.Group, Version: v1beta2.GroupVersion.Version, Kind: "SparkApplication",
	Labels: lifecycle.Labels{
		App: v1beta2.LabelAppName, LaunchedBy: v1beta2.LabelLaunchedBy, CreatedBy: v1beta2.LabelCreatedBy,
		SpecHash: v1beta2.LabelSpecHash, Submission: v1beta2.LabelSubmissionID, Exposes: v1beta2.LabelExposes,
		Applied: v1beta2.AnnotationApplied,
	},
	Fields: spark.Fields{
		"":                             "spec", // the others are named as they are here
		"batchScheduler.queue":         "spec.batchSchedulerOptions.queue",
		"batchScheduler.priorityClass": "spec.batchSchedulerOptions.priorityClassName",
		"batchScheduler.resources":     "spec.batchSchedulerOptions.resources",
		"batchScheduler.parameters":    "spec.batchSchedulerOptions.parameters",
		"ui":                           "spec.sparkUIOptions",
		"ports":                        "spec.driverIngressOptions",
		"labels":                       "metadata.labels",
	},
	States: stateNames(),
}

// Family returns what the core knows of the kind.
func (SparkApplications) Family() lifecycle.Family { return sparkApplications }

func stateNames() map[lifecycle.State]string {
	names := map[lifecycle.State]string{}
	for s, name := range states {
		names[s] = string(name)
	}
	return names
}

// FromStatus reads back what ToStatus stored.
func (SparkApplications) FromStatus(o *v1beta2.SparkApplication) lifecycle.Record {
	return FromStatus(&o.Status)
}

// Normalize returns the model, and the fields whose value means nothing.
func (SparkApplications) Normalize(o *v1beta2.SparkApplication) (spark.Application, []*spark.ConfError) {
	return Normalize(o)
}

// RaiseMemory returns the model with the memory that follows raises attempts that ran out of it.
func (SparkApplications) RaiseMemory(app spark.Application, o *v1beta2.SparkApplication, raises int32) spark.Application {
	return WithRaisedMemory(app, o, raises)
}

// Desired returns what lifecycle.Decide needs to know of the object itself.
func (SparkApplications) Desired(o *v1beta2.SparkApplication, record lifecycle.Record) lifecycle.Application {
	return Desired(o, record)
}

// ToStatus returns a copy of the object with the status for the outcome; changed is false if it has that already.
func (SparkApplications) ToStatus(o *v1beta2.SparkApplication, outcome lifecycle.Outcome, now time.Time) (next *v1beta2.SparkApplication, changed bool) {
	status := ToStatus(&o.Status, outcome, now)
	if equality.Semantic.DeepEqual(&o.Status, &status) {
		return o, false
	}
	next = o.DeepCopy()
	next.Status = status
	return next, true
}

// DriverWaits returns the reason why a submitted driver does not run yet, as the condition has it.
func (SparkApplications) DriverWaits(o *v1beta2.SparkApplication) string {
	if c := meta.FindStatusCondition(o.Status.Conditions, string(lifecycle.ConditionDriverReady)); c != nil {
		return c.Reason
	}
	return ""
}
