// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// +kubebuilder:webhookconfiguration:mutating=true,name=webhook
// +kubebuilder:webhookconfiguration:mutating=false,name=webhook
// +kubebuilder:webhook:path=/mutate-sparkoperator-k8s-io-v1beta2-sparkapplication,mutating=true,failurePolicy=ignore,sideEffects=None,matchPolicy=Exact,timeoutSeconds=10,groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=create;update,versions=v1beta2,name=mutate-sparkoperator-k8s-io-v1beta2-sparkapplication.sparkoperator.k8s.io,admissionReviewVersions=v1,serviceName=webhook-svc,serviceNamespace=spark-operator,reinvocationPolicy=Never
// +kubebuilder:webhook:path=/validate-sparkoperator-k8s-io-v1beta2-sparkapplication,mutating=false,failurePolicy=ignore,sideEffects=None,matchPolicy=Exact,timeoutSeconds=10,groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=create;update,versions=v1beta2,name=validate-sparkoperator-k8s-io-v1beta2-sparkapplication.sparkoperator.k8s.io,admissionReviewVersions=v1,serviceName=webhook-svc,serviceNamespace=spark-operator

// Policy is what an installation demands of an application, beside package validation, and what it presets. It is pure:
// it returns the application as it will be run, what it objects to, and sentences about what it does not object to.
type Policy func(spark.Application, lifecycle.Policies) (app spark.Application, objections []*spark.ConfError, remarks []string)

func sparkApplication(policies []Policy) kind[*v1beta2.SparkApplication] {
	return kind[*v1beta2.SparkApplication]{
		complete: kubeflow.Default,
		judge: func(o *v1beta2.SparkApplication) opinion {
			app, problems := kubeflow.Normalise(o)
			life, _ := kubeflow.Policies(o) // its problems are among those already
			if o.MalformedSpec != "" {
				return judgement(app, life, problems, nil)
			}
			return judgement(app, life, problems, policies)
		},
	}
}

// judgement puts into words what is wrong with an application, whatever kind it came from.
func judgement(app spark.Application, life lifecycle.Policies, problems []*spark.ConfError, policies []Policy) opinion {
	var objections []*spark.ConfError
	var said opinion
	for _, policy := range policies {
		var found []*spark.ConfError
		var remarks []string
		app, found, remarks = policy(app, life)
		objections, said.remarks = append(objections, found...), append(said.remarks, remarks...)
	}
	for _, p := range append(validation.Report(app, problems), objections...) {
		field := validation.FieldOf(app, p)
		said.objections = append(said.objections, objection{field: field, problem: strings.TrimPrefix(p.About(field), field+": ")})
	}
	for _, w := range validation.Warnings(app) {
		said.remarks = append(said.remarks, validation.Explain(app, w))
	}
	return said
}
