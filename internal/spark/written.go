// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Written is a part of a pod as its user wrote it. It shows which field a part of the finished pod comes from.
type Written struct {
	// Field is the user's field.
	Field Field
	// At is the path of the content in a pod, such as "spec.tolerations"; "" for a whole pod. Paths in Spark's container begin with WrittenContainer.
	At string
	// Value is the content, with the type of that part of a pod.
	Value any
	// Whole is set if the field generates the content from something else. Messages then name only the field.
	Whole bool
}

// WrittenContainer is Spark's container in Written.At.
const WrittenContainer = "container"

// Parts returns all parts of a role's pod that users wrote. Parts that override others come first. Role.Written has the fields outside of the overlay.
func (r Role) Parts(role Field) []Written {
	o := &r.Overlay
	parts := append(r.Written[:len(r.Written):len(r.Written)], []Written{
		{Field: role + ".env", At: "container.env", Value: o.Env}, {Field: role + ".envFrom", At: "container.envFrom", Value: o.EnvFrom},
		{Field: role + ".volumeMounts", At: "container.volumeMounts", Value: o.VolumeMounts}, {Field: role + ".ports", At: "container.ports", Value: o.Ports},
		{Field: role + ".securityContext", At: "container.securityContext", Value: o.SecurityContext},
		{Field: role + ".lifecycle", At: "container.lifecycle", Value: o.Lifecycle},
		{Field: role + ".volumes", At: "spec.volumes", Value: o.Volumes}, {Field: role + ".initContainers", At: "spec.initContainers", Value: o.InitContainers},
		{Field: role + ".sidecars", At: "spec.containers", Value: o.Sidecars}, {Field: role + ".nodeSelector", At: "spec.nodeSelector", Value: o.NodeSelector},
		{Field: role + ".affinity", At: "spec.affinity", Value: o.Affinity}, {Field: role + ".tolerations", At: "spec.tolerations", Value: o.Tolerations},
		{Field: role + ".hostAliases", At: "spec.hostAliases", Value: o.HostAliases}, {Field: role + ".dnsConfig", At: "spec.dnsConfig", Value: o.DNSConfig},
		{Field: role + ".podSecurityContext", At: "spec.securityContext", Value: o.PodSecurityContext},
		{Field: role + ".priorityClassName", At: "spec.priorityClassName", Value: o.PriorityClassName},
		{Field: role + ".schedulerName", At: "spec.schedulerName", Value: o.SchedulerName},
		{Field: role + ".terminationGracePeriodSeconds", At: "spec.terminationGracePeriodSeconds", Value: o.TerminationGracePeriodSeconds},
		{Field: role + ".hostNetwork", At: "spec.hostNetwork", Value: o.HostNetwork},
		{Field: role + ".shareProcessNamespace", At: "spec.shareProcessNamespace", Value: o.ShareProcessNamespace},
	}...)
	if r.Template != nil {
		parts = append(parts, Written{Field: role + ".template", Value: &corev1.Pod{ObjectMeta: r.Template.ObjectMeta, Spec: r.Template.Spec}})
	}
	return parts
}

// SourceKeys returns the properties that can set an entry of a list or a map in a role's pod, by the path of the list and the entry's name. They are in Spark's
// page about running on Kubernetes.
func SourceKeys(role, list, name string) []string {
	prefix := "spark.kubernetes." + role + "."
	switch list {
	case WrittenContainer + ".env":
		if role == RoleDriver {
			return []string{ConfDriverEnvPrefix + name, prefix + "secretKeyRef." + name}
		}
		return []string{ConfExecutorEnvPrefix + name, prefix + "secretKeyRef." + name}
	case "spec.volumes", WrittenContainer + ".volumeMounts":
		return []string{prefix + "secrets." + strings.TrimSuffix(name, "-volume")}
	case WrittenContainer: // its fields
		if name == "image" {
			return []string{prefix + "container.image", ConfImage}
		}
	case "spec.imagePullSecrets":
		return []string{ConfImagePullSecrets}
	case "spec.nodeSelector":
		return []string{prefix + "node.selector." + name, ConfNodeSelectorPrefix + name}
	case "metadata.labels":
		return []string{prefix + "label." + name}
	case "metadata.annotations":
		return []string{prefix + "annotation." + name}
	}
	return nil
}
