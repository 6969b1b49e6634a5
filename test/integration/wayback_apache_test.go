// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

var (
	apacheApplications = v1.SchemeGroupVersion.WithKind("SparkApplication")
	apacheClusters     = v1.SchemeGroupVersion.WithKind("SparkCluster")
)

// likeApaches writes definitions as Apache's operator has them, to a folder. Theirs are in no Go module: they are ours without the fields of the
// status that theirs do not have. The spec has the same fields.
func likeApaches(folder string) string {
	GinkgoHelper()
	status := []string{"currentState", "stateTransitionHistory", "currentAttemptSummary", "previousAttemptSummary"}
	for _, name := range []string{"sparkapplications", "sparkclusters"} {
		text, err := os.ReadFile("../../config/crd/bases/spark.apache.org_" + name + ".yaml")
		Expect(err).NotTo(HaveOccurred())
		var crd map[string]any
		Expect(yaml.Unmarshal(text, &crd)).To(Succeed())
		versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
		Expect(err).NotTo(HaveOccurred())
		for _, version := range versions {
			fields, found, err := unstructured.NestedMap(version.(map[string]any), "schema", "openAPIV3Schema", "properties", "status", "properties")
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(BeTrue())
			maps.DeleteFunc(fields, func(field string, _ any) bool { return !slices.Contains(status, field) })
			Expect(fields).To(HaveLen(len(status)))
			theirs := map[string]any{"type": "object", "properties": fields}
			testutil.CloseSchema(theirs)
			Expect(unstructured.SetNestedMap(version.(map[string]any), theirs, "schema", "openAPIV3Schema", "properties", "status")).To(Succeed())
		}
		Expect(unstructured.SetNestedSlice(crd, versions, "spec", "versions")).To(Succeed())
		text, err = yaml.Marshal(crd)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(folder, name+".yaml"), text, 0o600)).To(Succeed())
	}
	return folder
}

// starts creates an application of Apache's kind, and lets the kubelet say something of its driver.
func (w *wayBack) startsApache(ctx context.Context, name, says string, how ...func(*v1.SparkApplicationSpec)) *corev1.Pod {
	GinkgoHelper()
	o := newApache(w.namespace)
	o.Name, o.Spec.DriverServiceIngressList, o.Spec.ConfigMapSpecs = name, nil, nil
	for _, change := range how {
		change(&o.Spec)
	}
	Expect(admin.Create(ctx, o)).To(Succeed())
	pod := driverPod(ctx, w.namespace, name+"-0-driver")
	reports(ctx, pod, "ready")
	Eventually(w.apacheState, wait, poll).WithArguments(ctx, apacheApplications, name).Should(Equal("RunningHealthy"))
	if says != "ready" {
		reports(ctx, driverPod(ctx, w.namespace, pod.Name), says)
	}
	return pod
}

func (w *wayBack) apacheState(ctx context.Context, kind schema.GroupVersionKind, name string) string {
	return nested(w.one(ctx, kind, name), "status", "currentState", "currentStateSummary")
}

// runsApaches has of Apache's kinds what there can be.
func (w *wayBack) runsApaches(ctx context.Context) {
	GinkgoHelper()
	w.startsApache(ctx, "runs", "ready")
	w.startsApache(ctx, "completed", "succeeded")
	w.startsApache(ctx, "restarts", "failed", func(s *v1.SparkApplicationSpec) {
		s.ApplicationTolerations = &v1.ApplicationTolerations{RestartConfig: &v1.RestartConfig{
			RestartPolicy: v1.RestartOnFailure, MaxRestartAttempts: new(int64(2)), RestartBackoffMillis: new(int64(3600000)),
		}}
	})
	stops := w.startsApache(ctx, "suspended", "ready")
	change(ctx, admin, w.namespace, "suspended", func(o *v1.SparkApplication) { o.Spec.Suspend = true })
	Eventually(gone(ctx, stops), wait, poll).Should(BeTrue())
	unborn := newApache(w.namespace)
	unborn.Name, unborn.Spec.Suspend = "suspended-new", true
	Expect(admin.Create(ctx, unborn)).To(Succeed())

	Expect(admin.Create(ctx, newCluster(w.namespace))).To(Succeed())
	Eventually(w.apacheState, wait, poll).WithArguments(ctx, apacheClusters, "pi").Should(Equal("RunningHealthy"))

	w.isFull(ctx)
	waits := newApache(w.namespace)
	waits.Name = "waits"
	Expect(admin.Create(ctx, waits)).To(Succeed())
}

// readsApache checks what Apache's operator reads of an application: the state is the last of a history that can be read, and the counters are there.
func (w *wayBack) readsApache(ctx context.Context, o *unstructured.Unstructured) {
	GinkgoHelper()
	history, _, err := unstructured.NestedMap(o.Object, "status", "stateTransitionHistory")
	Expect(err).NotTo(HaveOccurred())
	last := -1
	for key := range history {
		n, err := strconv.Atoi(key)
		Expect(err).NotTo(HaveOccurred(), "a key of the history")
		last = max(last, n)
	}
	current, _, err := unstructured.NestedMap(o.Object, "status", "currentState")
	Expect(err).NotTo(HaveOccurred())
	Expect(history[strconv.Itoa(last)]).To(Equal(any(current)), o.GetName())
	_, counted, err := unstructured.NestedMap(o.Object, "status", "currentAttemptSummary", "attemptInfo")
	Expect(err).NotTo(HaveOccurred())
	Expect(counted).To(BeTrue(), "the number of the attempt")

	// it writes what it has read, and one more state
	history[strconv.Itoa(last+1)] = current
	Expect(unstructured.SetNestedMap(o.Object, history, "status", "stateTransitionHistory")).To(Succeed())
	takesItsStatus(ctx, o)
}

// findsApachesDriver checks by what Apache's operator finds the driver, and what belongs to whom.
func (w *wayBack) findsApachesDriver(ctx context.Context, name string) {
	GinkgoHelper()
	app := w.one(ctx, apacheApplications, name)
	var pods corev1.PodList
	labels := client.MatchingLabels{"spark.operator/name": "spark-kubernetes-operator", "spark.operator/spark-app-name": name, "spark-role": "driver"}
	Expect(admin.List(ctx, &pods, client.InNamespace(w.namespace), labels)).To(Succeed())
	Expect(pods.Items).To(HaveLen(1))
	driver := &pods.Items[0]
	Expect(driver.Name).To(Equal(name + "-0-driver"))
	Expect(driver.OwnerReferences).To(ConsistOf(metav1.OwnerReference{APIVersion: "spark.apache.org/v1", Kind: "SparkApplication", Name: name, UID: app.GetUID(), BlockOwnerDeletion: new(true)}))
	for kind, of := range map[string]string{"Service": name + "-0-driver-svc", "ConfigMap": name + "-0-spark-drv-conf-map"} {
		o := w.one(ctx, schema.GroupVersionKind{Version: "v1", Kind: kind}, of)
		Expect(o.GetOwnerReferences()).To(ConsistOf(HaveField("UID", driver.UID)), "it goes with the driver: their operator deletes nothing else")
	}
}

var _ = Describe("Going back to Apache's operator", Ordered, func() {
	w := &wayBack{}
	left := map[string]string{
		"runs": "RunningHealthy", "completed": "ResourceReleased", "restarts": "ScheduledToRestart", "suspended": "Suspended", "suspended-new": "", "waits": "Submitted",
	}
	BeforeAll(func(ctx SpecContext) {
		w.begin(ctx, "DEFINITIONS", likeApaches(GinkgoT().TempDir()))
		DeferCleanup(func() { extraConfig = "" })
		restartOperator(func() { extraConfig = "apache: {enabled: true}\n" })
		w.runsApaches(ctx)
		for name, state := range left {
			Eventually(w.apacheState, wait, poll).WithArguments(ctx, apacheApplications, name).Should(Equal(state), name)
		}
		stopOperator()
		w.installs(ctx, "--set apache.enable=true")
	})

	It("stops Firesteel, and leaves everything as it is", func(ctx SpecContext) {
		w.follow(ctx, "docs/migrate-from-apache.md", "Stop Firesteel")
		w.follow(ctx, "docs/migrate-from-apache.md", "Remove Firesteel")
		w.leavesNothingBehind(ctx)
	})

	It("leaves what Apache's operator needs under its definitions", func(ctx SpecContext) {
		w.follow(ctx, "docs/migrate-from-apache.md", "Put Apache's definitions back")
		conditions := func() any {
			s, _, _ := unstructured.NestedMap(w.one(ctx, apacheApplications, "runs").Object, "status")
			return s
		}
		Eventually(conditions, wait, poll).ShouldNot(HaveKey("conditions"), "their definition is in force")
		for name, state := range left {
			o := w.one(ctx, apacheApplications, name)
			Expect(o.GetFinalizers()).To(BeEmpty(), "theirs sets its own when it sees it")
			if state == "" {
				Expect(o.Object["status"]).To(BeEmpty(), "held before its first attempt: theirs has no status for it")
				continue
			}
			Expect(nested(o, "status", "currentState", "currentStateSummary")).To(Equal(state), name)
			w.readsApache(ctx, o)
		}
		w.findsApachesDriver(ctx, "runs")
		Expect(w.one(ctx, apacheApplications, "restarts").Object["status"]).To(HaveKeyWithValue("currentAttemptSummary", HaveKeyWithValue("attemptInfo", And(
			HaveKeyWithValue("id", int64(1)), HaveKeyWithValue("restartCounter", int64(1)), HaveKeyWithValue("failureRestartCounter", int64(1))))))
		cluster := w.one(ctx, apacheClusters, "pi")
		Expect(nested(cluster, "status", "currentState", "currentStateSummary")).To(Equal("RunningHealthy"))
		w.readsApache(ctx, cluster)
		for kind, name := range map[string]string{"Service": "pi-master-svc", "StatefulSet": "pi-worker"} {
			group := map[string]string{"StatefulSet": "apps"}[kind]
			o := w.one(ctx, schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, name)
			Expect(o.GetOwnerReferences()).To(ConsistOf(HaveField("UID", cluster.GetUID())), "it goes with the cluster")
		}
	})

	It("holds nothing that is deleted", func(ctx SpecContext) { w.isHeldByNothing(ctx, apacheApplications, apacheClusters) })
})
