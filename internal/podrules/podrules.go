// SPDX-License-Identifier: Apache-2.0

// Package podrules checks pods with the API server's own code, k8s.io/kubernetes, and so finds the same errors offline. The rules are those of the newest
// supported Kubernetes. All features are allowed, whatever their gates.
package podrules

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsv1defaults "k8s.io/kubernetes/pkg/apis/apps/v1"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"
)

// Privileged containers need a flag of the API server, which nearly all clusters set. Pod Security and policies refuse such containers by namespace.
func init() { capabilities.Setup(true, 0) }

// Errors returns the API server's errors about the creation of a pod, after defaults and before any webhook. Their paths are those of the pod, which is not
// changed.
func Errors(pod *corev1.Pod) field.ErrorList {
	pod = pod.DeepCopy()
	corev1defaults.SetObjectDefaults_Pod(pod)
	var internal core.Pod
	if err := corev1defaults.Convert_v1_Pod_To_core_Pod(pod, &internal, nil); err != nil {
		return field.ErrorList{field.Invalid(nil, field.OmitValueType{}, err.Error())}
	}
	internal.Status = core.PodStatus{Phase: core.PodPending}
	podutil.DropDisabledPodFields(&internal, nil)
	podutil.DefaultPodLevelResources(&internal)
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
	options.ResourceIsPod = true
	allowFeatures(&options)
	return validation.ValidatePodCreate(&internal, options)
}

// SetErrors returns the API server's errors about a StatefulSet and its pods. Their paths are those of the StatefulSet, which is not changed.
func SetErrors(set *appsv1.StatefulSet) field.ErrorList {
	set = set.DeepCopy()
	appsv1defaults.SetObjectDefaults_StatefulSet(set)
	var internal apps.StatefulSet
	if err := appsv1defaults.Convert_v1_StatefulSet_To_apps_StatefulSet(set, &internal, nil); err != nil {
		return field.ErrorList{field.Invalid(nil, field.OmitValueType{}, err.Error())}
	}
	podutil.DropDisabledTemplateFields(&internal.Spec.Template, nil)
	options := podutil.GetValidationOptionsFromPodTemplate(&internal.Spec.Template, nil)
	allowFeatures(&options)
	return appsvalidation.ValidateStatefulSet(&internal, appsvalidation.StatefulSetValidationOptions{AllowStatefulSetRecreateStrategy: true}, options)
}

// allowFeatures allows the fields behind feature gates: a cluster may enable a feature that is off here by default.
func allowFeatures(o *validation.PodValidationOptions) {
	for _, feature := range []*bool{
		&o.AllowRelaxedEnvironmentVariableValidation, &o.PodLevelResourcesEnabled, &o.InPlacePodLevelResourcesVerticalScalingEnabled,
		&o.InPlacePodVerticalScalingMemoryBackedVolumesEnabled, &o.AllowSidecarResizePolicy, &o.AllowMatchLabelKeysInPodTopologySpread, &o.AllowEnvFilesValidation,
		&o.AllowContainerRestartPolicyRules, &o.AllowTaintTolerationComparisonOperators, &o.AllowUserNamespacesHostNetworkSupport, &o.AllowRestartAllContainers,
		&o.AllowImageVolumeWithDigest,
	} {
		*feature = true
	}
}
