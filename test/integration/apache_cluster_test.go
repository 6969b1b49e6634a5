// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func newCluster(namespace string) *v1.SparkCluster {
	o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pi"}}
	o.Spec.RuntimeVersions.SparkVersion = testutil.SparkVersion
	o.Spec.SparkConf = map[string]string{"spark.kubernetes.container.image": "spark:{{SPARK_VERSION}}"}
	o.Spec.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: 2, MinWorkers: 1, MaxWorkers: 1}
	return o
}

func (w *twoFamilies) editCluster(ctx context.Context, o *v1.SparkCluster, edit func(*v1.SparkClusterSpec)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := w.c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		edit(&o.Spec)
		return w.c.Update(ctx, o)
	}, wait, poll).Should(Succeed())
}

func (w *twoFamilies) clusterStates(ctx context.Context, o *v1.SparkCluster) func() []string {
	return func() []string {
		Expect(w.c.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		return testutil.ApacheClusterStates(&o.Status)
	}
}

// clusterParts are the kinds and names of what there is of clusters.
func (w *twoFamilies) clusterParts(ctx context.Context, ns string) func() []string {
	return func() []string {
		var names []string
		for kind, list := range map[string]client.ObjectList{
			"Service": &corev1.ServiceList{}, "StatefulSet": &appsv1.StatefulSetList{}, "NetworkPolicy": &networkingv1.NetworkPolicyList{},
			"HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscalerList{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{},
		} {
			Expect(w.c.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			items, err := meta.ExtractList(list)
			Expect(err).NotTo(HaveOccurred())
			for _, o := range items {
				names = append(names, kind+" "+o.(client.Object).GetName())
			}
		}
		slices.Sort(names)
		return names
	}
}

func (w *twoFamilies) workers(ctx context.Context, ns string) *appsv1.StatefulSet {
	GinkgoHelper()
	var set appsv1.StatefulSet
	Expect(w.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "pi-worker"}, &set)).To(Succeed())
	return &set
}

func (w *twoFamilies) runsCluster(ctx context.Context, ns string) {
	GinkgoHelper()
	services := []string{"NetworkPolicy pi-worker", "PodDisruptionBudget pi-worker-pdb", "Service pi-master-svc", "Service pi-worker-svc"}
	all := append(services, "StatefulSet pi-master", "StatefulSet pi-worker")
	o := newCluster(ns)
	Expect(w.c.Create(ctx, o)).To(Succeed())
	Eventually(w.clusterStates(ctx, o), wait, poll).Should(Equal([]string{"Submitted", "RunningHealthy"}))
	Expect(w.clusterParts(ctx, ns)()).To(Equal(all))
	set := w.workers(ctx, ns)
	Expect(set.OwnerReferences).To(ConsistOf(metav1.OwnerReference{APIVersion: "spark.apache.org/v1", Kind: "SparkCluster", Name: "pi", UID: o.UID, BlockOwnerDeletion: new(true)}))
	Expect(set.Spec.Template.Spec.Containers[0].Image).To(Equal("spark:" + testutil.SparkVersion))

	By("telling how many pods are ready")
	for name, n := range map[string]int32{"pi-master": 1, "pi-worker": 2} {
		Expect(w.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, set)).To(Succeed())
		set.Status = appsv1.StatefulSetStatus{Replicas: n, ReadyReplicas: n, UpdatedReplicas: n}
		Expect(w.c.Status().Update(ctx, set)).To(Succeed())
	}
	Eventually(func() bool {
		w.clusterStates(ctx, o)()
		return meta.IsStatusConditionTrue(o.Status.Conditions, "Ready")
	}, wait, poll).Should(BeTrue())

	By("bringing back what is deleted or edited beside the spec")
	before := w.workers(ctx, ns)
	Expect(w.c.Delete(ctx, before)).To(Succeed())
	Eventually(func() error { return w.c.Get(ctx, client.ObjectKeyFromObject(before), &appsv1.StatefulSet{}) }, wait, poll).Should(Succeed())
	set = w.workers(ctx, ns)
	Expect(set.UID).NotTo(Equal(before.UID))
	set.Spec.Template.Spec.Containers[0].Image = "another"
	Expect(w.c.Update(ctx, set)).To(Succeed())
	Eventually(func() string { return w.workers(ctx, ns).Spec.Template.Spec.Containers[0].Image }, wait, poll).Should(Equal("spark:" + testutil.SparkVersion))

	By("leaving the master alone when only workers are edited")
	var master, then appsv1.StatefulSet
	Expect(w.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "pi-master"}, &master)).To(Succeed())
	w.editCluster(ctx, o, func(s *v1.SparkClusterSpec) {
		s.SparkConf["spark.worker.cleanup.enabled"] = "true"
		s.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: 3, MinWorkers: 1, MaxWorkers: 5}
	})
	Eventually(w.clusterParts(ctx, ns), wait, poll).Should(ContainElement("HorizontalPodAutoscaler pi-worker-hpa"))
	Eventually(func() string { return w.workers(ctx, ns).Spec.Template.Spec.Containers[0].Env[1].Value }, wait, poll).Should(ContainSubstring("cleanup"))
	Expect(*w.workers(ctx, ns).Spec.Replicas).To(Equal(int32(2)), "the number is the autoscaler's now")
	Expect(w.c.Get(ctx, client.ObjectKeyFromObject(&master), &then)).To(Succeed())
	Expect(then.Generation).To(Equal(master.Generation))

	By("suspending it, and resuming it")
	w.editCluster(ctx, o, func(s *v1.SparkClusterSpec) { s.Suspend = true })
	Eventually(w.clusterStates(ctx, o), wait, poll).Should(Equal([]string{"Submitted", "RunningHealthy", "Suspended"}))
	Eventually(w.clusterParts(ctx, ns), wait, poll).Should(Equal([]string{"NetworkPolicy pi-worker", "Service pi-master-svc", "Service pi-worker-svc"}))
	w.editCluster(ctx, o, func(s *v1.SparkClusterSpec) { s.Suspend = false })
	Eventually(w.clusterStates(ctx, o), wait, poll).Should(Equal([]string{"Submitted", "RunningHealthy", "Suspended", "Submitted", "RunningHealthy"}))
	Expect(w.clusterParts(ctx, ns)()).To(Equal(append([]string{"HorizontalPodAutoscaler pi-worker-hpa"}, all...)))
	Expect(*w.workers(ctx, ns).Spec.Replicas).To(Equal(int32(3)))
}

// restsCluster has what the API server writes in another way than the user: nothing of it is taken for an edit.
func (w *twoFamilies) restsCluster(ctx context.Context, ns string) {
	GinkgoHelper()
	o := newCluster(ns)
	o.Spec.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: 1, MinWorkers: 1, MaxWorkers: 3}
	half := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.50"), corev1.ResourceMemory: resource.MustParse("1024Mi")}
	set := &appsv1.StatefulSetSpec{}
	set.Template.Spec = corev1.PodSpec{
		Volumes:        []corev1.Volume{{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, {Name: "conf", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "conf"}}}}},
		InitContainers: []corev1.Container{{Name: "init", Image: "init"}},
		Containers: []corev1.Container{{
			Name: "worker", Resources: corev1.ResourceRequirements{Requests: half, Limits: half},
			LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8081)}}},
			Env:           []corev1.EnvVar{{Name: "EMPTY"}, {Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
		}},
		Tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}},
	}
	set.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1024Mi")}},
	}}}
	o.Spec.WorkerSpec = &v1.WorkerSpec{RoleObjects: v1.RoleObjects{
		StatefulSetSpec: set, ServiceSpec: &corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "more", Port: 9000}}},
	}}
	Expect(w.c.Create(ctx, o)).To(Succeed())
	Eventually(w.clusterStates(ctx, o), wait, poll).Should(Equal([]string{"Submitted", "RunningHealthy"}))
	Eventually(func(g Gomega) { // the sets are seen in the step after the one that made them
		g.Expect(w.c.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		g.Expect(o.Status.Pods).To(Equal(&v1.ClusterPods{Master: v1.ClusterPodCount{Desired: 1}, Workers: v1.ClusterPodCount{Desired: 1}}))
	}, wait, poll).Should(Succeed())
	versions := func() map[string]string {
		all := map[string]string{}
		for _, object := range []client.Object{
			&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "pi-master"}}, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "pi-worker"}},
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "pi-master-svc"}}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "pi-worker-svc"}},
			&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "pi-worker"}}, &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "pi-worker-hpa"}},
			&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "pi-worker-pdb"}}, &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Name: "pi"}},
		} {
			Expect(w.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: object.GetName()}, object)).To(Succeed())
			all[fmt.Sprintf("%T %s", object, object.GetName())] = object.GetResourceVersion()
		}
		return all
	}
	rest := versions()
	Consistently(versions, 2*time.Second, poll).Should(Equal(rest), "nothing writes what is as it is wanted")
}

func (w *twoFamilies) refusesCluster(ctx context.Context, ns string) {
	GinkgoHelper()
	o := newCluster(ns)
	o.Spec.MasterSpec = &v1.MasterSpec{RoleObjects: v1.RoleObjects{ServiceSpec: &corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}}
	Expect(w.c.Create(ctx, o)).To(Succeed())
	Eventually(w.clusterStates(ctx, o), wait, poll).Should(Equal([]string{"Submitted", "SchedulingFailure", "ResourceReleased"}))
	Expect(o.Status.StateTransitionHistory["1"].Message).To(ContainSubstring("may not be set to 'None' for LoadBalancer"))
	Expect(w.clusterParts(ctx, ns)()).To(BeEmpty())

	By("trying again when it is corrected, as soon as the name is free")
	taken := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pi-worker-svc"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
	Expect(w.c.Create(ctx, taken)).To(Succeed())
	w.editCluster(ctx, o, func(s *v1.SparkClusterSpec) { s.MasterSpec = nil })
	Eventually(func() string {
		w.clusterStates(ctx, o)()
		return meta.FindStatusCondition(o.Status.Conditions, "Applied").Message
	}, wait, poll).Should(ContainSubstring("Service pi-worker-svc already exists and does not belong"))
	Expect(w.c.Delete(ctx, taken)).To(Succeed())
	Eventually(w.clusterStates(ctx, o), wait, poll).Should(HaveExactElements("Submitted", "SchedulingFailure", "ResourceReleased", "Submitted", "RunningHealthy"))

	By("letting go of one that Apache's operator had")
	Eventually(func() error {
		if err := w.c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		o.Finalizers = []string{v1.ClusterFinalizer}
		return w.c.Update(ctx, o)
	}, wait, poll).Should(Succeed())
	Expect(w.c.Delete(ctx, o)).To(Succeed())
	Eventually(func() bool { return apierrors.IsNotFound(w.c.Get(ctx, client.ObjectKeyFromObject(o), o)) }, wait, poll).Should(BeTrue())
}

// takesOverCluster continues a cluster that Apache's operator has started. Its health probe's label keeps ours away until all is there.
func (w *twoFamilies) takesOverCluster(ctx context.Context, ns string) {
	GinkgoHelper()
	o := newCluster(ns)
	o.Labels = map[string]string{v1.LabelSentinel: "true"}
	Expect(w.c.Create(ctx, o)).To(Succeed())
	labels := map[string]string{"spark.operator/name": "spark-kubernetes-operator", "spark.operator/spark-cluster-name": "pi", "spark-role": "worker"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pi-worker", Labels: labels, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "spark.apache.org/v1", Kind: "SparkCluster", Name: "pi", UID: o.UID, BlockOwnerDeletion: new(true)},
	}}}
	set.Spec.Replicas, set.Spec.PodManagementPolicy, set.Spec.ServiceName = new(int32(2)), appsv1.ParallelPodManagement, "pi-worker-svc"
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"spark-role": "worker"}}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "worker", Image: "spark:" + testutil.SparkVersion, Command: []string{"bash"}}}
	Expect(w.c.Create(ctx, set)).To(Succeed())
	state := v1.ClusterState{CurrentStateSummary: v1.ClusterRunningHealthy, LastTransitionTime: "2026-01-01T00:00:00.123Z"}
	o.Status = v1.SparkClusterStatus{CurrentState: &state, StateTransitionHistory: map[string]v1.ClusterState{"0": {CurrentStateSummary: v1.ClusterSubmitted}, "1": state}}
	Expect(w.c.Status().Update(ctx, o)).To(Succeed())
	o.Labels = nil
	Expect(w.c.Update(ctx, o)).To(Succeed())

	By("making what is missing, and leaving its workers alone")
	Eventually(w.clusterParts(ctx, ns), wait, poll).Should(ContainElements("StatefulSet pi-master", "Service pi-master-svc"))
	Expect(w.clusterStates(ctx, o)()).To(Equal([]string{"Submitted", "RunningHealthy"}))
	Expect(w.workers(ctx, ns).ResourceVersion).To(Equal(set.ResourceVersion))

	By("editing it")
	w.editCluster(ctx, o, func(s *v1.SparkClusterSpec) { s.ClusterTolerations.InstanceConfig.InitWorkers = 3 })
	Eventually(func() int32 { return *w.workers(ctx, ns).Spec.Replicas }, wait, poll).Should(Equal(int32(3)))
	Expect(w.workers(ctx, ns).UID).To(Equal(set.UID))
	Expect(w.workers(ctx, ns).Spec.Selector.MatchLabels).To(Equal(map[string]string{"spark-role": "worker"}), "it cannot be changed")
}
