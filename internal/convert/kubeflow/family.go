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

// SparkApplications translates sparkoperator.k8s.io SparkApplications (resolve.Family).
type SparkApplications struct{}

// New returns an empty object.
func (SparkApplications) New() *v1beta2.SparkApplication { return &v1beta2.SparkApplication{} }

// Kind returns the API version and kind for owner references.
func (SparkApplications) Kind() (apiVersion, kind string) {
	return v1beta2.GroupVersion.String(), "SparkApplication"
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
