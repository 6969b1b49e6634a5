// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

func driverRole(o *v1beta2.SparkApplication) (spark.Role, []*spark.ConfError) {
	d := &o.Spec.Driver
	overlay, problems := overlayOf(&o.Spec, &d.SparkPodSpec, "driver")
	overlay.Lifecycle = d.Lifecycle
	overlay.Ports = ports(d.Ports)
	overlay.PriorityClassName = ptr.Deref(d.PriorityClassName, "")
	if m := metricsOf(o); m != nil && m.driver {
		m.mount(&overlay)
	}
	return spark.Role{Template: d.Template, Overlay: overlay, Written: writtenOf(&o.Spec, &d.SparkPodSpec, "driver")}, problems
}

func executorRole(o *v1beta2.SparkApplication) (spark.Role, []*spark.ConfError) {
	e := &o.Spec.Executor
	overlay, problems := overlayOf(&o.Spec, &e.SparkPodSpec, "executor")
	overlay.Lifecycle = e.Lifecycle
	overlay.Ports = ports(e.Ports)
	overlay.PriorityClassName = ptr.Deref(e.PriorityClassName, "")
	if limit := overlay.MemoryLimit; limit != nil { // the driver overwrites it
		overlay.MemoryLimit, overlay.Annotations = nil, map[string]string{spark.AnnotationMemoryLimit: limit.String()}
	}
	if m := metricsOf(o); m != nil && m.executor {
		m.mount(&overlay)
	}
	return spark.Role{Template: e.Template, Overlay: overlay, Written: writtenOf(&o.Spec, &e.SparkPodSpec, "executor")}, problems
}

// overlayOf collects the settings of a role that no Spark property expresses.
func overlayOf(s *v1beta2.SparkApplicationSpec, p *v1beta2.SparkPodSpec, field spark.Field) (spark.PodOverlay, []*spark.ConfError) {
	m := mountsOf(s, p, field)
	limit, problems := memoryLimit(p.MemoryLimit, field+".memoryLimit")
	return spark.PodOverlay{
		Env:                           append(m.env, p.Env...),
		EnvFrom:                       p.EnvFrom,
		VolumeMounts:                  m.mounts,
		MemoryLimit:                   limit,
		Limits:                        gpuLimits(p.GPU),
		SecurityContext:               p.SecurityContext,
		Volumes:                       m.volumes,
		InitContainers:                p.InitContainers,
		Sidecars:                      p.Sidecars,
		NodeSelector:                  p.NodeSelector,
		Affinity:                      p.Affinity,
		Tolerations:                   p.Tolerations,
		HostAliases:                   p.HostAliases,
		HostNetwork:                   ptr.Deref(p.HostNetwork, false),
		DNSConfig:                     p.DNSConfig,
		PodSecurityContext:            p.PodSecurityContext,
		SchedulerName:                 ptr.Deref(p.SchedulerName, ""),
		TerminationGracePeriodSeconds: p.TerminationGracePeriodSeconds,
		ShareProcessNamespace:         ptr.Deref(p.ShareProcessNamespace, false),
	}, problems
}

// writtenOf returns the fields of a role that the overlay holds in a changed form or with additions of the operator.
func writtenOf(s *v1beta2.SparkApplicationSpec, p *v1beta2.SparkPodSpec, role spark.Field) []spark.Written {
	return append(mountsOf(s, p, role).written,
		spark.Written{Field: role + ".env", At: "container.env", Value: p.Env},
		spark.Written{Field: role + ".volumeMounts", At: "container.volumeMounts", Value: p.VolumeMounts},
		spark.Written{Field: role + ".volumes", At: "spec.volumes", Value: s.Volumes},
		writtenGPU(role, gpuLimits(p.GPU)))
}

func writtenGPU(role spark.Field, limits corev1.ResourceList) spark.Written {
	return spark.Written{Field: role + ".gpu", At: "container.resources.limits", Value: limits, Whole: true}
}

func ports(in []v1beta2.Port) []corev1.ContainerPort {
	var out []corev1.ContainerPort
	for _, p := range in {
		out = append(out, corev1.ContainerPort{Name: p.Name, Protocol: corev1.Protocol(p.Protocol), ContainerPort: p.ContainerPort})
	}
	return out
}

func gpuLimits(gpu *v1beta2.GPUSpec) corev1.ResourceList {
	if gpu == nil || gpu.Name == "" || gpu.Quantity <= 0 {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceName(gpu.Name): *resource.NewQuantity(gpu.Quantity, resource.DecimalSI)}
}

// javaMemory matches a size in Java's units: 512m, 2g, 1024kb.
var javaMemory = regexp.MustCompile(`^([0-9]+)([kmgtp])b?$`)

// memoryLimit reads a size in Java's units or a Kubernetes quantity. "2g" and "2Gi" have the same value.
func memoryLimit(text *string, field spark.Field) (*resource.Quantity, []*spark.ConfError) {
	value := ptr.Deref(text, "")
	if value == "" {
		return nil, nil
	}
	if m := javaMemory.FindStringSubmatch(strings.ToLower(value)); m != nil {
		value = m[1] + strings.ToUpper(m[2]) + "i"
	}
	q, err := spark.ParseQuantity(value)
	if err != nil {
		return nil, []*spark.ConfError{{Field: field, Value: *text, Problem: `not a size; write Java units such as "2g" or a Kubernetes quantity such as "2Gi"`}}
	}
	return &q, nil
}
