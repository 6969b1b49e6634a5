// SPDX-License-Identifier: Apache-2.0

// Package v1beta2 holds the API types of sparkoperator.k8s.io/v1beta2: field names, rules and states are those that
// existing manifests and tools rely on.
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
	// SchemeGroupVersion of every kind in this package, by the name that Kubebuilder's scaffold knows.
	SchemeGroupVersion = schema.GroupVersion{Group: "sparkoperator.k8s.io", Version: "v1beta2"}

	// GroupVersion of every kind in this package.
	GroupVersion = SchemeGroupVersion

	// SchemeBuilder collects what AddToScheme registers. Each kind registers itself beside its types.
	SchemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
		metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
		return nil
	})

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Labels of the objects that run for an application. Changing them loses sight of what runs.
const (
	// LabelAppName holds the application's name.
	LabelAppName = "sparkoperator.k8s.io/app-name"
	// LabelLaunchedBy is "true" on every pod of every application.
	LabelLaunchedBy = "sparkoperator.k8s.io/launched-by-spark-operator"
	// LabelCreatedBy is "true" on everything else that is created for an application, but for what Spark creates.
	LabelCreatedBy = "sparkoperator.k8s.io/created-by-spark-operator"
	// LabelSubmissionID holds status.submissionID.
	LabelSubmissionID = "sparkoperator.k8s.io/submission-id"
	// LabelSpecHash identifies on a driver pod the specification it was made from.
	LabelSpecHash = "sparkoperator.k8s.io/spec-hash"
	// LabelExposes says what an auxiliary object of a running driver is for.
	LabelExposes = "sparkoperator.k8s.io/exposes"
)

// Annotations that admission sets and keeps (config/submitter), whatever users write. The operator ignores them unless its configuration
// says who sets them.
const (
	// AnnotationSubmitter holds the name of the user who created an object; that of a schedule, on its runs.
	AnnotationSubmitter = "sparkoperator.k8s.io/submitter"
	// AnnotationSubmitterGroups holds the groups of that user, one on each line.
	AnnotationSubmitterGroups = "sparkoperator.k8s.io/submitter-groups"
)

// AnnotationApplied holds a hash of what was applied last to an object.
const AnnotationApplied = "sparkoperator.k8s.io/applied"
