// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// applyOverlay applies an overlay to a pod whose Spark container has the index i. It appends lists, merges maps in favor of the overlay, and replaces single
// values.
func applyOverlay(pod *corev1.Pod, i int, overlay *PodOverlay) {
	o := overlay.DeepCopy()
	for label, value := range o.Labels {
		// Spark and the operator find their pods with these labels.
		if !reservedLabels[label] {
			setIn(&pod.Labels, label, value)
		}
	}
	for name, value := range o.Annotations {
		setIn(&pod.Annotations, name, value)
	}
	applyToContainer(&pod.Spec.Containers[i], o)
	applyToSpec(&pod.Spec, o)
	// Sidecars come after the Spark container, because tools take the first container for Spark's.
	pod.Spec.Containers = append(pod.Spec.Containers, o.Sidecars...)
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, o.InitContainers...)
	addMountedVolumes(&pod.Spec, o.Volumes)
}

func applyToContainer(c *corev1.Container, o *PodOverlay) {
	c.Env = append(c.Env, o.Env...)
	c.EnvFrom = append(c.EnvFrom, o.EnvFrom...)
	c.VolumeMounts = append(c.VolumeMounts, o.VolumeMounts...)
	c.Ports = append(c.Ports, o.Ports...)
	if c.Resources.Limits == nil && (len(o.Limits) > 0 || o.MemoryLimit != nil) {
		c.Resources.Limits = corev1.ResourceList{}
	}
	for name, quantity := range o.Limits {
		c.Resources.Limits[name] = quantity
	}
	if o.MemoryLimit != nil {
		c.Resources.Limits[corev1.ResourceMemory] = *o.MemoryLimit
	}
	if o.SecurityContext != nil {
		c.SecurityContext = keepPrivilege(c.SecurityContext, o.SecurityContext)
	}
	if o.Lifecycle != nil {
		c.Lifecycle = o.Lifecycle
	}
}

// keepPrivilege returns the overlay's security context. If it does not set privilege escalation, Spark's setting is added: since 4.3 Spark forbids it by
// default. Kubernetes refuses that in privileged containers.
func keepPrivilege(spark, overlay *corev1.SecurityContext) *corev1.SecurityContext {
	privileged := overlay.Privileged != nil && *overlay.Privileged
	if spark != nil && overlay.AllowPrivilegeEscalation == nil && !privileged {
		overlay.AllowPrivilegeEscalation = spark.AllowPrivilegeEscalation
	}
	return overlay
}

func applyToSpec(spec *corev1.PodSpec, o *PodOverlay) {
	for name, value := range o.NodeSelector {
		setIn(&spec.NodeSelector, name, value)
	}
	spec.Tolerations = append(spec.Tolerations, o.Tolerations...)
	spec.HostAliases = append(spec.HostAliases, o.HostAliases...)
	if o.Affinity != nil {
		spec.Affinity = o.Affinity
	}
	if o.HostNetwork {
		spec.HostNetwork = true
		// The driver and its executors find each other by the name of a Service.
		spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	if o.DNSConfig != nil {
		spec.DNSConfig = o.DNSConfig
	}
	if o.PodSecurityContext != nil {
		spec.SecurityContext = o.PodSecurityContext
	}
	if o.PriorityClassName != "" {
		// A priority that the template copied from another class would contradict this class.
		spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy = o.PriorityClassName, nil, nil
	}
	if o.SchedulerName != "" {
		spec.SchedulerName = o.SchedulerName
	}
	if o.TerminationGracePeriodSeconds != nil {
		spec.TerminationGracePeriodSeconds = o.TerminationGracePeriodSeconds
	}
	if o.ShareProcessNamespace {
		spec.ShareProcessNamespace = new(true)
	}
}

// addMountedVolumes adds the volumes that a container mounts. The volumes of an application are for both roles, and a pod with an unneeded volume may not start
// where that volume does not exist.
func addMountedVolumes(spec *corev1.PodSpec, volumes []corev1.Volume) {
	if len(volumes) == 0 {
		return
	}
	mounted := map[string]bool{}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, mount := range containers[i].VolumeMounts {
				mounted[mount.Name] = true
			}
			for _, device := range containers[i].VolumeDevices {
				mounted[device.Name] = true
			}
		}
	}
	for _, volume := range volumes {
		if mounted[volume.Name] {
			spec.Volumes = append(spec.Volumes, volume)
		}
	}
}

// DeepCopy returns an overlay that shares no values with o.
func (o *PodOverlay) DeepCopy() *PodOverlay {
	// All fields fit into a pod, which has a DeepCopy.
	pod := (&corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: append([]corev1.Container{{
			Env: o.Env, EnvFrom: o.EnvFrom, VolumeMounts: o.VolumeMounts, Ports: o.Ports,
			Resources:       corev1.ResourceRequirements{Limits: o.Limits},
			SecurityContext: o.SecurityContext, Lifecycle: o.Lifecycle,
		}}, o.Sidecars...),
		InitContainers: o.InitContainers, Volumes: o.Volumes, Tolerations: o.Tolerations, HostAliases: o.HostAliases,
		Affinity: o.Affinity, DNSConfig: o.DNSConfig, SecurityContext: o.PodSecurityContext,
		TerminationGracePeriodSeconds: o.TerminationGracePeriodSeconds,
	}}).DeepCopy()
	spec, c := &pod.Spec, &pod.Spec.Containers[0]
	out := *o
	out.Env, out.EnvFrom, out.VolumeMounts, out.Ports = c.Env, c.EnvFrom, c.VolumeMounts, c.Ports
	out.Limits, out.SecurityContext, out.Lifecycle = c.Resources.Limits, c.SecurityContext, c.Lifecycle
	out.InitContainers, out.Volumes = spec.InitContainers, spec.Volumes
	if len(o.Sidecars) > 0 {
		out.Sidecars = spec.Containers[1:]
	}
	out.Labels, out.Annotations, out.NodeSelector = maps.Clone(o.Labels), maps.Clone(o.Annotations), maps.Clone(o.NodeSelector)
	out.Tolerations, out.HostAliases, out.Affinity = spec.Tolerations, spec.HostAliases, spec.Affinity
	out.DNSConfig, out.PodSecurityContext = spec.DNSConfig, spec.SecurityContext
	out.TerminationGracePeriodSeconds = spec.TerminationGracePeriodSeconds
	if o.MemoryLimit != nil {
		out.MemoryLimit = new(o.MemoryLimit.DeepCopy())
	}
	return &out
}
