// SPDX-License-Identifier: Apache-2.0

package podrules

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	networkingv1conversion "k8s.io/kubernetes/pkg/apis/networking/v1"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
)

// ServiceErrors returns the API server's errors about the creation of a Service. Their paths are those of the Service, which is not changed.
func ServiceErrors(service *corev1.Service) field.ErrorList {
	service = service.DeepCopy()
	corev1defaults.SetObjectDefaults_Service(service)
	var internal core.Service
	if err := corev1defaults.Convert_v1_Service_To_core_Service(service, &internal, nil); err != nil {
		return field.ErrorList{field.Invalid(nil, field.OmitValueType{}, err.Error())}
	}
	return validation.ValidateServiceCreate(&internal)
}

// IngressErrors returns the API server's errors about the creation of an Ingress. Their paths are those of the Ingress, which is not changed.
func IngressErrors(ingress *networkingv1.Ingress) field.ErrorList {
	var internal networking.Ingress
	if err := networkingv1conversion.Convert_v1_Ingress_To_networking_Ingress(ingress.DeepCopy(), &internal, nil); err != nil {
		return field.ErrorList{field.Invalid(nil, field.OmitValueType{}, err.Error())}
	}
	return networkingvalidation.ValidateIngressCreate(&internal)
}
