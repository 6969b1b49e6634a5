// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the API types of sparkoperator.k8s.io/v1alpha1. Existing manifests and tools rely on its field names, rules and states.
//
// +kubebuilder:object:generate=true
// +groupName=sparkoperator.k8s.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// SchemeGroupVersion is the group version of all kinds in this package. Kubebuilder's scaffold uses this name.
	SchemeGroupVersion = schema.GroupVersion{Group: "sparkoperator.k8s.io", Version: "v1alpha1"}

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
