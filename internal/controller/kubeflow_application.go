// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/governed"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications/status,verbs=patch
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications/finalizers,verbs=update

// kubeflowApplication adapts sparkoperator.k8s.io SparkApplications.
type kubeflowApplication struct {
	// policies returns what holds at present; nil for nothing.
	policies func() policy.Set
}

var _ Adapter[*v1beta2.SparkApplication] = kubeflowApplication{}

func (kubeflowApplication) New() *v1beta2.SparkApplication { return &v1beta2.SparkApplication{} }

func (kubeflowApplication) Kind() (apiVersion, kind string) {
	return v1beta2.GroupVersion.String(), "SparkApplication"
}

func (k kubeflowApplication) Normalise(o *v1beta2.SparkApplication, rec lifecycle.Record) (spark.Application, []*spark.ConfError) {
	return governed.Attempt(o, rec, k.rules())
}

func (k kubeflowApplication) Wish(o *v1beta2.SparkApplication, rec lifecycle.Record) lifecycle.Application {
	return governed.Wish(o, rec, k.rules())
}

// rules are the policies that hold at present, of all namespaces.
func (k kubeflowApplication) rules() policy.Set {
	if k.policies == nil {
		return nil
	}
	return k.policies()
}

func (kubeflowApplication) Record(o *v1beta2.SparkApplication) lifecycle.Record {
	return kubeflow.RecordOf(&o.Status)
}

func (kubeflowApplication) Project(o *v1beta2.SparkApplication, outcome lifecycle.Outcome, now time.Time) (*v1beta2.SparkApplication, bool) {
	status := kubeflow.Project(&o.Status, outcome, now)
	if equality.Semantic.DeepEqual(&o.Status, &status) {
		return o, false
	}
	next := o.DeepCopy()
	next.Status = status
	return next, true
}
