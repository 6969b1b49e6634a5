// SPDX-License-Identifier: Apache-2.0

// Package v1beta2 has the API types of sparkoperator.k8s.io/v1beta2. Existing manifests and tools rely on its field names, rules and states.
//
// +kubebuilder:object:generate=true
// +groupName=sparkoperator.k8s.io
package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// SchemeGroupVersion is the group version of all kinds in this package. Kubebuilder's scaffold uses this name.
	SchemeGroupVersion = schema.GroupVersion{Group: "sparkoperator.k8s.io", Version: "v1beta2"}

	// GroupVersion is the group version of all kinds in this package.
	GroupVersion = SchemeGroupVersion

	// SchemeBuilder collects the registrations for AddToScheme. Each kind registers itself next to its types.
	SchemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
		metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
		return nil
	})

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Labels of an application's objects. If they change, the operator no longer finds running objects.
const (
	// LabelAppName is the application's name.
	LabelAppName = "sparkoperator.k8s.io/app-name"
	// LabelLaunchedBy is "true" on every pod of every application.
	LabelLaunchedBy = "sparkoperator.k8s.io/launched-by-spark-operator"
	// LabelCreatedBy is "true" on all other objects that the operator creates for an application.
	LabelCreatedBy = "sparkoperator.k8s.io/created-by-spark-operator"
	// LabelSubmissionID is status.submissionID.
	LabelSubmissionID = "sparkoperator.k8s.io/submission-id"
	// LabelSpecHash is the hash of the spec that a driver pod was created from.
	LabelSpecHash = "sparkoperator.k8s.io/spec-hash"
	// LabelExposes is the purpose of an auxiliary object of a running driver.
	LabelExposes = "sparkoperator.k8s.io/exposes"
)

// Annotations that admission sets and protects (config/submitter). The operator ignores them unless its configuration names the source that records them.
const (
	// AnnotationSubmitter is the name of the user who created an object. A run has the submitter of its schedule.
	AnnotationSubmitter = "sparkoperator.k8s.io/submitter"
	// AnnotationSubmitterGroups lists the groups of that user, one on each line.
	AnnotationSubmitterGroups = "sparkoperator.k8s.io/submitter-groups"
)

// AnnotationApplied is the hash of the object as last applied.
const AnnotationApplied = "sparkoperator.k8s.io/applied"
