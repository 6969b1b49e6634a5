// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller"
	kinds "github.com/firesteel-dev/firesteel/internal/controller/application"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/test/family"
)

// jobKind is the second family, as a main function would hand it in.
var jobKind = kinds.NewKind("job", family.Jobs{}, &family.JobList{}, family.AddToScheme)

// One process runs applications of two families, on an API server of its own.
var _ = Describe("A second family", Ordered, func() {
	w := &twoFamilies{}
	var ns string
	BeforeAll(func() { w.start() })
	BeforeEach(func(ctx SpecContext) {
		namespaces++
		ns = fmt.Sprintf("two-%d", namespaces)
		Expect(w.c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
	})

	It("runs beside the first, under the same name in the same namespace", func(ctx SpecContext) {
		job := newJob(ns)
		job.Spec.Pod = "pi-of-the-job"
		Expect(w.c.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		Expect(w.c.Create(ctx, job)).To(Succeed())
		app, of := w.driver(ctx, ns, "pi-driver"), w.driver(ctx, ns, "pi-of-the-job")
		Expect(metav1.GetControllerOf(app).Kind).To(Equal("SparkApplication"))
		Expect(*metav1.GetControllerOf(of)).To(And(HaveField("Kind", "Job"), HaveField("APIVersion", "jobs.example.org/v1"), HaveField("UID", job.UID)))
		for _, driver := range []*corev1.Pod{app, of} {
			w.kubelet(ctx, driver, corev1.PodRunning, running())
		}
		Eventually(w.phase(ctx, ns), wait, poll).Should(Equal(family.PhaseBusy))
		Eventually(w.state(ctx, ns), wait, poll).Should(Equal(v1beta2.ApplicationStateRunning))

		By("ending one after the other")
		w.kubelet(ctx, of, corev1.PodFailed, exited(3, "Error"))
		Eventually(w.phase(ctx, ns), wait, poll).Should(Equal(family.PhaseBroken))
		Expect(w.state(ctx, ns)()).To(Equal(v1beta2.ApplicationStateRunning))
		w.kubelet(ctx, app, corev1.PodSucceeded, exited(0, "Completed"))
		Eventually(w.state(ctx, ns), wait, poll).Should(Equal(v1beta2.ApplicationStateCompleted))
		Expect(w.phase(ctx, ns)()).To(Equal(family.PhaseBroken))

		By("telling events about the right object")
		Eventually(w.events(ctx, ns), wait, poll).Should(ConsistOf(
			"SparkApplication: SparkApplicationSubmitted", "SparkApplication: SparkDriverRunning", "SparkApplication: SparkApplicationCompleted",
			"Job: JobSubmitted", "Job: SparkDriverRunning", "Job: SparkDriverFailed", "Job: JobFailed",
		))
		w.speaksItsOwn(ctx, ns)
	})

	It("runs to its end", func(ctx SpecContext) {
		Expect(w.c.Create(ctx, newJob(ns))).To(Succeed())
		driver := w.driver(ctx, ns, "pi-driver")
		w.kubelet(ctx, driver, corev1.PodRunning, running())
		Eventually(w.phase(ctx, ns), wait, poll).Should(Equal(family.PhaseBusy))
		w.kubelet(ctx, driver, corev1.PodSucceeded, exited(0, "Completed"))
		Eventually(w.phase(ctx, ns), wait, poll).Should(Equal(family.PhaseDone))
	})

	It("runs an application of spark.apache.org to its end, beside one of the first under the same name", func(ctx SpecContext) { w.runsApache(ctx, ns) })

	It("starts a failed application of spark.apache.org again", func(ctx SpecContext) { w.restartsApache(ctx, ns) })

	It("attaches routes of the Gateway API to the driver of an application of spark.apache.org", func(ctx SpecContext) { w.routesApache(ctx, ns) })

	It("runs a cluster of spark.apache.org through edits and a suspension", func(ctx SpecContext) { w.runsCluster(ctx, ns) })

	It("leaves a cluster of spark.apache.org alone that is as it is wanted", func(ctx SpecContext) { w.restsCluster(ctx, ns) })

	It("continues a cluster of Apache's operator without touching its pods", func(ctx SpecContext) { w.takesOverCluster(ctx, ns) })

	It("refuses a cluster of spark.apache.org, and begins again", func(ctx SpecContext) { w.refusesCluster(ctx, ns) })

	It("waits for a name that the first has, and goes on when it is gone", func(ctx SpecContext) {
		app := sparkPi(ns, "pi")
		Expect(w.c.Create(ctx, app)).To(Succeed())
		driver := w.driver(ctx, ns, "pi-driver")
		Expect(w.c.Create(ctx, newJob(ns))).To(Succeed())
		Eventually(w.why(ctx, ns), wait, poll).Should(Equal("NameConflict"))
		told := meta.FindStatusCondition(w.job(ctx, ns).Status.Conditions, "Submitted")
		Expect(told.Message).To(And(ContainSubstring("pod pi-driver already exists"), ContainSubstring("spec.pod")))
		Expect(w.owned(ctx, ns, w.job(ctx, ns).UID)).To(BeEmpty(), "nothing is half-created")
		w.kubelet(ctx, driver, corev1.PodRunning, running())
		Eventually(w.state(ctx, ns), wait, poll).Should(Equal(v1beta2.ApplicationStateRunning))
		Expect(w.driver(ctx, ns, "pi-driver").UID).To(Equal(driver.UID))

		By("deleting the first; there is no garbage collector here")
		Expect(w.c.Delete(ctx, app)).To(Succeed())
		w.collect(ctx, ns, app.UID)
		Eventually(w.phase(ctx, ns), wait, poll).Should(Equal(family.PhaseStarting))
		Expect(metav1.GetControllerOf(w.driver(ctx, ns, "pi-driver")).UID).To(Equal(w.job(ctx, ns).UID))
		w.speaksItsOwn(ctx, ns)
	})

	It("keeps its name from the first", func(ctx SpecContext) {
		job := newJob(ns)
		Expect(w.c.Create(ctx, job)).To(Succeed())
		driver := w.driver(ctx, ns, "pi-driver")
		Expect(w.c.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		submitted := func() string {
			if c := meta.FindStatusCondition(w.app(ctx, ns).Status.Conditions, "Submitted"); c != nil {
				return c.Reason
			}
			return ""
		}
		Eventually(submitted, wait, poll).Should(Equal("NameConflict"))
		Expect(w.c.Delete(ctx, job)).To(Succeed())
		w.collect(ctx, ns, job.UID)
		Eventually(w.state(ctx, ns), wait, poll).Should(Equal(v1beta2.ApplicationStateSubmitted))
		Eventually(func() string { return metav1.GetControllerOf(w.driver(ctx, ns, "pi-driver")).Kind }, wait, poll).Should(Equal("SparkApplication"))
		Expect(w.driver(ctx, ns, "pi-driver").UID).NotTo(Equal(driver.UID))
	})

	It("is left alone when the first is deleted", func(ctx SpecContext) {
		app, job := sparkPi(ns, "pi"), newJob(ns)
		job.Spec.Pod, app.Finalizers = "pi-of-the-job", []string{"example.com/hold"}
		Expect(w.c.Create(ctx, app)).To(Succeed())
		Expect(w.c.Create(ctx, job)).To(Succeed())
		of, mine := w.driver(ctx, ns, "pi-driver"), w.driver(ctx, ns, "pi-of-the-job")
		w.kubelet(ctx, mine, corev1.PodRunning, running())
		Eventually(w.phase(ctx, ns), wait, poll).Should(Equal(family.PhaseBusy))
		parts := w.owned(ctx, ns, job.UID)
		Expect(parts).NotTo(BeEmpty())
		Eventually(w.state(ctx, ns), wait, poll).Should(Equal(v1beta2.ApplicationStateSubmitted))
		Expect(w.c.Delete(ctx, app)).To(Succeed()) // its finalizer holds it, and its driver is stopped
		Eventually(func() error { return w.c.Get(ctx, client.ObjectKeyFromObject(of), &corev1.Pod{}) }, wait, poll).Should(MatchError(ContainSubstring("not found")))
		Expect(w.owned(ctx, ns, job.UID)).To(Equal(parts))
		Expect(w.phase(ctx, ns)()).To(Equal(family.PhaseBusy))
		change(ctx, w.c, ns, "pi", func(a *v1beta2.SparkApplication) { a.Finalizers = nil })
	})

	It("names its own fields", func(ctx SpecContext) {
		job := newJob(ns)
		job.Spec.Paused, job.Spec.Memory = true, "lots"
		Expect(w.c.Create(ctx, job)).To(Succeed())
		Eventually(w.words(ctx, ns), wait, poll).Should(ContainSubstring("spec.paused is true"))
		w.edit(ctx, ns, func(s *family.JobSpec) { s.Paused = false })
		Eventually(w.words(ctx, ns), wait, poll).Should(HavePrefix(`spec.memory: "lots": `))
		Expect(w.why(ctx, ns)()).To(Equal("InvalidSpec"))
		w.edit(ctx, ns, func(s *family.JobSpec) { s.Memory, s.Spark = "512m", "2.4.8" })
		Eventually(w.words(ctx, ns), wait, poll).Should(HavePrefix(`spec.spark: "2.4.8": `))
		w.edit(ctx, ns, func(s *family.JobSpec) { s.Spark, s.Image = testutil.SparkVersion, "" })
		Eventually(w.words(ctx, ns), wait, poll).Should(HavePrefix(`spec.image: `))
		w.edit(ctx, ns, func(s *family.JobSpec) { s.Image, s.Runner = "spark", "nimbus" })
		Eventually(w.words(ctx, ns), wait, poll).Should(HavePrefix(`spec.runner: "nimbus" `))
		w.edit(ctx, ns, func(s *family.JobSpec) { s.Runner = "" })
		w.driver(ctx, ns, "pi-driver")
		w.speaksItsOwn(ctx, ns)
	})
})

// twoFamilies is an API server with both definitions, and an operator of both.
type twoFamilies struct {
	c   client.Client
	cfg *rest.Config
}

func (w *twoFamilies) start() { w.startWith("{enabled: true, sentinelPeriod: 1h}") }

// startWith also says how the kinds of spark.apache.org are configured.
func (w *twoFamilies) startWith(apache string) {
	GinkgoHelper()
	server := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases"), filepath.Join("..", "family", "testdata")},
		ErrorIfCRDPathMissing: true,
	}
	cfg, err := server.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Stop)
	w.cfg = cfg
	w.c, err = client.New(cfg, client.Options{Scheme: controller.Scheme(jobKind)})
	Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	ended := operateBoth(ctx, cfg, apache)
	DeferCleanup(func() {
		stop()
		Eventually(ended, wait).Should(Receive(BeNil()))
	})
}

// operateBoth runs an operator of both families until the context ends.
func operateBoth(ctx context.Context, cfg *rest.Config, apache string) <-chan error {
	GinkgoHelper()
	c, err := config.Parse([]byte("apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\nhealth: {bindAddress: \"0\"}\nmetrics: {bindAddress: \"0\"}\napache: " + apache + "\n"))
	Expect(err).NotTo(HaveOccurred())
	registry, err := scheduler.NewRegistry(c.BatchScheduler.Default, kube.Plugin{})
	Expect(err).NotTo(HaveOccurred())
	mgr, err := controller.NewManager(cfg, c, jobKind)
	Expect(err).NotTo(HaveOccurred())
	Expect(controller.SetupWith(ctx, again{mgr}, c, registry, shortPeriods, jobKind)).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return ended
}

func newJob(namespace string) *family.Job {
	return &family.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pi"},
		Spec: family.JobSpec{
			Main: "local:///opt/spark/examples/jars/spark-examples.jar", Class: "org.apache.spark.examples.SparkPi", Image: "spark",
			Spark: testutil.SparkVersion, Workers: 1, Memory: "512m",
		},
	}
}

func (w *twoFamilies) job(ctx context.Context, ns string) *family.Job {
	var j family.Job
	Expect(w.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "pi"}, &j)).To(Succeed())
	return &j
}

func (w *twoFamilies) app(ctx context.Context, ns string) *v1beta2.SparkApplication {
	var a v1beta2.SparkApplication
	Expect(w.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "pi"}, &a)).To(Succeed())
	return &a
}

func (w *twoFamilies) phase(ctx context.Context, ns string) func() string {
	return func() string { return w.job(ctx, ns).Status.Phase }
}

func (w *twoFamilies) why(ctx context.Context, ns string) func() string {
	return func() string { return w.job(ctx, ns).Status.Why }
}

func (w *twoFamilies) words(ctx context.Context, ns string) func() string {
	return func() string { return w.job(ctx, ns).Status.Words }
}

func (w *twoFamilies) state(ctx context.Context, ns string) func() v1beta2.ApplicationStateType {
	return func() v1beta2.ApplicationStateType { return w.app(ctx, ns).Status.AppState.State }
}

// edit changes the job's spec, whatever the operator writes meanwhile.
func (w *twoFamilies) edit(ctx context.Context, ns string, how func(*family.JobSpec)) {
	GinkgoHelper()
	change(ctx, w.c, ns, "pi", func(j *family.Job) { how(&j.Spec) })
}

func (w *twoFamilies) driver(ctx context.Context, ns, name string) *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Eventually(func() error { return w.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &pod) }, wait, poll).Should(Succeed())
	return &pod
}

func (w *twoFamilies) kubelet(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) {
	GinkgoHelper()
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: driverContainer, State: state}}
	Expect(w.c.Status().Update(ctx, pod)).To(Succeed())
}

// parts lists what may belong to an application.
func (w *twoFamilies) parts(ctx context.Context, ns string) (all []client.Object) {
	GinkgoHelper()
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}} {
		Expect(w.c.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		items, err := meta.ExtractList(list)
		Expect(err).NotTo(HaveOccurred())
		for _, o := range items {
			all = append(all, o.(client.Object))
		}
	}
	return all
}

// owned names what belongs to an application, with its version.
func (w *twoFamilies) owned(ctx context.Context, ns string, uid any) (names []string) {
	GinkgoHelper()
	for _, o := range w.parts(ctx, ns) {
		if c := metav1.GetControllerOf(o); c != nil && any(c.UID) == uid {
			names = append(names, fmt.Sprintf("%T %s %s", o, o.GetName(), o.GetResourceVersion()))
		}
	}
	return names
}

// collect does what the garbage collector does when an application is gone.
func (w *twoFamilies) collect(ctx context.Context, ns string, uid any) {
	GinkgoHelper()
	for _, o := range w.parts(ctx, ns) {
		if c := metav1.GetControllerOf(o); c != nil && any(c.UID) == uid {
			Expect(client.IgnoreNotFound(w.c.Delete(ctx, o, client.GracePeriodSeconds(0)))).To(Succeed())
		}
	}
}

// told lists the operator's events. The API server writes some of its own, about Services whose address it is still allocating.
func (w *twoFamilies) told(ctx context.Context, ns string) []eventsv1.Event {
	GinkgoHelper()
	var list eventsv1.EventList
	Expect(w.c.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.ReportingController != actuate.FieldOwner })
}

// events tells of which kind's object each event is, and its reason.
func (w *twoFamilies) events(ctx context.Context, ns string) func() []string {
	return func() (told []string) {
		for _, e := range w.told(ctx, ns) {
			told = append(told, e.Regarding.Kind+": "+e.Reason)
		}
		return told
	}
}

// theirs are words of the first family that no message of the second may have.
var theirs = []string{"SparkApplication", "sparkoperator.k8s.io", "spec.suspend", "spec.driver", "spec.executor", "spec.sparkVersion", "spec.batchScheduler", "spec.mainApplicationFile", "sparkConf"}

// speaksItsOwn reads all that the operator has told about the job.
func (w *twoFamilies) speaksItsOwn(ctx context.Context, ns string) {
	GinkgoHelper()
	job := w.job(ctx, ns)
	told := []string{job.Status.Words}
	for _, c := range job.Status.Conditions {
		told = append(told, c.Message)
	}
	for _, e := range w.told(ctx, ns) {
		Expect(e.Regarding.Kind).To(BeElementOf("SparkApplication", "Job"))
		if e.Regarding.Kind == "Job" {
			Expect(e.Regarding.UID).To(Equal(job.UID))
			Expect(e.Regarding.APIVersion).To(Equal("jobs.example.org/v1"))
			told = append(told, e.Reason+" "+e.Note)
		}
	}
	for _, word := range theirs {
		Expect(strings.Join(told, "\n")).NotTo(ContainSubstring(word))
	}
}
