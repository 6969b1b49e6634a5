// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

type apacheApp = v1.SparkApplication

// otherFamily : an application of spark.apache.org has no field for a scheduler. The one that its pods name, or the operator's, makes it wait
// for its room beside those of the first family, sizes it, and follows it from attempt to attempt. Suspended it holds nothing.
func otherFamily(w *Harness) {
	w.makePlace(1)
	w.apache = true
	w.start()
	first := w.create("first")
	w.runs(first, 1)
	o := w.apacheApplication("pi")
	must(w, "create the application", w.Client.Create(w.Context(), o))
	w.apacheWaits(o, w.Full...)
	w.completes(first)
	w.apacheRuns(o, "pi-0-driver")
	one := w.apacheGroups(o)
	w.sameScheduler(o)

	w.endPod(o.Namespace, "pi-0-driver", 1)
	w.apacheRuns(o, "pi-1-driver")
	if two := w.apacheGroups(o); len(one) > 0 && one[0].GetUID() == two[0].GetUID() {
		w.Errorf("the second attempt is in the group of the first, %s", one[0].GetName())
	}

	w.editApache(o, func(o *apacheApp) { o.Spec.Suspend = true })
	w.apacheHoldsNothing(o)
	second := w.create("second")
	w.runs(second, 1)
	w.editApache(o, func(o *apacheApp) { o.Spec.Suspend = false })
	w.apacheWaits(o, w.Full...)
	w.completes(second)
	w.eventually(o.Name+" runs again", func() error { return w.apacheHasRoles(o, spark.RoleDriver, spark.RoleExecutor) })

	must(w, "delete the application", w.Client.Delete(w.Context(), o))
	w.apacheHoldsNothing(o)
	third := w.create("third")
	w.runs(third, 1)
	w.completes(third)
}

// apacheApplication returns a standard one, of the size of a standard application of the first family.
func (w *Harness) apacheApplication(name string) *apacheApp {
	o := &apacheApp{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	o.Spec.RuntimeVersions.SparkVersion, o.Spec.MainClass, o.Spec.Jars = "4.1.4", "org.example.Job", "local:///job.jar"
	o.Spec.SparkConf = map[string]string{
		"spark.kubernetes.container.image": "spark:4.1.4", "spark.executor.instances": "1",
		"spark.driver.memory": "512m", "spark.executor.memory": "512m",
	}
	o.Spec.ApplicationTolerations = &v1.ApplicationTolerations{RestartConfig: &v1.RestartConfig{RestartPolicy: v1.RestartOnFailure,
		MaxRestartAttempts: ptr.To[int64](1), RestartBackoffMillis: new(int64)}}
	o.Spec.DriverSpec, o.Spec.ExecutorSpec = &v1.RoleSpec{PodTemplateSpec: w.placedPod()}, &v1.RoleSpec{PodTemplateSpec: w.placedPod()}
	return o
}

// placedPod is a template of pods that belong into the place of the case: they name its scheduler and its queue.
func (w *Harness) placedPod() *corev1.PodTemplateSpec {
	pod := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: w.place.NodeSelector, Tolerations: w.place.Tolerations, SchedulerName: w.plugin(w).Describe().SchedulerName,
	}}
	if mark := map[string]string{w.QueueMark.Key: w.place.Queue}; w.place.Queue != "" && w.QueueMark.Part == scheduler.PodLabel {
		pod.Labels = mark
	} else if w.place.Queue != "" {
		pod.Annotations = mark
	}
	return pod
}

func (w *Harness) editApache(o *apacheApp, edit func(*apacheApp)) {
	w.Helper()
	w.eventually("change "+o.Name, func() error {
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		edit(o)
		return w.Client.Update(w.Context(), o)
	})
}

// apachePods returns the pods that stay of an application or a cluster.
func (w *Harness) apachePods(o client.Object) []corev1.Pod {
	w.Helper()
	label := v1.LabelAppName
	if _, cluster := o.(*v1.SparkCluster); cluster {
		label = v1.LabelClusterName
	}
	var pods corev1.PodList
	must(w, "list pods", w.Client.List(w.Context(), &pods, client.InNamespace(o.GetNamespace()), client.MatchingLabels{label: o.GetName()}))
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// apacheRuns waits for a driver and its executor to run, and for nothing else to be there.
func (w *Harness) apacheRuns(o *apacheApp, driver string) {
	w.Helper()
	w.eventually(driver+" runs", func() error {
		if err := w.apacheHasRoles(o, spark.RoleDriver, spark.RoleExecutor); err != nil {
			return err
		}
		var pod corev1.Pod
		return w.Client.Get(w.Context(), client.ObjectKey{Namespace: o.Namespace, Name: driver}, &pod)
	})
}

// apacheHasRoles reports whether a pod of each role runs, and nothing else is there.
func (w *Harness) apacheHasRoles(o client.Object, roles ...string) error {
	running := map[string]int{}
	pods := w.apachePods(o)
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodRunning {
			running[pods[i].Labels[spark.LabelRole]]++
		}
	}
	if len(pods) != len(roles) || slices.ContainsFunc(roles, func(role string) bool { return running[role] != 1 }) {
		return fmt.Errorf("%d pods, of which run %v", len(pods), running)
	}
	return nil
}

// sameScheduler judges that both roles go where those of the first family go.
func (w *Harness) sameScheduler(o client.Object) {
	w.Helper()
	want := w.plugin(w).Describe().SchedulerName
	for _, pod := range w.apachePods(o) {
		if want != "" && pod.Spec.SchedulerName != want {
			w.Errorf("%s has the scheduler %q, want %q", pod.Name, pod.Spec.SchedulerName, want)
		}
	}
}

// apacheWaits waits until the application or cluster says that it waits for one of the reasons.
func (w *Harness) apacheWaits(o client.Object, reasons ...scheduler.Reason) {
	w.Helper()
	w.eventually(o.GetName()+" waits", func() error {
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		var conditions []metav1.Condition
		switch o := o.(type) {
		case *apacheApp:
			conditions = o.Status.Conditions
		case *v1.SparkCluster:
			conditions = o.Status.Conditions
		}
		var said []string
		for _, c := range conditions {
			if c.Status == metav1.ConditionFalse && slices.Contains(reasons, scheduler.Reason(c.Reason)) {
				return nil
			}
			said = append(said, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
		return fmt.Errorf("it says %q, and not one of %q", said, reasons)
	})
}

// apacheGroups waits until the plugin has one object for the application, if it has any at all, and returns it.
func (w *Harness) apacheGroups(o client.Object) []unstructured.Unstructured {
	w.Helper()
	number := min(1, len(w.plugin(w).Describe().Owns))
	var groups []unstructured.Unstructured
	w.eventually("objects of the scheduler", func() error {
		if groups = w.ownedByApache(o); len(groups) != number {
			return fmt.Errorf("%s has %d objects, and should have %d", o.GetName(), len(groups), number)
		}
		return nil
	})
	return groups
}

func (w *Harness) ownedByApache(o client.Object) []unstructured.Unstructured {
	return slices.DeleteFunc(w.owned(w.Context(), o.GetNamespace()), func(group unstructured.Unstructured) bool {
		return group.GetDeletionTimestamp() != nil || !slices.ContainsFunc(group.GetOwnerReferences(),
			func(r metav1.OwnerReference) bool { return r.UID == o.GetUID() })
	})
}

// apacheHoldsNothing waits until the application or cluster has no pods, and its scheduler no objects.
func (w *Harness) apacheHoldsNothing(o client.Object) {
	w.Helper()
	w.eventually("what "+o.GetName()+" holds", func() error {
		if pods, groups := len(w.apachePods(o)), len(w.ownedByApache(o)); pods+groups > 0 {
			return fmt.Errorf("%d pods and %d objects of the scheduler are left", pods, groups)
		}
		return nil
	})
}
