// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DriverServiceIngress is a Service of the driver with an Ingress.
type DriverServiceIngress struct {
	// ServiceMetadata is the metadata of the Service, in the application's namespace.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +required
	ServiceMetadata metav1.ObjectMeta `json:"serviceMetadata"`
	// ServiceSpec is the spec of the Service; without a selector it selects the driver.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +required
	ServiceSpec corev1.ServiceSpec `json:"serviceSpec"`
	// IngressMetadata is the metadata of the Ingress, in the application's namespace.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +required
	IngressMetadata metav1.ObjectMeta `json:"ingressMetadata"`
	// IngressSpec is the spec of the Ingress; without rules it routes to the first port of the Service.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	IngressSpec *networkingv1.IngressSpec `json:"ingressSpec,omitempty"`
}

// DriverHTTPRoute is a Service of the driver with an HTTPRoute.
type DriverHTTPRoute struct {
	// ServiceMetadata is the metadata of the Service, in the application's namespace.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +required
	ServiceMetadata metav1.ObjectMeta `json:"serviceMetadata"`
	// ServiceSpec is the spec of the Service; without a selector it selects the driver.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +required
	ServiceSpec corev1.ServiceSpec `json:"serviceSpec"`
	// HTTPRouteMetadata is the metadata of the HTTPRoute, in the application's namespace.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +required
	HTTPRouteMetadata metav1.ObjectMeta `json:"httpRouteMetadata"`
	// HTTPRouteSpec is the spec of the HTTPRoute, with at least one parentRef; without rules it routes to the first port of the
	// Service.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	HTTPRouteSpec *runtime.RawExtension `json:"httpRouteSpec,omitempty"`
}

// DriverGRPCRoute is a Service of the driver with a GRPCRoute.
type DriverGRPCRoute struct {
	// ServiceMetadata is the metadata of the Service, in the application's namespace.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +required
	ServiceMetadata metav1.ObjectMeta `json:"serviceMetadata"`
	// ServiceSpec is the spec of the Service; without a selector it selects the driver.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +required
	ServiceSpec corev1.ServiceSpec `json:"serviceSpec"`
	// GRPCRouteMetadata is the metadata of the GRPCRoute, in the application's namespace.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +required
	GRPCRouteMetadata metav1.ObjectMeta `json:"grpcRouteMetadata"`
	// GRPCRouteSpec is the spec of the GRPCRoute, with at least one parentRef; without rules it routes to the first port of the
	// Service.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +optional
	GRPCRouteSpec *runtime.RawExtension `json:"grpcRouteSpec,omitempty"`
}
