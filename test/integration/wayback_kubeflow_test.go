// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/test/definitions"
)

var (
	kubeflowApplications = v1beta2.GroupVersion.WithKind("SparkApplication")
	kubeflowSchedules    = v1beta2.GroupVersion.WithKind("ScheduledSparkApplication")
	kubeflowServers      = v1alpha1.GroupVersion.WithKind("SparkConnect")
)

// startsOn creates an application and lets its driver run.
func (w *wayBack) startsOn(ctx context.Context, name string, how ...func(*v1beta2.SparkApplicationSpec)) *corev1.Pod {
	GinkgoHelper()
	o := sparkPi(w.namespace, name)
	for _, change := range how {
		change(&o.Spec)
	}
	Expect(admin.Create(ctx, o)).To(Succeed())
	return w.driverRuns(ctx, name)
}

func (w *wayBack) driverRuns(ctx context.Context, name string) *corev1.Pod {
	GinkgoHelper()
	pod := driverPod(ctx, w.namespace, name+"-driver")
	kubelet(ctx, pod, corev1.PodRunning, driverContainer, running())
	eventuallyState(ctx, w.namespace, name, v1beta2.ApplicationStateRunning)
	return pod
}

// hasExecutor creates the executor of a driver, as Spark does.
func hasExecutor(ctx context.Context, driver *corev1.Pod) {
	GinkgoHelper()
	labels := maps.Clone(driver.Labels)
	labels["spark-role"], labels["spark-exec-id"] = "executor", "1"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: driver.Namespace, Name: driver.Name + "-exec-1", Labels: labels, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)},
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-kubernetes-executor", Image: "spark"}}},
	}
	Expect(admin.Create(ctx, pod)).To(Succeed())
	kubelet(ctx, pod, corev1.PodRunning, "spark-kubernetes-executor", running())
}

// runsKubeflows has of Kubeflow's kinds what there can be.
func (w *wayBack) runsKubeflows(ctx context.Context) {
	GinkgoHelper()
	ns := w.namespace
	hasExecutor(ctx, w.startsOn(ctx, "runs"))
	Eventually(func() map[string]v1beta2.ExecutorState { return app(ctx, ns, "runs").Status.ExecutorState }, wait, poll).Should(HaveLen(1))
	retried, again := w.startsOn(ctx, "retries", retriesAfter(3600)), w.startsOn(ctx, "waits-again", retriesAfter(1))
	failed, completed := w.startsOn(ctx, "failed"), w.startsOn(ctx, "completed")
	kubelet(ctx, retried, corev1.PodFailed, driverContainer, exited(1, "Error"))
	kubelet(ctx, failed, corev1.PodFailed, driverContainer, exited(1, "Error"))
	kubelet(ctx, completed, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))

	stops := w.startsOn(ctx, "suspended")
	edit(ctx, ns, "suspended", func(s *v1beta2.SparkApplicationSpec) { s.Suspend = new(true) })
	Eventually(gone(ctx, stops), wait, poll).Should(BeTrue())
	unborn := sparkPi(ns, "suspended-new")
	unborn.Spec.Suspend = new(true)
	Expect(admin.Create(ctx, unborn)).To(Succeed())
	w.hasOneField(ctx, unborn.Name)

	nightly := &v1beta2.ScheduledSparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nightly", Annotations: map[string]string{v1beta2.AnnotationTriggerAt: time.Now().UTC().Format(time.RFC3339)}},
		Spec:       v1beta2.ScheduledSparkApplicationSpec{Schedule: yearly, ConcurrencyPolicy: v1beta2.ConcurrencyForbid, Template: sparkPi(ns, "template").Spec},
	}
	Expect(admin.Create(ctx, nightly)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(nightly), nightly)).To(Succeed())
		g.Expect(nightly.Status.LastRunName).NotTo(BeEmpty())
	}, wait, poll).Should(Succeed())
	w.driverRuns(ctx, nightly.Status.LastRunName)

	Expect(admin.Create(ctx, connectServer(ns))).To(Succeed())
	isReady(ctx, ns, nil, nil)
	w.isFull(ctx)
	kubelet(ctx, again, corev1.PodFailed, driverContainer, exited(1, "Error"))
	Expect(admin.Create(ctx, sparkPi(ns, "waits"))).To(Succeed())
	for _, name := range []string{"waits", "waits-again"} {
		Eventually(func() string { return condition(ctx, ns, name, "Submitted").Reason }, wait, poll).Should(Equal("QuotaExceeded"), name)
	}
}

func retriesAfter(seconds int64) func(*v1beta2.SparkApplicationSpec) {
	return func(s *v1beta2.SparkApplicationSpec) {
		s.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: new(int32(3)), OnFailureRetryInterval: &seconds}
	}
}

// hasOneField leaves of the two fields of monitoring that Kubeflow's definition requires only one.
func (w *wayBack) hasOneField(ctx context.Context, name string) {
	GinkgoHelper()
	half := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"monitoring":{"exposeDriverMetrics":false}}}`))
	Expect(admin.Patch(ctx, w.one(ctx, kubeflowApplications, name), half)).To(Succeed())
}

// unreadable is an application that a client with Go types cannot decode.
func (w *wayBack) unreadable(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	text, err := json.Marshal(sparkPi(w.namespace, "unreadable"))
	Expect(err).NotTo(HaveOccurred())
	o := &unstructured.Unstructured{}
	Expect(json.Unmarshal(text, &o.Object)).To(Succeed())
	o.SetGroupVersionKind(kubeflowApplications)
	variable := []any{map[string]any{"name": "HOST", "valueFrom": "spec.nodeName"}}
	Expect(unstructured.SetNestedSlice(o.Object, variable, "spec", "driver", "env")).To(Succeed())
	Expect(admin.Create(ctx, o)).To(Succeed())
	eventuallyState(ctx, w.namespace, "unreadable", v1beta2.ApplicationStateFailed)
	return o
}

// isFull leaves no room in the namespace, so that one more application waits.
func (w *wayBack) isFull(ctx context.Context) {
	GinkgoHelper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "full"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
	}}
	Expect(admin.Create(ctx, quota)).To(Succeed())
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}
	Expect(admin.Status().Update(ctx, quota)).To(Succeed())
}

// words are the states that Kubeflow's operator reads, by the name of the application.
func (w *wayBack) words(ctx context.Context) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for _, o := range w.all(ctx, kubeflowApplications) {
		found[o.GetName()] = nested(&o, "status", "applicationState", "state")
	}
	return found
}

// findsDriver checks by what Kubeflow's operator finds the pods of an application that runs, and by what the API server deletes them.
func (w *wayBack) findsDriver(ctx context.Context, name string) {
	GinkgoHelper()
	o := w.one(ctx, kubeflowApplications, name)
	Expect(nested(o, "status", "driverInfo", "podName")).To(Equal(name + "-driver"))
	var pods corev1.PodList
	Expect(admin.List(ctx, &pods, client.InNamespace(w.namespace), client.MatchingLabels{
		"sparkoperator.k8s.io/launched-by-spark-operator": "true", "sparkoperator.k8s.io/app-name": name,
		"sparkoperator.k8s.io/submission-id": nested(o, "status", "submissionID"),
	})).To(Succeed())
	var roles []string
	for i := range pods.Items {
		roles = append(roles, pods.Items[i].Labels["spark-role"])
		if roles[i] == "driver" {
			Expect(pods.Items[i].OwnerReferences).To(ConsistOf(metav1.OwnerReference{
				APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: name, UID: o.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true),
			}))
		}
	}
	Expect(roles).To(ContainElement("driver"))
}

// findsUI checks that the Service of the UI is recorded, and in the cache of Kubeflow's operator: it deletes what is recorded.
func (w *wayBack) findsUI(ctx context.Context, name string) {
	GinkgoHelper()
	o := w.one(ctx, kubeflowApplications, name)
	Expect(nested(o, "status", "driverInfo", "webUIServiceName")).To(Equal(name + "-ui-svc"))
	service := w.one(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Service"}, name+"-ui-svc")
	Expect(service.GetLabels()).To(HaveKeyWithValue("sparkoperator.k8s.io/created-by-spark-operator", "true"))
	Expect(metav1.GetControllerOf(service)).To(HaveValue(HaveField("UID", o.GetUID())))
}

// isFree checks that nothing is left of an attempt: before the next, Kubeflow's operator waits until the driver and the Service that the status names are
// gone, without looking again.
func (w *wayBack) isFree(ctx context.Context, name string) {
	GinkgoHelper()
	o := w.one(ctx, kubeflowApplications, name)
	Expect(pods(ctx, w.namespace)).NotTo(ContainElement(name + "-driver"))
	for _, field := range []string{"webUIServiceName", "webUIIngressName"} {
		Expect(nested(o, "status", "driverInfo", field)).To(BeEmpty(), name)
	}
}

// findsServer checks the same of a server: Kubeflow's operator sets itself as the controller of pod, Service and ConfigMap, which fails where another is.
func (w *wayBack) findsServer(ctx context.Context) {
	GinkgoHelper()
	uid := w.one(ctx, kubeflowServers, "notebooks").GetUID()
	for name, kind := range map[string]string{"notebooks-server": "Pod", "notebooks-conf": "ConfigMap"} {
		w.isServers(ctx, kind, name, uid)
	}
	w.isServers(ctx, "Service", "notebooks-server", uid)
	conf := w.one(ctx, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "notebooks-conf")
	Expect(conf.Object).NotTo(HaveKeyWithValue("immutable", true), "it writes its template into it")
}

func (w *wayBack) isServers(ctx context.Context, kind, name string, uid types.UID) {
	GinkgoHelper()
	o := w.one(ctx, schema.GroupVersionKind{Version: "v1", Kind: kind}, name)
	Expect(metav1.GetControllerOf(o)).To(HaveValue(HaveField("UID", uid)), "%s %s", kind, name)
	mark := "sparkoperator.k8s.io/created-by-spark-operator"
	if kind == "Pod" {
		mark = "sparkoperator.k8s.io/launched-by-spark-operator"
	}
	Expect(o.GetLabels()).To(And(HaveKeyWithValue(mark, "true"), HaveKeyWithValue("sparkoperator.k8s.io/connect-name", "notebooks")), "its cache has no other %s", kind)
}

var _ = Describe("Going back to the Kubeflow operator", Ordered, func() {
	w := &wayBack{}
	var bad *unstructured.Unstructured
	left := map[string]string{
		"runs": "RUNNING", "retries": "FAILING", "failed": "FAILED", "completed": "COMPLETED",
		"suspended": "SUSPENDED", "suspended-new": "SUBMITTED", "waits": "SUBMITTED", "waits-again": "PENDING_RERUN",
	}
	BeforeAll(func(ctx SpecContext) {
		theirs, err := definitions.Kubeflow.Paths(ctx, "../..")
		Expect(err).NotTo(HaveOccurred())
		w.begin(ctx, "helm show crds spark-operator/spark-operator --version VERSION", "cat "+strings.Join(theirs, " "))
		w.runsKubeflows(ctx)
		bad = w.unreadable(ctx)
		Eventually(func() map[string]string { return w.words(ctx) }, wait, poll).Should(And(HaveLen(len(left)+2), SatisfyAll(haveAll(left)...)))
		stopOperator()
		w.installs(ctx, "")
	})

	It("finds what the other operator could not read", func(ctx SpecContext) {
		Expect(w.follow(ctx, "docs/migrate-from-kubeflow.md", "Correct what cannot be read")).To(MatchRegexp(`^\S+ +unreadable +.*cannot be decoded.*\n$`))
		Expect(admin.Delete(ctx, bad)).To(Succeed())
	})

	It("stops Firesteel, and gives back what waits", func(ctx SpecContext) {
		w.follow(ctx, "docs/migrate-from-kubeflow.md", "Stop Firesteel")
		w.follow(ctx, "docs/migrate-from-kubeflow.md", "Give back what waits")
		Expect(gates(ctx)).NotTo(ContainElement(ContainSubstring("Webhook")), "what would answer for Firesteel, or block")
		left["waits"], left["suspended-new"] = "", ""
		Expect(w.words(ctx)).To(SatisfyAll(haveAll(left)...))
	})

	It("lets a client that knows Kubeflow's fields write the status, while the definition is ours", func(ctx SpecContext) {
		o := w.one(ctx, kubeflowApplications, "runs")
		Expect(o.Object["status"]).To(HaveKey("conditions"))
		status := onlyKubeflows(o.Object["status"])
		o.Object["status"] = status
		takesItsStatus(ctx, o)
		Expect(w.one(ctx, kubeflowApplications, "runs").Object["status"]).To(Equal(status), "ours go, and nothing is asked for")
	})

	It("leaves what Kubeflow's operator needs under its definitions", func(ctx SpecContext) {
		w.follow(ctx, "docs/migrate-from-kubeflow.md", "Put Kubeflow's definitions back")
		Eventually(keepsOurs, wait, poll).WithArguments(ctx).Should(BeFalse())
		for name, want := range left {
			o := w.one(ctx, kubeflowApplications, name)
			Expect(nested(o, "status", "applicationState", "state")).To(Equal(want), name)
			Expect(o.Object["status"]).To(Equal(onlyKubeflows(o.Object["status"])), "the API server drops what it does not know")
			takesItsStatus(ctx, o)
		}
		w.findsDriver(ctx, "runs")
		w.findsUI(ctx, "runs")
		w.findsDriver(ctx, "retries")
		w.isFree(ctx, "suspended")
		w.isFree(ctx, "waits-again")
		Expect(w.one(ctx, kubeflowApplications, "runs").Object["status"]).To(HaveKeyWithValue("executorState", HaveKeyWithValue("runs-driver-exec-1", "RUNNING")))
		nightly := w.one(ctx, kubeflowSchedules, "nightly")
		Expect(nightly.Object["status"]).To(And(HaveKeyWithValue("scheduleState", "Scheduled"), HaveKey("nextRun"), HaveKey("lastRun"), HaveKey("lastRunName")))
		takesItsStatus(ctx, nightly)
		w.findsDriver(ctx, nested(nightly, "status", "lastRunName"))
		run := w.one(ctx, kubeflowApplications, nested(nightly, "status", "lastRunName"))
		Expect(run.GetLabels()).To(HaveKeyWithValue("sparkoperator.k8s.io/scheduled-app-name", "nightly"))
		connect := w.one(ctx, kubeflowServers, "notebooks")
		Expect(nested(connect, "status", "state")).To(Equal("Ready"))
		takesItsStatus(ctx, connect)
		w.findsServer(ctx)
	})

	It("leaves everything that runs as it is", func(ctx SpecContext) {
		w.follow(ctx, "docs/migrate-from-kubeflow.md", "Roll back")
		w.leavesNothingBehind(ctx)
	})

	It("holds nothing that is deleted", func(ctx SpecContext) {
		w.isHeldByNothing(ctx, kubeflowSchedules, kubeflowApplications, kubeflowServers)
	})
})

// haveAll matches a map that has the entries.
func haveAll(entries map[string]string) (all []gomegatypes.GomegaMatcher) {
	for key, value := range entries {
		all = append(all, HaveKeyWithValue(key, value))
	}
	return all
}

// onlyKubeflows are the fields of a status that Kubeflow's definition has.
func onlyKubeflows(status any) map[string]any {
	GinkgoHelper()
	all, ok := status.(map[string]any)
	Expect(ok).To(BeTrue())
	known := map[string]any{}
	for _, key := range []string{
		"sparkApplicationId", "submissionID", "lastSubmissionAttemptTime", "terminationTime", "driverInfo", "applicationState", "executorState",
		"executionAttempts", "submissionAttempts",
	} {
		if value, there := all[key]; there {
			known[key] = value
		}
	}
	return known
}
