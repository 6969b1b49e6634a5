// SPDX-License-Identifier: Apache-2.0

package spark

import (
	corev1 "k8s.io/api/core/v1"
)

// Standalone is what is built of a standalone cluster, as far as it is limited.
type Standalone struct {
	Namespace string
	// Conf is the configuration that the user wrote, with what policies set beside it. Defaults are all properties that policies set.
	Conf, Defaults map[string]string
	Fields         Fields
	// Words are those of messages about the cluster.
	Words Words
	// OwnLabels are the operator's (Application.OwnLabels).
	OwnLabels []string
	// Roles are the master and the workers, in this order.
	Roles []StandaloneRole
	// Others are the objects that are made beside those of the roles, as far as the user has a say in them.
	Others []Object
}

// StandaloneRole is one of the roles of a cluster.
type StandaloneRole struct {
	// Name begins the names of the role's fields.
	Name string
	// Pod is what each pod of the role is like.
	Pod *corev1.Pod
	// Written are the parts of the StatefulSet that the user wrote.
	Written []Written
	// Initial is how many there are at the start. Least and Most are how many there may be.
	Initial, Least, Most int32
	// Objects are the others that are made for the role: a StatefulSet, a Service and the claims of each pod.
	Set     Object
	Service *corev1.Service
	Claims  []corev1.PersistentVolumeClaim
}

// Takes is what one pod of the role takes.
func (r StandaloneRole) Takes() PodResources { return resourcesOf(&r.Pod.Spec) }

// PodSets are the sizes of a cluster's pods, as those of an application: the master's are its driver's, and the workers' its executors'.
func (s Standalone) PodSets() PodSets {
	master, workers := s.Roles[0], s.Roles[1]
	return PodSets{
		Driver: master.Takes(), DriverAttributes: attributesOf(master.Pod), Executor: workers.Takes(), ExecutorAttributes: attributesOf(workers.Pod),
		Initial: workers.Initial, Min: workers.Least, Max: workers.Most,
	}
}
