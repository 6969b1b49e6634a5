// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// driverOf derives a driver's state from its Spark container, so that a running sidecar does not hide the driver's end.
func driverOf(pod *corev1.Pod) lifecycle.Driver {
	d := lifecycle.Driver{
		Presence:    lifecycle.Present,
		Name:        pod.Name,
		UID:         string(pod.UID),
		SparkAppID:  pod.Labels[spark.LabelAppSelector],
		CreatedAt:   pod.CreationTimestamp.Time,
		ScheduledAt: scheduledAt(pod),
		Disruption:  disruption(pod),
		MemoryLimit: memoryLimit(pod),
		Phase:       lifecycle.DriverPending,
		Ready:       podReady(pod),
		PodIP:       pod.Status.PodIP,
		UIPort:      uiPort(pod),
		TokenSecret: tokenSecret(pod),
	}
	if pod.Spec.NodeName == "" {
		d.Unplaced = pod.ResourceVersion
	}
	if pod.DeletionTimestamp != nil {
		d.Deleting, d.GoneAt = true, pod.DeletionTimestamp.Time
	}
	status := sparkStatus(pod, spark.DriverContainerName)
	d.SparkReady = status != nil && status.Ready
	switch {
	case status != nil && status.State.Terminated != nil:
		t := status.State.Terminated
		d.StartedAt = t.StartedAt.Time
		if d.Phase = lifecycle.DriverSucceeded; t.ExitCode != 0 {
			d.Phase, d.Exit = lifecycle.DriverFailed, lifecycle.Exit{Code: t.ExitCode, Reason: t.Reason, Message: t.Message}
		}
	case pod.Status.Phase == corev1.PodSucceeded:
		d.Phase = lifecycle.DriverSucceeded
	case pod.Status.Phase == corev1.PodFailed:
		d.Phase, d.Exit = lifecycle.DriverFailed, lifecycle.Exit{Code: -1, Reason: pod.Status.Reason, Message: pod.Status.Message}
	case status != nil && status.State.Running != nil:
		d.Phase, d.StartedAt = lifecycle.DriverRunning, status.State.Running.StartedAt.Time
	case status == nil && pod.Status.Phase == corev1.PodRunning:
		d.Phase, d.StartedAt = lifecycle.DriverRunning, d.ScheduledAt
	case initFailure(pod) != nil:
		// An init container failed, so no container follows. The kubelet has not written the pod's end yet.
		t := initFailure(pod)
		d.Phase, d.Exit = lifecycle.DriverFailed, lifecycle.Exit{Code: t.State.Terminated.ExitCode,
			Reason: t.State.Terminated.Reason, Message: "init container " + t.Name + " failed"}
	default:
		d.Waiting = waiting(pod)
	}
	if d.Phase == lifecycle.DriverRunning || d.Phase == lifecycle.DriverPending {
		return startedAgain(d, pod, status)
	}
	return d
}

// startedAgain detects a live driver whose container has already ended once. A kubelet that lost its state restarts it, and so does a container's restart rule
// (KEP-5307). Servers of the Kubeflow operator may restart, too.
func startedAgain(d lifecycle.Driver, pod *corev1.Pod, status *corev1.ContainerStatus) lifecycle.Driver {
	meant := pod.Spec.RestartPolicy == corev1.RestartPolicyAlways || pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
	if meant || status == nil || status.RestartCount == 0 && status.LastTerminationState.Terminated == nil {
		return d
	}
	d.Restarted, d.Exit = true, lifecycle.Exit{Code: -1}
	if t := status.LastTerminationState.Terminated; t != nil {
		d.StartedAt, d.Exit = t.StartedAt.Time, lifecycle.Exit{Code: t.ExitCode, Reason: t.Reason, Message: t.Message}
	}
	return d
}

// initFailure returns the init container whose failure ends a pod without restarts; nil if there is none.
func initFailure(pod *corev1.Pod) *corev1.ContainerStatus {
	if pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
		return nil
	}
	for i := range pod.Status.InitContainerStatuses {
		s := &pod.Status.InitContainerStatuses[i]
		sidecar := slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
			return c.Name == s.Name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		})
		if t := s.State.Terminated; t != nil && t.ExitCode > 0 && !sidecar {
			return s
		}
	}
	return nil
}

// podReady reports whether a pod is ready.
func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// scheduledAt returns when the pod got a node; zero if it has none.
func scheduledAt(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// disruptive are status reasons of pods that the cluster ended without setting a condition.
var disruptive = map[string]bool{
	"Evicted": true, "Preempting": true, "NodeShutdown": true, "Terminated": true, "NodeLost": true, "NodeAffinity": true,
	"UnexpectedAdmissionError": true, "OutOfcpu": true, "OutOfmemory": true, "OutOfpods": true, "Shutdown": true,
}

// disruption explains how the cluster ended a pod, by the pod's disruption condition or its status reason; empty for none.
func disruption(pod *corev1.Pod) lifecycle.Cause {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: c.Message}
		}
	}
	if pod.Status.Phase == corev1.PodFailed && disruptive[pod.Status.Reason] {
		return lifecycle.Cause{Reason: lifecycle.Reason(pod.Status.Reason), Message: pod.Status.Message}
	}
	return lifecycle.Cause{}
}

// sparkStatus returns the status of Spark's container, or of the pod's only container.
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

// appIDEnv is a variable that Spark sets only in its own containers.
const appIDEnv = "SPARK_APPLICATION_ID"

// sparkContainer finds Spark's container by its environment, because the user's pod template may change its name.
func sparkContainer(pod *corev1.Pod) *corev1.Container {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == appIDEnv }) {
			return c
		}
	}
	return nil
}

// memoryLimit returns the memory limit of Spark's container, in bytes; 0 for none.
func memoryLimit(pod *corev1.Pod) int64 {
	if c := sparkContainer(pod); c != nil {
		return c.Resources.Limits.Memory().Value()
	}
	return 0
}

// stages are the kubelet's waiting reasons during a normal start.
var stages = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

// waitingReasons maps the kubelet's reasons. Reasons that alternate have one result.
var waitingReasons = map[string]lifecycle.Reason{
	"ErrImagePull": lifecycle.ReasonImagePull, "ImagePullBackOff": lifecycle.ReasonImagePull, "InvalidImageName": lifecycle.ReasonImagePull,
	"ErrImageNeverPull": lifecycle.ReasonImagePull, "RegistryUnavailable": lifecycle.ReasonImagePull, "ImageInspectError": lifecycle.ReasonImagePull,
	"SignatureValidationFailed": lifecycle.ReasonImagePull, "CreateContainerConfigError": lifecycle.ReasonConfigMissing,
}

// waiting explains why a pending pod is not running, with the message of the scheduler or the kubelet.
func waiting(pod *corev1.Pod) lifecycle.Wait {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason != "" {
			reason := lifecycle.ReasonUnschedulable
			if c.Reason == corev1.PodReasonSchedulingGated {
				reason = lifecycle.ReasonSchedulingGated
			}
			return lifecycle.Wait{Cause: lifecycle.Cause{Reason: reason}, Details: c.Message}
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			w := s.State.Waiting
			if w == nil || stages[w.Reason] {
				continue
			}
			reason, ok := waitingReasons[w.Reason]
			if !ok {
				reason = lifecycle.ReasonContainerStart
			}
			return lifecycle.Wait{Cause: lifecycle.Cause{Reason: reason, Message: "container " + s.Name}, Details: kubeletMessage(w)}
		}
	}
	return lifecycle.Wait{}
}

// kubeletMessage returns the kubelet's message without the changing prefix of a back-off.
func kubeletMessage(w *corev1.ContainerStateWaiting) string {
	_, text, backsOff := strings.Cut(w.Message, ": ErrImagePull: ")
	switch {
	case backsOff:
		return text
	case w.Message == "":
		return w.Reason
	}
	return w.Message
}

func executorOf(pod *corev1.Pod) lifecycle.Executor {
	e := lifecycle.Executor{Name: pod.Name, State: lifecycle.ExecutorPending, Ready: podReady(pod)}
	if s := sparkStatus(pod, spark.ExecutorContainerName); s != nil && s.State.Terminated != nil {
		t := s.State.Terminated
		switch e.State = lifecycle.ExecutorSucceeded; {
		case t.ExitCode == 0:
		case stopped(pod, t):
			e.State = lifecycle.ExecutorLost
		default:
			e.State, e.ExitCode, e.Reason = lifecycle.ExecutorFailed, ptr.To(t.ExitCode), t.Reason // a pointer into the status would keep the whole status in memory
		}
		return e
	}
	switch pod.Status.Phase {
	case corev1.PodRunning:
		e.State = lifecycle.ExecutorRunning
	case corev1.PodSucceeded:
		e.State = lifecycle.ExecutorSucceeded
	case corev1.PodFailed:
		e.State, e.Reason = lifecycle.ExecutorFailed, pod.Status.Reason
	case corev1.PodPending, corev1.PodUnknown:
	}
	return e
}

// clockSkew bounds the difference between two clocks, in whole seconds. The kubelet's clock gives the end of a container, and the API server's the deletion of
// its pod.
const clockSkew = 2 * time.Second

// stopped reports whether a container ended because its pod was deleted. A driver deletes unneeded executors, and all of them at its end. Their exit codes are
// then no failures.
func stopped(pod *corev1.Pod, t *corev1.ContainerStateTerminated) bool {
	if pod.DeletionTimestamp == nil || t.FinishedAt.IsZero() || t.Reason == "OOMKilled" {
		return false
	}
	// the deletion timestamp is the end of the grace period
	grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
	return !t.FinishedAt.Time.Before(pod.DeletionTimestamp.Add(-grace - clockSkew))
}

// SparkContainer returns the name of the Spark container of a driver or executor pod.
func SparkContainer(pod *corev1.Pod) string {
	switch c := sparkContainer(pod); {
	case c != nil:
		return c.Name
	case pod.Labels[spark.LabelRole] == spark.RoleExecutor:
		return spark.ExecutorContainerName
	}
	return spark.DriverContainerName
}

// keptConditions returns the conditions of a driver that the operator reads.
func keptConditions(all []corev1.PodCondition) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for _, c := range all {
		if c.Type == corev1.PodScheduled || c.Type == corev1.DisruptionTarget || c.Type == corev1.PodReady {
			kept = append(kept, c)
		}
	}
	return kept
}

// IndexByApp returns the index function of IndexApp. labels are the families' labels with an application's name.
func IndexByApp(labels ...string) client.IndexerFunc {
	return func(o client.Object) []string {
		var found []string
		for _, label := range labels {
			if app := o.GetLabels()[label]; app != "" {
				found = append(found, indexValue(label, app))
			}
		}
		return found
	}
}

// indexValue distinguishes applications of the same name in two families.
func indexValue(label, app string) string { return label + "=" + app }

// uiPort returns the UI's port of Spark's container; 0 for none.
func uiPort(pod *corev1.Pod) int32 {
	if c := sparkContainer(pod); c != nil {
		for _, p := range c.Ports {
			if p.Name == spark.PortUI {
				return p.ContainerPort
			}
		}
	}
	return 0
}

// tokenSecret returns the Secret that gives Spark's container a server's token; "" for none.
func tokenSecret(pod *corev1.Pod) string {
	if c := sparkContainer(pod); c != nil {
		if ref := spark.TokenSecretOf(c); ref != nil {
			return ref.Name
		}
	}
	return ""
}
