// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

// +kubebuilder:webhookconfiguration:mutating=true,name=webhook
// +kubebuilder:webhookconfiguration:mutating=false,name=webhook
// +kubebuilder:webhook:path=/mutate-sparkoperator-k8s-io-v1beta2-sparkapplication,mutating=true,failurePolicy=ignore,sideEffects=None,matchPolicy=Exact,timeoutSeconds=10,groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=create;update,versions=v1beta2,name=mutate-sparkoperator-k8s-io-v1beta2-sparkapplication.sparkoperator.k8s.io,admissionReviewVersions=v1,serviceName=webhook-svc,serviceNamespace=spark-operator,reinvocationPolicy=Never
// +kubebuilder:webhook:path=/validate-sparkoperator-k8s-io-v1beta2-sparkapplication,mutating=false,failurePolicy=ignore,sideEffects=None,matchPolicy=Exact,timeoutSeconds=10,groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=create;update,versions=v1beta2,name=validate-sparkoperator-k8s-io-v1beta2-sparkapplication.sparkoperator.k8s.io,admissionReviewVersions=v1,serviceName=webhook-svc,serviceNamespace=spark-operator

func sparkApplication(operator func() resolve.Operator) kind[*v1beta2.SparkApplication] {
	return kind[*v1beta2.SparkApplication]{
		complete: kubeflow.Default,
		judge: func(o *v1beta2.SparkApplication) (field.ErrorList, []string) {
			configured := operator()
			forecast := admission.DryRun(resolve.Load(kubeflow.SparkApplications{}, o, lifecycle.Record{}, configured, time.Unix(0, 0)), configured.Registry)
			return forecast.Errors, forecast.Warnings
		},
	}
}
