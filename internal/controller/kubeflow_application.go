package controller

import (
	"time"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=get;list;watch
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications/status,verbs=patch
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications/finalizers,verbs=update

// kubeflowApplication adapts sparkoperator.k8s.io SparkApplications.
type kubeflowApplication struct{}

var _ Adapter[*v1beta2.SparkApplication] = kubeflowApplication{}

func (kubeflowApplication) New() *v1beta2.SparkApplication { return &v1beta2.SparkApplication{} }

func (kubeflowApplication) Kind() (apiVersion, kind string) {
	return v1beta2.GroupVersion.String(), "SparkApplication"
}

func (kubeflowApplication) Normalise(o *v1beta2.SparkApplication) (spark.Application, []*spark.ConfError) {
	return kubeflow.Normalise(o)
}

func (kubeflowApplication) Record(o *v1beta2.SparkApplication) lifecycle.Record {
	return kubeflow.RecordOf(&o.Status)
}

func (kubeflowApplication) Project(o *v1beta2.SparkApplication, outcome lifecycle.Outcome, submissionID string, now time.Time) *v1beta2.SparkApplication {
	next := o.DeepCopy()
	next.Status = kubeflow.Project(&o.Status, outcome, submissionID, now)
	return next
}
