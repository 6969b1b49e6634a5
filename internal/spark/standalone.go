// SPDX-License-Identifier: Apache-2.0

package spark

import (
	corev1 "k8s.io/api/core/v1"
)

// Standalone has the parts of a built standalone cluster that limits and checks need.
type Standalone struct {
	Namespace string
	// Conf is the user's configuration, with the additions of policies. Defaults are all properties that policies set.
	Conf, Defaults map[string]string
	Fields         Fields
	// Words are the words for the cluster in messages.
	Words Words
	// OwnLabels are the operator's (Application.OwnLabels).
	OwnLabels []string
	// Roles are the master and the workers, in this order.
	Roles []StandaloneRole
	// Others are the other objects of the cluster that the user can change.
	Others []Object
}

// StandaloneRole is one of the roles of a cluster.
type StandaloneRole struct {
	// Name is the prefix of the role's fields.
	Name string
	// Pod is the pod of the role.
	Pod *corev1.Pod
	// Written are the parts of the StatefulSet that the user wrote.
	Written []Written
	// Initial is the number of pods at the start. Least and Most bound it.
	Initial, Least, Most int32
	// The other objects of the role: a StatefulSet, a Service and the claims of each pod.
	Set     Object
	Service *corev1.Service
	Claims  []corev1.PersistentVolumeClaim
}

// Takes returns the resources of one pod of the role.
func (r StandaloneRole) Takes() PodResources { return resourcesOf(&r.Pod.Spec) }

// PodSets returns the sizes of a cluster's pods in the form for applications. The master takes the driver's place, and the workers take the executors'.
func (s Standalone) PodSets() PodSets {
	master, workers := s.Roles[0], s.Roles[1]
	return PodSets{
		Driver: master.Takes(), DriverAttributes: attributesOf(master.Pod), Executor: workers.Takes(), ExecutorAttributes: attributesOf(workers.Pod),
		Initial: workers.Initial, Min: workers.Least, Max: workers.Most, ByControllers: true,
	}
}
