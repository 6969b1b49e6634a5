// SPDX-License-Identifier: Apache-2.0

// Package v1 has the API types of spark.apache.org/v1, the stored version. Existing manifests and tools rely on its field names, rules and states.
//
// +kubebuilder:object:generate=true
// +groupName=spark.apache.org
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// SchemeGroupVersion is the group version of all kinds in this package. Kubebuilder's scaffold uses this name.
	SchemeGroupVersion = schema.GroupVersion{Group: "spark.apache.org", Version: "v1"}

	// SchemeBuilder collects the registrations for AddToScheme. Each kind registers itself next to its types.
	SchemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
		metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
		return nil
	})

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Labels of an application's or a cluster's objects. If they change, the operator no longer finds running objects.
const (
	// LabelOperator is the name of the operator, on every object.
	LabelOperator = "spark.operator/name"
	// LabelAppName is the application's name.
	LabelAppName = "spark.operator/spark-app-name"
	// LabelClusterName is the cluster's name.
	LabelClusterName = "spark.operator/spark-cluster-name"
	// LabelSentinel is "true" on sentinels: applications or clusters that run nothing and that the operator's health check edits.
	LabelSentinel = "spark.operator/sentinel"
)

// Finalizers that Apache's operator sets on applications and clusters. They are removed from deleted objects.
const (
	Finalizer        = "sparkapplications.spark.apache.org/finalizer"
	ClusterFinalizer = "sparkclusters.spark.apache.org/finalizer"
)
