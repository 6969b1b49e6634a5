// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the API types of spark.apache.org/v1: field names, rules and states are those that existing manifests and tools rely
// on. It is the version that is stored.
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
	// SchemeGroupVersion of every kind in this package, by the name that Kubebuilder's scaffold knows.
	SchemeGroupVersion = schema.GroupVersion{Group: "spark.apache.org", Version: "v1"}

	// SchemeBuilder collects what AddToScheme registers. Each kind registers itself beside its types.
	SchemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
		metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
		return nil
	})

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Labels of the objects that run for an application or a cluster. Changing them loses sight of what runs.
const (
	// LabelOperator holds the name of the operator on every object.
	LabelOperator = "spark.operator/name"
	// LabelAppName holds the application's name.
	LabelAppName = "spark.operator/spark-app-name"
	// LabelClusterName holds the cluster's name.
	LabelClusterName = "spark.operator/spark-cluster-name"
	// LabelSentinel is "true" on an application or a cluster that is none: the operator's health probe edits it.
	LabelSentinel = "spark.operator/sentinel"
)

// Finalizers that Apache's operator sets on each application and each cluster. They are removed from one that is deleted.
const (
	Finalizer        = "sparkapplications.spark.apache.org/finalizer"
	ClusterFinalizer = "sparkclusters.spark.apache.org/finalizer"
)
