// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// standaloneCluster : master and workers wait together for their room, beside the applications of the other family, and are one group. Suspended or
// deleted the cluster holds nothing, and an edit of the number of workers leaves the master alone.
func standaloneCluster(w *Harness) {
	w.makePlace(1)
	w.apache = true
	w.start()
	first := w.create("first")
	w.runs(first, 1)
	o := w.cluster("pi")
	must(w, "create the cluster", w.Client.Create(w.Context(), o))
	w.apacheWaits(o, w.Full...)
	w.completes(first)
	w.clusterRuns(o, apache.RoleMaster, apache.RoleWorker)
	one := w.apacheGroups(o)
	w.sameScheduler(o)

	w.editCluster(o, func(o *v1.SparkCluster) { o.Spec.Suspend = true })
	w.apacheHoldsNothing(o)
	second := w.create("second")
	w.runs(second, 1)
	w.editCluster(o, func(o *v1.SparkCluster) { o.Spec.Suspend = false })
	w.apacheWaits(o, w.Full...)
	w.completes(second)
	w.clusterRuns(o, apache.RoleMaster, apache.RoleWorker)
	if two := w.apacheGroups(o); len(one) > 0 && one[0].GetUID() == two[0].GetUID() {
		w.Errorf("the second start is in the group of the first, %s", one[0].GetName())
	}

	master := w.masterOf(o)
	w.editCluster(o, func(o *v1.SparkCluster) { o.Spec.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{} })
	w.clusterRuns(o, apache.RoleMaster)
	if now := w.masterOf(o); now != master {
		w.Errorf("the master was made again when the number of workers was edited: it was %s, and is %s", master, now)
	}

	must(w, "delete the cluster", w.Client.Delete(w.Context(), o))
	w.apacheHoldsNothing(o)
	third := w.create("third")
	w.runs(third, 1)
	w.completes(third)
}

// cluster returns one with a worker, of the size of a standard application.
func (w *Harness) cluster(name string) *v1.SparkCluster {
	o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	o.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	o.Spec.SparkConf = map[string]string{spark.ConfImage: "spark:4.1.4"}
	if name := w.plugin(w).Describe().SchedulerName; name != "" {
		o.Spec.SparkConf[spark.ConfSchedulerName] = name
	}
	o.Spec.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: 1, MinWorkers: 1, MaxWorkers: 1}
	objects := func(container string) v1.RoleObjects {
		pod := w.placedPod()
		half := corev1.ResourceList{corev1.ResourceCPU: quantity("1"), corev1.ResourceMemory: quantity("896Mi")}
		pod.Spec.Containers = []corev1.Container{{Name: container, Resources: corev1.ResourceRequirements{Requests: half,
			Limits: corev1.ResourceList{corev1.ResourceMemory: quantity("896Mi")}}}}
		return v1.RoleObjects{StatefulSetSpec: &appsv1.StatefulSetSpec{Template: *pod}}
	}
	o.Spec.MasterSpec = &v1.MasterSpec{RoleObjects: objects(apache.RoleMaster)}
	o.Spec.WorkerSpec = &v1.WorkerSpec{RoleObjects: objects(apache.RoleWorker)}
	return o
}

func (w *Harness) editCluster(o *v1.SparkCluster, edit func(*v1.SparkCluster)) {
	w.Helper()
	w.eventually("change "+o.Name, func() error {
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		edit(o)
		return w.Client.Update(w.Context(), o)
	})
}

// clusterRuns waits for a pod of each role to run, and for nothing else to be there.
func (w *Harness) clusterRuns(o *v1.SparkCluster, roles ...string) {
	w.Helper()
	w.eventually(o.Name+" runs", func() error { return w.apacheHasRoles(o, roles...) })
}

// masterOf is the UID of the master's pod.
func (w *Harness) masterOf(o *v1.SparkCluster) string {
	w.Helper()
	for _, pod := range w.apachePods(o) {
		if pod.Labels[spark.LabelRole] == apache.RoleMaster {
			return string(pod.UID)
		}
	}
	w.Errorf("%s has no master", o.Name)
	return ""
}
