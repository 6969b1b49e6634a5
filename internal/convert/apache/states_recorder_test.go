// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
)

// This file does what the recorder of the cases did.

// executors makes exactly so many executors ready.
func (w *world) executors(ready int) {
	w.t.Helper()
	driver := w.driver()
	for i := range 3 {
		pod := &corev1.Pod{}
		key := types.NamespacedName{Namespace: w.r.namespace, Name: fmt.Sprintf("%s-exec-%d", w.r.app.Name, i+1)}
		if err := w.client.Get(w.t.Context(), key, pod); err != nil {
			if i >= ready {
				continue
			}
			pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: key.Name, Namespace: key.Namespace, Labels: maps.Clone(driver.Labels),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)}},
			}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-kubernetes-executor"}}}}
			pod.Labels["spark-role"], pod.Labels["spark-exec-id"] = "executor", strconv.Itoa(i+1)
			if err := w.client.Create(w.t.Context(), pod); err != nil {
				w.t.Fatal(err)
			}
		}
		w.say(pod, w.status(pod, recordedStep{Status: map[bool]string{true: "ready", false: "started"}[i < ready]}))
	}
}

// status is that of a pod as the recorder set it.
func (w *world) status(pod *corev1.Pod, s recordedStep) corev1.PodStatus {
	w.t.Helper()
	now := metav1.NewTime(w.clock.Now())
	code := int32(1)
	if s.ExitCode != nil {
		code = *s.ExitCode
	}
	running := func(name string, ready bool) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}
	}
	ended := func(name string, code int32) corev1.ContainerStatus {
		reason := "Error"
		if code == 0 {
			reason = "Completed"
		}
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: now, FinishedAt: now}}}
	}
	ready := func(phase corev1.PodPhase, ready corev1.ConditionStatus, each func(string) corev1.ContainerStatus) corev1.PodStatus {
		status := corev1.PodStatus{Phase: phase, StartTime: &now, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}}}
		for i := range pod.Spec.Containers {
			status.ContainerStatuses = append(status.ContainerStatuses, each(pod.Spec.Containers[i].Name))
		}
		return status
	}
	here := func(name string) bool { return s.Container == "" || name == s.Container }
	switch s.Status {
	case "pending":
		return corev1.PodStatus{Phase: corev1.PodPending}
	case "started":
		return ready(corev1.PodRunning, corev1.ConditionFalse, func(n string) corev1.ContainerStatus { return running(n, true) })
	case "ready":
		return ready(corev1.PodRunning, corev1.ConditionTrue, func(n string) corev1.ContainerStatus { return running(n, true) })
	case "ready-only":
		return ready(corev1.PodRunning, corev1.ConditionFalse, func(n string) corev1.ContainerStatus { return running(n, here(n)) })
	case "succeeded":
		return ready(corev1.PodSucceeded, corev1.ConditionFalse, func(n string) corev1.ContainerStatus { return ended(n, 0) })
	case "failed":
		return ready(corev1.PodFailed, corev1.ConditionFalse, func(n string) corev1.ContainerStatus {
			if here(n) {
				return ended(n, code)
			}
			return ended(n, 0)
		})
	case "terminated":
		return ready(corev1.PodRunning, corev1.ConditionFalse, func(n string) corev1.ContainerStatus {
			if here(n) {
				return ended(n, code)
			}
			return running(n, true)
		})
	case "evicted":
		status := corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory.", StartTime: &now}
		if s.Statuses == nil || *s.Statuses {
			status.ContainerStatuses = ready(corev1.PodFailed, corev1.ConditionFalse, func(n string) corev1.ContainerStatus { return ended(n, 137) }).ContainerStatuses
		}
		return status
	case "init-failed":
		status := ready(corev1.PodPending, corev1.ConditionFalse, func(n string) corev1.ContainerStatus {
			return corev1.ContainerStatus{Name: n, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}
		})
		for i := range pod.Spec.InitContainers {
			status.InitContainerStatuses = append(status.InitContainerStatuses, ended(pod.Spec.InitContainers[i].Name, code))
		}
		return status
	}
	w.t.Fatalf("%q: not a status of the recorder", s.Status)
	return corev1.PodStatus{}
}

// recordedStep is a step of a case.
type recordedStep struct {
	Do, State, Status, Container string
	Count, Ready                 int
	Timeout, Seconds             float64
	ExitCode                     *int32
	Statuses                     *bool
	Delete                       bool
	Object                       json.RawMessage
}

// play makes one step. It reports a state that does not come.
func (w *world) play(s recordedStep) {
	w.t.Helper()
	seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	switch s.Do {
	case "wait":
		if !w.wait(s.State, s.Count, seconds(s.Timeout)) {
			w.t.Logf("%s did not come: %s", s.State, strings.Join(w.sequence(), " "))
		}
	case "sleep":
		w.pass(seconds(s.Seconds))
	case "snapshot":
	case "driver":
		pod := w.driver()
		switch {
		case pod == nil:
			w.t.Log("there is no driver")
		case s.Delete:
			if err := w.client.Delete(w.t.Context(), pod); err != nil {
				w.t.Fatal(err)
			}
		default:
			w.say(pod, w.status(pod, s))
		}
	case "executors":
		w.executors(s.Ready)
	case "operator":
		w.restart()
	case "patch":
		patch := client.RawPatch(types.MergePatchType, s.Object)
		if err := w.client.Patch(w.t.Context(), &v1.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.r.namespace, Name: w.r.app.Name}}, patch); err != nil {
			w.t.Fatal(err)
		}
	case "delete":
		app := &v1.SparkApplication{}
		if err := w.client.Get(w.t.Context(), w.key(), app); err != nil {
			w.t.Fatal(err)
		}
		if err := w.client.Delete(w.t.Context(), app); err != nil {
			w.t.Fatal(err)
		}
	case "waitgone":
		w.pass(5 * time.Second)
	case "create":
	default:
		w.t.Fatalf("%q: not a step of the recorder", s.Do)
	}
}
