// Releases of others that hold definitions. Tests read files of these modules; nothing is built from them.
module github.com/firesteel-dev/firesteel/test/definitions/modules

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/kubeflow/spark-operator/v2 v2.5.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/gateway-api v1.6.3
	sigs.k8s.io/scheduler-plugins v0.34.7
)
