/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// driverOf judges a driver by its Spark container: a sidecar that still runs does not hide the driver's end.
func driverOf(pod *corev1.Pod) lifecycle.Driver {
	d := lifecycle.Driver{
		Presence:  lifecycle.Present,
		Name:      pod.Name,
		UID:       string(pod.UID),
		CreatedAt: pod.CreationTimestamp.Time,
		Deleting:  pod.DeletionTimestamp != nil,
		Phase:     lifecycle.DriverPending,
	}
	status := sparkStatus(pod, spark.DriverContainerName)
	switch {
	case status != nil && status.State.Terminated != nil:
		t := status.State.Terminated
		if d.Phase = lifecycle.DriverSucceeded; t.ExitCode != 0 {
			d.Phase, d.Exit = lifecycle.DriverFailed, lifecycle.Exit{Code: t.ExitCode, Reason: t.Reason, Message: t.Message}
		}
	case pod.Status.Phase == corev1.PodSucceeded:
		d.Phase = lifecycle.DriverSucceeded
	case pod.Status.Phase == corev1.PodFailed:
		d.Phase, d.Exit = lifecycle.DriverFailed, lifecycle.Exit{Code: -1, Reason: pod.Status.Reason, Message: pod.Status.Message}
	case status != nil && status.State.Running != nil,
		status == nil && pod.Status.Phase == corev1.PodRunning:
		d.Phase = lifecycle.DriverRunning
	default:
		d.Waiting = waiting(pod)
	}
	return d
}

// sparkStatus returns the status of Spark's container, or of the only one there is.
func sparkStatus(pod *corev1.Pod, usual string) *corev1.ContainerStatus {
	name := usual
	if c := sparkContainer(pod); c != nil {
		name = c.Name
	}
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	if len(pod.Status.ContainerStatuses) == 1 {
		return &pod.Status.ContainerStatuses[0]
	}
	return nil
}

// appIDEnv is what Spark tells the driver's and the executors' containers, and no other.
const appIDEnv = "SPARK_APPLICATION_ID"

// sparkContainer finds Spark's container, which has the name that the user's pod template gives it.
func sparkContainer(pod *corev1.Pod) *corev1.Container {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == appIDEnv }) {
			return c
		}
	}
	return nil
}

// waiting says why a pending pod does not run, in the words of the scheduler or the kubelet. The stages that every pod
// goes through are no reason.
func waiting(pod *corev1.Pod) lifecycle.Cause {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason != "" {
			return lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: c.Message}
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			w := s.State.Waiting
			if w == nil || w.Reason == "" || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing" {
				continue
			}
			return lifecycle.Cause{Reason: lifecycle.Reason(w.Reason), Message: "container " + s.Name + ": " + w.Message}
		}
	}
	return lifecycle.Cause{}
}

func executorOf(pod *corev1.Pod) lifecycle.ExecutorState {
	if s := sparkStatus(pod, spark.ExecutorContainerName); s != nil && s.State.Terminated != nil {
		if s.State.Terminated.ExitCode == 0 {
			return lifecycle.ExecutorSucceeded
		}
		return lifecycle.ExecutorFailed
	}
	switch pod.Status.Phase {
	case corev1.PodRunning:
		return lifecycle.ExecutorRunning
	case corev1.PodSucceeded:
		return lifecycle.ExecutorSucceeded
	case corev1.PodFailed:
		return lifecycle.ExecutorFailed
	case corev1.PodPending, corev1.PodUnknown:
	}
	return lifecycle.ExecutorPending
}

// StripPod drops from a cached pod all that this package does not look at: with thousands of executors the cache is
// most of the operator's memory. It is a cache transform and never fails.
func StripPod(o any) (any, error) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil // a tombstone
	}
	pod.ManagedFields = nil
	pod.Annotations = nil
	pod.Spec = stripSpec(pod)
	pod.Status = corev1.PodStatus{
		Phase:                 pod.Status.Phase,
		Reason:                pod.Status.Reason,
		Message:               pod.Status.Message,
		Conditions:            scheduledCondition(pod.Status.Conditions),
		InitContainerStatuses: stripStatuses(pod.Status.InitContainerStatuses),
		ContainerStatuses:     stripStatuses(pod.Status.ContainerStatuses),
	}
	return pod, nil
}

// stripSpec keeps the name of Spark's container where it is not the usual one, and how to find it once more.
func stripSpec(pod *corev1.Pod) corev1.PodSpec {
	c := sparkContainer(pod)
	if c == nil || c.Name == spark.DriverContainerName || c.Name == spark.ExecutorContainerName {
		return corev1.PodSpec{}
	}
	return corev1.PodSpec{Containers: []corev1.Container{{Name: c.Name, Env: []corev1.EnvVar{{Name: appIDEnv}}}}}
}

func scheduledCondition(all []corev1.PodCondition) []corev1.PodCondition {
	for _, c := range all {
		if c.Type == corev1.PodScheduled {
			return []corev1.PodCondition{c}
		}
	}
	return nil
}

func stripStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	stripped := make([]corev1.ContainerStatus, 0, len(all))
	for _, s := range all {
		stripped = append(stripped, corev1.ContainerStatus{Name: s.Name, State: s.State})
	}
	return stripped
}

// AppOf is the index function of IndexApp.
func AppOf(o client.Object) []string {
	if app := o.GetLabels()[lifecycle.LabelApp]; app != "" {
		return []string{app}
	}
	return nil
}
