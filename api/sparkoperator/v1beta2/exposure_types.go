// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// MonitoringSpec configures the metrics of the pods. Without prometheus, Spark's own endpoint on the driver's UI port serves
// them, and the image needs no additional files.
type MonitoringSpec struct {
	// ExposeDriverMetrics enables metrics of the driver.
	// +optional
	ExposeDriverMetrics bool `json:"exposeDriverMetrics"`
	// ExposeExecutorMetrics enables metrics of the executors.
	// +optional
	ExposeExecutorMetrics bool `json:"exposeExecutorMetrics"`
	// MetricsProperties is the content of Spark's metrics.properties.
	// +optional
	MetricsProperties *string `json:"metricsProperties,omitempty"`
	// MetricsPropertiesFile is the path of a metrics.properties file inside the image.
	// +optional
	MetricsPropertiesFile *string `json:"metricsPropertiesFile,omitempty"`
	// Prometheus makes the JMX exporter serve the metrics instead.
	// +optional
	Prometheus *PrometheusSpec `json:"prometheus,omitempty"`
}

// PrometheusSpec configures the Prometheus JMX exporter.
type PrometheusSpec struct {
	// JmxExporterJar is the path of the exporter's jar inside the image.
	// +required
	JmxExporterJar string `json:"jmxExporterJar"`
	// Port of the exporter.
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=49151
	// +optional
	Port *int32 `json:"port,omitempty"`
	// PortName is the name of the exporter's container port.
	// +optional
	PortName *string `json:"portName,omitempty"`
	// ConfigFile is the path of an exporter configuration inside the image; it overrides configuration.
	// +optional
	ConfigFile *string `json:"configFile,omitempty"`
	// Configuration is the content of the exporter's configuration.
	// +optional
	Configuration *string `json:"configuration,omitempty"`
}

// SparkUIConfiguration configures the Service and the Ingress of the Spark UI.
type SparkUIConfiguration struct {
	// ServicePort is the port of the Service.
	// +optional
	ServicePort *int32 `json:"servicePort,omitempty"`
	// ServicePortName is the name of the Service's port.
	// +optional
	ServicePortName *string `json:"servicePortName,omitempty"`
	// ServiceType is the type of the Service, such as ClusterIP.
	// +optional
	ServiceType *corev1.ServiceType `json:"serviceType,omitempty"`
	// ServiceAnnotations of the Service.
	// +optional
	ServiceAnnotations map[string]string `json:"serviceAnnotations,omitempty"`
	// ServiceLabels of the Service.
	// +optional
	ServiceLabels map[string]string `json:"serviceLabels,omitempty"`
	// IngressAnnotations of the Ingress.
	// +optional
	IngressAnnotations map[string]string `json:"ingressAnnotations,omitempty"`
	// IngressTLS of the Ingress.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:MaxItems=16
	// +optional
	IngressTLS []networkingv1.IngressTLS `json:"ingressTLS,omitempty"`
}

// DriverIngressConfiguration configures an additional Service and Ingress of the driver.
type DriverIngressConfiguration struct {
	// ServicePort is the port of the Service and of the driver.
	// +required
	ServicePort *int32 `json:"servicePort"`
	// ServicePortName is the name of the Service's port.
	// +required
	ServicePortName *string `json:"servicePortName"`
	// ServiceType is the type of the Service, such as ClusterIP.
	// +optional
	ServiceType *corev1.ServiceType `json:"serviceType,omitempty"`
	// ServiceAnnotations of the Service.
	// +optional
	ServiceAnnotations map[string]string `json:"serviceAnnotations,omitempty"`
	// ServiceLabels of the Service.
	// +optional
	ServiceLabels map[string]string `json:"serviceLabels,omitempty"`
	// IngressURLFormat is the URL of the Ingress, with {{$appName}} and {{$appNamespace}}.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	IngressURLFormat string `json:"ingressURLFormat,omitempty"`
	// IngressAnnotations of the Ingress.
	// +optional
	IngressAnnotations map[string]string `json:"ingressAnnotations,omitempty"`
	// IngressTLS of the Ingress.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:MaxItems=16
	// +optional
	IngressTLS []networkingv1.IngressTLS `json:"ingressTLS,omitempty"`
}
