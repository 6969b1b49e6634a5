// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

func (w *Harness) inState(a *app, states ...v1beta2.ApplicationStateType) func() error {
	return func() error {
		current, err := w.get(a)
		if err != nil {
			return err
		}
		if state := current.Status.AppState.State; !slices.Contains(states, state) {
			return fmt.Errorf("%s is in state %q, not one of %q; %s", a.Name, state, states, current.Status.AppState.ErrorMessage)
		}
		return nil
	}
}

// runs waits for the driver to run with as many executors.
func (w *Harness) runs(a *app, executors int) {
	w.Helper()
	w.eventually(a.Name+" runs", func() error {
		if err := w.inState(a, v1beta2.ApplicationStateRunning)(); err != nil {
			return err
		}
		return w.hasRunning(a, executors)
	})
}

// hasRunning returns an error unless that many executors of the application run.
func (w *Harness) hasRunning(a *app, executors int) error {
	w.Helper()
	running := 0
	for _, pod := range w.pods(a, spark.RoleExecutor) {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			running++
		}
	}
	if running != executors {
		return fmt.Errorf("%s has %d running executors, not %d", a.Name, running, executors)
	}
	return nil
}

// waits waits until the application reports one of the reasons, and returns the message. Applications of some schedulers wait
// with a driver pod without a node.
func (w *Harness) waits(a *app, reasons ...scheduler.Reason) string {
	w.Helper()
	var message string
	w.eventually(a.Name+" waits", func() error {
		reason, text, err := w.waiting(a)
		if err == nil && !slices.Contains(reasons, reason) {
			err = fmt.Errorf("%s waits for %q (%s), not for one of %q", a.Name, reason, text, reasons)
		}
		message = text
		return err
	})
	return message
}

// waiting returns the reason and the message of the application's wait, and an error if it does not wait.
func (w *Harness) waiting(a *app) (scheduler.Reason, string, error) {
	current, err := w.get(a)
	if err != nil {
		return "", "", err
	}
	switch state := current.Status.AppState.State; state {
	case stateNew, stateSubmitted, stateRerun, stateResuming:
	default:
		return "", "", fmt.Errorf("%s does not wait: %s", a.Name, state)
	}
	if s := current.Status.Scheduling; s != nil && s.Reason != "" {
		return scheduler.Reason(s.Reason), s.Message, nil
	}
	for _, kind := range []string{"Admitted", "DriverReady"} {
		if c := meta.FindStatusCondition(current.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
			return scheduler.Reason(c.Reason), c.Message, nil
		}
	}
	return "", "", fmt.Errorf("%s does not say yet why it waits", a.Name)
}

// fails waits until the application has failed for the reason, and returns the sentence.
func (w *Harness) fails(a *app, reason scheduler.Reason) string {
	w.Helper()
	w.eventually(a.Name+" fails", w.inState(a, v1beta2.ApplicationStateFailed))
	current, err := w.get(a)
	must(w, "read "+a.Name, err)
	c := meta.FindStatusCondition(current.Status.Conditions, "Stalled")
	if c == nil || c.Reason != string(reason) {
		w.Fatalf("%s failed, but not with %s: %+v", a.Name, reason, c)
	}
	return c.Message
}

// pods returns the application's pods of one role that are there.
func (w *Harness) pods(a *app, role string) []corev1.Pod {
	w.Helper()
	var pods corev1.PodList
	must(w, "list pods", w.Client.List(w.Context(), &pods, client.InNamespace(a.Namespace),
		client.MatchingLabels{v1beta2.LabelAppName: a.Name, spark.LabelRole: role}))
	return pods.Items
}

// driver returns the driver's pod.
func (w *Harness) driver(a *app) *corev1.Pod {
	w.Helper()
	pods := w.pods(a, spark.RoleDriver)
	if len(pods) != 1 {
		w.Fatalf("%s has %d drivers", a.Name, len(pods))
	}
	return &pods[0]
}

// end lets the driver's container end.
func (w *Harness) end(a *app, exitCode int32) {
	w.Helper()
	w.endPod(a.Namespace, w.driver(a).Name, exitCode)
}

// endPod lets the containers of a driver end.
func (w *Harness) endPod(namespace, name string, exitCode int32) {
	w.Helper()
	phase := corev1.PodSucceeded
	if exitCode != 0 {
		phase = corev1.PodFailed
	}
	w.eventually("end "+name, func() error {
		var pod corev1.Pod
		if err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &pod); err != nil {
			return err
		}
		pod.Status.Phase = phase
		for i := range pod.Status.ContainerStatuses {
			pod.Status.ContainerStatuses[i].Ready = false
			pod.Status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exitCode, Reason: "Ended"}}
		}
		return w.Client.Status().Update(w.Context(), &pod)
	})
}

// completes lets the application end well.
func (w *Harness) completes(a *app) {
	w.Helper()
	w.end(a, 0)
	w.eventually(a.Name+" completes", w.inState(a, v1beta2.ApplicationStateCompleted))
}

// owned returns the objects of the kinds that the plugin owns.
func (w *Harness) owned(ctx context.Context, namespace string) []unstructured.Unstructured {
	var all []unstructured.Unstructured
	for _, kind := range w.plugin(w).Describe().Owns {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := w.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
				w.Errorf("list %s: %v", kind.Kind, err)
			}
			continue
		}
		all = append(all, list.Items...)
	}
	return all
}

// ownedBy returns the plugin's objects of an application.
func (w *Harness) ownedBy(a *app) []unstructured.Unstructured {
	return slices.DeleteFunc(w.owned(w.Context(), a.Namespace), func(o unstructured.Unstructured) bool {
		return o.GetLabels()[v1beta2.LabelAppName] != a.Name || o.GetDeletionTimestamp() != nil
	})
}

// nestedNumber reads the required number of members of a group.
func nestedNumber(o *unstructured.Unstructured) (int64, bool, error) {
	return unstructured.NestedInt64(o.Object, "spec", "minMember")
}

// groups returns the names of the plugin's objects of an application.
func (w *Harness) groups(a *app) []string {
	var names []string
	for _, o := range w.ownedBy(a) {
		names = append(names, o.GetName())
	}
	slices.Sort(names)
	return names
}

// hasGroups waits until the application has one object of the plugin, if wanted and if the plugin has any; none otherwise.
func (w *Harness) hasGroups(a *app, wanted bool) []string {
	w.Helper()
	number := 0
	if wanted && len(w.plugin(w).Describe().Owns) > 0 {
		number = 1
	}
	var names []string
	w.eventually("objects of the scheduler", func() error {
		if names = w.groups(a); len(names) != number {
			return fmt.Errorf("%s has the objects %v, and should have %d", a.Name, names, number)
		}
		return nil
	})
	return names
}

// gone waits until nothing is left of the application.
func (w *Harness) gone(a *app) {
	w.Helper()
	w.eventually(a.Name+" is gone", func() error {
		if _, err := w.get(a); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the application is there"), err)
		}
		if n := len(w.pods(a, spark.RoleDriver)) + len(w.pods(a, spark.RoleExecutor)); n > 0 {
			return fmt.Errorf("%d pods are left", n)
		}
		if names := w.groups(a); len(names) > 0 {
			return fmt.Errorf("%v are left", names)
		}
		return nil
	})
}

// submittedTwice waits for the second attempt.
func (w *Harness) submittedTwice(a *app) {
	w.Helper()
	w.eventually("the next attempt of "+a.Name, func() error {
		current, err := w.get(a)
		if err == nil && current.Status.ExecutionAttempts != 2 {
			err = fmt.Errorf("%d attempts so far", current.Status.ExecutionAttempts)
		}
		return err
	})
}

func (w *Harness) delete(a *app) {
	w.Helper()
	must(w, "delete "+a.Name, w.Client.Delete(w.Context(), a))
}
