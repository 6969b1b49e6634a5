// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

var _ = Describe("kubectl spark", Ordered, func() {
	var (
		ctx                context.Context
		binary, kubeconfig string
		ns                 string
	)
	BeforeAll(func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		var err error
		binary, err = testrun.Program(ctx, filepath.Join("..", ".."), dir, testrun.KubectlSpark)
		Expect(err).NotTo(HaveOccurred())
		user, err := server.AddUser(envtest.User{Name: "cli", Groups: []string{"system:masters"}}, nil)
		Expect(err).NotTo(HaveOccurred())
		config, err := user.KubeConfig()
		Expect(err).NotTo(HaveOccurred())
		kubeconfig = filepath.Join(dir, "kubeconfig")
		Expect(os.WriteFile(kubeconfig, config, 0o600)).To(Succeed())
	})
	BeforeEach(func() {
		ctx = context.Background()
		ns = newNamespace(ctx)
	})

	start := func(args ...string) *gexec.Session {
		GinkgoHelper()
		command := exec.Command(binary, append(args, "--kubeconfig", kubeconfig, "-n", ns)...)
		session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { session.Kill().Wait(wait) })
		return session
	}
	// spark runs the program to its end.
	spark := func(args ...string) (out, errOut string, code int) {
		GinkgoHelper()
		session := start(args...)
		Eventually(session, wait).Should(gexec.Exit())
		return string(session.Out.Contents()), string(session.Err.Contents()), session.ExitCode()
	}
	// run brings an application to a running driver.
	run := func(o *v1beta2.SparkApplication) *corev1.Pod {
		GinkgoHelper()
		Expect(admin.Create(ctx, o)).To(Succeed())
		driver := driverPod(ctx, ns, o.Name+"-driver")
		eventuallyState(ctx, ns, o.Name, v1beta2.ApplicationStateSubmitted)
		kubelet(ctx, driver, corev1.PodRunning, driverContainer, running())
		eventuallyState(ctx, ns, o.Name, v1beta2.ApplicationStateRunning)
		return driver
	}

	It("lists and explains an application that runs, and one that waits", smoke, func() {
		held := sparkPi(ns, "held")
		held.Spec.Suspend = ptr.To(true)
		Expect(admin.Create(ctx, held)).To(Succeed())
		run(sparkPi(ns, "pi"))
		Eventually(func() string { return condition(ctx, ns, "held", "Suspended").Reason }, wait, poll).Should(Equal("Suspended"))

		out, errOut, code := spark("list")
		Expect(code).To(BeZero(), errOut)
		Expect(out).To(MatchRegexp(`(?m)^held +SUBMITTED +1 +\S+ +0/1 +Suspended `))
		Expect(out).To(MatchRegexp(`(?m)^pi +RUNNING +1 +pi-driver +0/1 `))
		out, _, _ = spark("list", "--state", "running", "-o", "name")
		Expect(out).To(Equal("sparkapplication.sparkoperator.k8s.io/pi\n"))

		out, errOut, code = spark("explain", "pi")
		Expect(code).To(BeZero(), errOut)
		Expect(out).To(ContainSubstring("with 0 of 1 executors"))
		Expect(out).To(ContainSubstring("Decision   wait for the driver's end"))
		Expect(out).To(ContainSubstring("default scheduler are not considered"))
		out, _, _ = spark("explain", "held", "-o", "json")
		Expect(out).To(ContainSubstring(`"sentence": "nothing until spec.suspend is false"`))

		_, errOut, code = spark("explain", "hled")
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring("did you mean held?"))
	})

	It("waits: 0 for a success, 1 for a failure, 2 for a timeout", func() {
		driver := run(sparkPi(ns, "good"))
		session := start("wait", "good", "--timeout", "1m")
		Eventually(session.Out, wait).Should(gbytes.Say("RUNNING"))
		kubelet(ctx, driver, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
		Eventually(session, wait).Should(gexec.Exit(0))
		Expect(string(session.Out.Contents())).To(HaveSuffix("COMPLETED\n"))

		driver = run(sparkPi(ns, "bad"))
		_, errOut, code := spark("wait", "bad", "--timeout", "1s")
		Expect(code).To(Equal(2), errOut)
		session = start("wait", "bad")
		kubelet(ctx, driver, corev1.PodFailed, driverContainer, exited(3, "Error"))
		Eventually(session, wait).Should(gexec.Exit(1))
		Expect(string(session.Err.Contents())).To(ContainSubstring("bad failed: driver container failed with ExitCode: 3, Reason: Error"))
	})

	It("writes what a schedule's runs are asked for with, with the rights that it names", func() {
		nightly := &v1beta2.ScheduledSparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nightly"}}
		nightly.Spec = v1beta2.ScheduledSparkApplicationSpec{Schedule: "30 2 * * *", Suspend: ptr.To(true), Template: sparkPi(ns, "x").Spec}
		Expect(admin.Create(ctx, nightly)).To(Succeed())
		_, errOut, code := spark("trigger", "nightly", "--from", "2026-03-01", "--to", "2026-03-03")
		Expect(code).To(BeZero(), errOut)
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(nightly), nightly)).To(Succeed())
		Expect(nightly.Spec.Backfill.From.UTC().Format("2006-01-02T15:04:05Z")).To(Equal("2026-03-01T00:00:00Z"))
		Expect(nightly.Spec.Backfill.MaxActive).To(BeNil())

		_, errOut, code = spark("trigger", "nightly", "--as", "eve")
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring("you may not get scheduledsparkapplications.sparkoperator.k8s.io in namespace " + ns))
		_, errOut, code = spark("trigger", "nightly")
		Expect(code).To(BeZero(), errOut)
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(nightly), nightly)).To(Succeed())
		Expect(nightly.Annotations).To(HaveKey(v1beta2.AnnotationTriggerAt))

		var runs v1beta2.SparkApplicationList
		Eventually(func() []v1beta2.SparkApplication {
			Expect(admin.List(ctx, &runs, client.InNamespace(ns), client.MatchingLabels{v1beta2.LabelScheduledAppName: "nightly"})).To(Succeed())
			return runs.Items
		}, wait, poll).Should(HaveLen(1))
		Eventually(func() string { out, _, _ := spark("list", "schedules"); return out }, wait, poll).Should(MatchRegexp(`(?m)^nightly +30 2 \* \* \* +- +Suspended +1 `))
		out, errOut, code := spark("explain", "nightly")
		Expect(code).To(BeZero(), errOut)
		Expect(out).To(And(ContainSubstring("nightly is suspended"), ContainSubstring(runs.Items[0].Name+": "), ContainSubstring("Trigger, for "),
			ContainSubstring("0 of 2 runs started, at most 1 at a time")))
		_, errOut, code = spark("delete", "scheduledsparkapp/nightly")
		Expect(code).To(BeZero(), errOut)
		Expect(errOut).To(ContainSubstring("its 1 run goes with it: " + runs.Items[0].Name))
		Eventually(gone(ctx, nightly), wait, poll).Should(BeTrue())
	})

	It("wakes a server that was stopped, waits for it and says what for", func() {
		ui := startUI("never")
		Expect(admin.Create(ctx, connectServer(ns, func(o *v1alpha1.SparkConnect) { o.Spec.IdleTimeout = &metav1.Duration{Duration: 3 * time.Second} }))).To(Succeed())
		pod := serverPod(ctx, ns, nil)
		_, errOut, code := spark("connect", "notebooks", "--timeout", "1s")
		Expect(code).To(Equal(2), errOut)
		Expect(errOut).To(And(ContainSubstring("waiting for server "+ns+"/notebooks: Provisioning ("), ContainSubstring("kubectl spark explain sparkconn/notebooks says why")))
		takesClients(ctx, pod, ui)
		goes(ctx, pod)
		Eventually(serverReason(ctx, ns, "Suspended"), wait, poll).Should(Equal("Idle"))
		out, errOut, code := spark("explain", "notebooks")
		Expect(code).To(BeZero(), errOut)
		Expect(out).To(And(ContainSubstring("ago because it was idle"), ContainSubstring("kubectl spark connect notebooks")))
		Eventually(func() string { out, _, _ := spark("list", "servers"); return out }, wait, poll).Should(MatchRegexp(`(?m)^notebooks +NotReady +1 +- +- +Idle `))

		By("waking it")
		ui.shows("running")
		session := start("connect", "notebooks", "--timeout", "1m")
		Eventually(session.Err, wait).Should(gbytes.Say("because it was idle; waking it"))
		second := serverPod(ctx, ns, pod)
		Eventually(session.Err, wait).Should(gbytes.Say("waiting for server " + ns + "/notebooks: NotReady"))
		takesClients(ctx, second, ui)
		Eventually(session.Err, wait).Should(gbytes.Say("no tunnel to server pod notebooks-server"), "there is no kubelet to forward it")
		Expect(notebooks(ctx, ns).Annotations).To(HaveKey(v1alpha1.AnnotationWakeAt))
		Eventually(session.Interrupt(), wait).Should(gexec.Exit(130))

		By("leaving one alone that a person has suspended")
		_, errOut, code = spark("suspend", "notebooks")
		Expect(code).To(BeZero(), errOut)
		_, errOut, code = spark("connect", "notebooks")
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring("is suspended; kubectl spark resume sparkconn/notebooks starts it"))

		By("having no rights")
		_, errOut, code = spark("connect", "notebooks", "--as", "eve")
		Expect(code).To(Equal(1))
		Expect(errOut).To(ContainSubstring("you may not get sparkconnects.sparkoperator.k8s.io in namespace " + ns))
	})
})
