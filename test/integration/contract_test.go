// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// diary is every version of an application that its watchers have seen, as they see it: without our types.
type diary struct {
	mu       sync.Mutex
	versions []map[string]any
	// reported are the states in their order, and undriven those that a tool takes for "the driver exists" when it did not.
	reported, undriven []string
}

// keepDiary watches the applications of a namespace, and at each state looks for the driver as Airflow does.
func keepDiary(ctx context.Context, namespace string) *diary {
	GinkgoHelper()
	watching, err := client.NewWithWatch(server.Config, client.Options{Scheme: admin.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	var list unstructured.UnstructuredList
	list.SetAPIVersion("sparkoperator.k8s.io/v1beta2")
	list.SetKind("SparkApplicationList")
	w, err := watching.Watch(ctx, &list, client.InNamespace(namespace))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	d := &diary{}
	go func() {
		for event := range w.ResultChan() {
			if o, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Deleted {
				d.note(ctx, o)
			}
		}
	}()
	return d
}

func (d *diary) note(ctx context.Context, o *unstructured.Unstructured) {
	state, _, _ := unstructured.NestedString(o.Object, "status", "applicationState", "state")
	d.mu.Lock()
	defer d.mu.Unlock()
	d.versions = append(d.versions, o.Object)
	if _, written := o.Object["status"]; !written || len(d.reported) > 0 && d.reported[len(d.reported)-1] == state {
		return
	}
	d.reported = append(d.reported, state)
	// Airflow: SparkKubernetesOperator waits while there is no status or the state is SUBMITTED, and fails on FAILED. It
	// takes any other word, also none, for a driver that exists, and fails on the 404 of the pod.
	if state == "SUBMITTED" || state == "FAILED" {
		return
	}
	var pod corev1.Pod
	if err := admin.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetName() + "-driver"}, &pod); err != nil {
		d.undriven = append(d.undriven, fmt.Sprintf("%q: %v", state, err))
	}
}

func (d *diary) states() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.reported)
}

func (d *diary) missed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.undriven)
}

// forEach calls f with every status that was written.
func (d *diary) forEach(f func(status map[string]any)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, version := range d.versions {
		if status, ok := version["status"].(map[string]any); ok {
			f(status)
		}
	}
}

// executorOf creates an executor as the driver does, and lets it run.
func executorOf(ctx context.Context, driver *corev1.Pod, number int) *corev1.Pod {
	GinkgoHelper()
	labels := map[string]string{"spark-role": "executor", "spark-exec-id": fmt.Sprint(number)}
	for _, k := range []string{"sparkoperator.k8s.io/app-name", "sparkoperator.k8s.io/launched-by-spark-operator", "sparkoperator.k8s.io/submission-id"} {
		labels[k] = driver.Labels[k]
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: driver.Namespace, Name: fmt.Sprintf("pi-exec-%d", number), Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: executorContainer, Image: "spark"}}},
	}
	Expect(admin.Create(ctx, pod)).To(Succeed())
	kubelet(ctx, pod, corev1.PodRunning, executorContainer, running())
	return pod
}

// succeeds runs the driver to its end.
func succeeds(ctx context.Context, driver *corev1.Pod) {
	GinkgoHelper()
	kubelet(ctx, driver, corev1.PodRunning, driverContainer, running())
	eventuallyState(ctx, driver.Namespace, "pi", v1beta2.ApplicationStateRunning)
	kubelet(ctx, driver, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
	eventuallyState(ctx, driver.Namespace, "pi", v1beta2.ApplicationStateCompleted)
}

// Read in Airflow's provider (operators/spark_kubernetes.py, custom_object_launcher.py, sensors/spark_kubernetes.py) and
// verified with provider 10.25.0.
var _ = Describe("Airflow", func() {
	var (
		ctx context.Context
		ns  string
	)
	BeforeEach(func() {
		ctx = context.Background()
		ns = newNamespace(ctx)
	})

	labels := map[string]string{"dag_id": "d", "task_id": "t", "run_id": "r", "try_number": "1", "spark_kubernetes_operator": "True"}

	// expectDriver is what Airflow reads of the pod: it finds it by its labels and by its name, and takes the log of the
	// container of that name; the first container status has to be the driver's.
	expectDriver := func(attempt int) *corev1.Pod {
		GinkgoHelper()
		var list corev1.PodList
		Eventually(func() []corev1.Pod {
			match := client.MatchingLabels{"spark-role": "driver"}
			for k, v := range labels {
				match[k] = v
			}
			Expect(admin.List(ctx, &list, client.InNamespace(ns), match)).To(Succeed())
			return list.Items
		}, wait, poll).Should(HaveLen(1), "attempt %d", attempt)
		pod := &list.Items[0]
		Expect(pod.Name).To(Equal("pi-driver"))
		Expect(pod.Spec.Containers[0].Name).To(Equal(driverContainer))
		return pod
	}

	DescribeTable("waits until the driver pod exists",
		func(hold, release func(*v1beta2.SparkApplication)) {
			d := keepDiary(ctx, ns)
			a := sparkPi(ns, "pi")
			hold(a)
			Expect(admin.Create(ctx, a)).To(Succeed())
			eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateSubmitted)
			if release != nil {
				change(ctx, admin, ns, "pi", release)
			}
			succeeds(ctx, driverPod(ctx, ns, "pi-driver"))
			Eventually(d.states, wait, poll).Should(Equal([]string{"SUBMITTED", "RUNNING", "COMPLETED"}))
			Expect(d.missed()).To(BeEmpty())
		},
		Entry("of a plain application", func(*v1beta2.SparkApplication) {}, nil),
		Entry("of one that queues", func(a *v1beta2.SparkApplication) { a.Spec.BatchScheduler = ptr.To("nimbus") }, func(a *v1beta2.SparkApplication) { a.Spec.BatchScheduler = nil }),
		Entry("of one that is suspended before its first run", func(a *v1beta2.SparkApplication) { a.Spec.Suspend = ptr.To(true) }, func(a *v1beta2.SparkApplication) { a.Spec.Suspend = nil }),
		Entry("of one whose driver has a name that is taken", func(a *v1beta2.SparkApplication) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: "other"},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
			}
			Expect(admin.Create(ctx, pod)).To(Succeed())
			a.Spec.Driver.PodName = ptr.To("other")
		}, func(a *v1beta2.SparkApplication) { a.Spec.Driver.PodName = nil }),
	)

	It("finds the driver of each attempt under the same name, and reads the reason of a failure", func() {
		d := keepDiary(ctx, ns)
		a := sparkPi(ns, "pi")
		a.Spec.Driver.Labels, a.Spec.Executor.Labels = labels, labels
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: ptr.To[int32](2), OnFailureRetryInterval: ptr.To[int64](1)}
		Expect(admin.Create(ctx, a)).To(Succeed())
		seen := map[string]bool{}
		for attempt := 1; attempt <= 3; attempt++ {
			Eventually(func() bool { return seen[string(expectDriver(attempt).UID)] }, wait, poll).Should(BeFalse(), "a driver of its own")
			pod := expectDriver(attempt)
			seen[string(pod.UID)] = true
			kubelet(ctx, pod, corev1.PodRunning, driverContainer, running())
			eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateRunning)
			Expect(app(ctx, ns, "pi").Status.DriverInfo.PodName).To(Equal("pi-driver"))
			kubelet(ctx, pod, corev1.PodFailed, driverContainer, exited(int32(attempt), "Error"))
			Eventually(func() int32 {
				all := app(ctx, ns, "pi").Status.Attempts
				return ptr.Deref(all[len(all)-1].ExitCode, 0)
			}, wait, poll).Should(BeEquivalentTo(attempt))
		}
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateFailed)
		Expect(app(ctx, ns, "pi").Status.AppState.ErrorMessage).To(Equal("driver container failed with ExitCode: 3, Reason: Error"))
		Expect(driverPod(ctx, ns, "pi-driver").UID).NotTo(BeEmpty(), "the sensor reads the log afterwards")
		Eventually(d.states, wait, poll).Should(ContainElement("FAILED"))
		Expect(d.states()).NotTo(ContainElement("UNKNOWN"))
		Expect(d.states()).NotTo(ContainElement(""))
		Expect(app(ctx, ns, "pi").Status.Attempts).To(HaveLen(3))
	})
})

// Read in Argo CD: resource_customizations/sparkoperator.k8s.io/SparkApplication/health.lua.
var _ = Describe("Argo CD", func() {
	words := []string{
		"", "SUBMITTED", "RUNNING", "COMPLETED", "FAILED", "SUBMISSION_FAILED", "PENDING_RERUN", "INVALIDATING", "SUCCEEDING", "FAILING",
		"SUSPENDING", "SUSPENDED", "RESUMING", "UNKNOWN",
	}

	It("checks every status that is ever written", func() {
		ctx := context.Background()
		ns := newNamespace(ctx)
		d := keepDiary(ctx, ns)
		a := sparkPi(ns, "pi")
		a.Spec.Executor.Instances = ptr.To[int32](3)
		Expect(admin.Create(ctx, a)).To(Succeed())
		driver := driverPod(ctx, ns, "pi-driver")
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateSubmitted)
		for n := range 3 {
			executorOf(ctx, driver, n+1)
		}
		kubelet(ctx, driver, corev1.PodRunning, driverContainer, running())
		Eventually(func() int {
			n := 0
			for _, state := range app(ctx, ns, "pi").Status.ExecutorState {
				if state == v1beta2.ExecutorStateRunning {
					n++
				}
			}
			return n
		}, wait, poll).Should(Equal(3), "health is the count of RUNNING executors against spec.executor.instances")
		succeeds(ctx, driver)
		Eventually(d.states, wait, poll).Should(ContainElement("COMPLETED"))

		statuses := 0
		d.forEach(func(status map[string]any) {
			statuses++
			state, found, err := unstructured.NestedString(status, "applicationState", "state")
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(BeTrue(), "the script fails on a status without applicationState: %v", status)
			Expect(words).To(ContainElement(state))
			executors, _, err := unstructured.NestedStringMap(status, "executorState")
			Expect(err).NotTo(HaveOccurred())
			for _, state := range executors {
				Expect([]string{"PENDING", "RUNNING", "COMPLETED", "FAILED", "UNKNOWN"}).To(ContainElement(state))
			}
		})
		Expect(statuses).To(BeNumerically(">=", 3), "SUBMITTED, RUNNING and COMPLETED")
	})

	It("is told why an application is degraded", func() {
		ctx := context.Background()
		ns := newNamespace(ctx)
		a := sparkPi(ns, "pi")
		a.Spec.Driver.Memory = ptr.To("lots")
		Expect(admin.Create(ctx, a)).To(Succeed())
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateFailed)
		Expect(strings.TrimSpace(app(ctx, ns, "pi").Status.AppState.ErrorMessage)).NotTo(BeEmpty())
	})
})
