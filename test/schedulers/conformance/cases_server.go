// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

type connect = v1alpha1.SparkConnect

// server : a Spark Connect server waits for its room as an application does, and its pods are the scheduler's. Suspended it holds nothing.
func server(w *Harness) {
	w.startWithRoomFor(1)
	first := w.create("first")
	w.runs(first, 1)
	o := w.server("lab")
	must(w, "create the server", w.Client.Create(w.Context(), o))
	w.serverWaits(o, w.Full...)
	w.completes(first)
	w.serverRuns(o)
	w.serverHasGroups(o, true)
	pods := append(w.podsOf(o, spark.RoleServer), w.podsOf(o, spark.RoleExecutor)...)
	for i := range pods {
		if pods[i].Spec.SchedulerName != pods[0].Spec.SchedulerName {
			w.Errorf("%s has the scheduler %q, and %s has %q", pods[i].Name, pods[i].Spec.SchedulerName, pods[0].Name, pods[0].Spec.SchedulerName)
		}
	}

	w.editServer(o, func(o *connect) { o.Spec.Suspend = ptr.To(true) })
	w.serverHoldsNothing(o)
	second := w.create("second")
	w.runs(second, 1)
	w.editServer(o, func(o *connect) { o.Spec.Suspend = nil })
	w.serverWaits(o, w.Full...)
	w.completes(second)
	w.serverRuns(o)

	must(w, "delete the server", w.Client.Delete(w.Context(), o))
	w.serverHoldsNothing(o)
	third := w.create("third")
	w.runs(third, 1)
	w.completes(third)
}

// server returns a standard one, of the size of a standard application.
func (w *Harness) server(name string) *connect {
	o := &connect{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	place := corev1.PodSpec{NodeSelector: w.place.NodeSelector, Tolerations: w.place.Tolerations}
	pod := v1alpha1.SparkPodSpec{Cores: ptr.To[int32](1), Memory: ptr.To("512m"), Template: &corev1.PodTemplateSpec{Spec: place}}
	o.Spec = v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4", Image: ptr.To("spark:4.1.4"), BatchScheduler: &w.Scheduler}
	o.Spec.Server.SparkPodSpec, o.Spec.Executor.SparkPodSpec = pod, *pod.DeepCopy()
	o.Spec.Executor.Instances = ptr.To[int32](1)
	if w.place.Queue != "" {
		o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: &w.place.Queue}
	}
	return o
}

func (w *Harness) editServer(o *connect, edit func(*connect)) {
	w.Helper()
	w.eventually("change "+o.Name, func() error {
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		edit(o)
		return w.Client.Update(w.Context(), o)
	})
}

// podsOf returns a server's pods of one role that stay.
func (w *Harness) podsOf(o *connect, role string) []corev1.Pod {
	w.Helper()
	var pods corev1.PodList
	must(w, "list pods", w.Client.List(w.Context(), &pods, client.InNamespace(o.Namespace),
		client.MatchingLabels{v1alpha1.LabelConnectName: o.Name, spark.LabelRole: role}))
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// serverRuns waits for the server to run with its executor.
func (w *Harness) serverRuns(o *connect) {
	w.Helper()
	w.eventually(o.Name+" runs", func() error {
		for _, role := range []string{spark.RoleServer, spark.RoleExecutor} {
			pods := w.podsOf(o, role)
			if len(pods) != 1 || pods[0].Status.Phase != corev1.PodRunning {
				return fmt.Errorf("not one running pod of the role %s: %d pods", role, len(pods))
			}
		}
		return nil
	})
}

// serverWaits waits until the server says that it waits for one of the reasons.
func (w *Harness) serverWaits(o *connect, reasons ...scheduler.Reason) {
	w.Helper()
	w.eventually(o.Name+" waits", func() error {
		var current connect
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(o), &current); err != nil {
			return err
		}
		var said []scheduler.Reason
		if run := current.Status.Run; run != nil && run.Scheduling != nil {
			said = append(said, scheduler.Reason(run.Scheduling.Reason))
		}
		for _, kind := range []string{"Admitted", "DriverReady"} {
			if c := meta.FindStatusCondition(current.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
				said = append(said, scheduler.Reason(c.Reason))
			}
		}
		for _, r := range said {
			if slices.Contains(reasons, r) {
				return nil
			}
		}
		return fmt.Errorf("it says %q, and not one of %q", said, reasons)
	})
}

// serverHasGroups waits until the plugin has one object for the server, if it has any at all, or none.
func (w *Harness) serverHasGroups(o *connect, wanted bool) {
	w.Helper()
	number := 0
	if wanted && len(w.plugin(w).Describe().Owns) > 0 {
		number = 1
	}
	w.eventually("objects of the scheduler", func() error {
		n := 0
		for _, group := range w.owned(w.Context(), o.Namespace) {
			if group.GetLabels()[v1alpha1.LabelConnectName] == o.Name && group.GetDeletionTimestamp() == nil {
				n++
			}
		}
		if n != number {
			return fmt.Errorf("%s has %d objects, and should have %d", o.Name, n, number)
		}
		return nil
	})
}

// serverHoldsNothing waits until the server has no pods, and its scheduler no objects.
func (w *Harness) serverHoldsNothing(o *connect) {
	w.Helper()
	w.eventually("pods of "+o.Name, func() error {
		n := len(w.podsOf(o, spark.RoleServer)) + len(w.podsOf(o, spark.RoleExecutor))
		if n > 0 {
			return fmt.Errorf("%d are left", n)
		}
		return nil
	})
	w.serverHasGroups(o, false)
}
