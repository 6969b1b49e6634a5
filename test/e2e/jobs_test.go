// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

var _ = Describe("A Spark job", func() {
	ctx := context.Background()

	It("computes pi in Scala", func() {
		app := sparkPi(newNamespace(ctx, "scala"), "spark-pi", "10")
		states := watchStates(ctx, app)
		Expect(admin.Create(ctx, app)).To(Succeed())
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, app)).To(ContainSubstring("Pi is roughly 3.1"))
		// The watch may see the application before any status, which is the blank. When the API server does not take the first status, the next one tells RUNNING: the driver is recognized.
		Eventually(states.String).Should(MatchRegexp("^ ?(SUBMITTED )?RUNNING COMPLETED$"))
		Expect(s.ExecutionAttempts).To(BeEquivalentTo(1))
		Expect(s.ExecutorState).NotTo(BeEmpty())
		Expect(s.ExecutorState).To(HaveEach(v1beta2.ExecutorStateCompleted))

		By("looking at it as a user does")
		Expect(kubectl("get", "sparkapplications.sparkoperator.k8s.io", "-n", app.Namespace)).To(MatchRegexp(`NAME +SUSPEND +STATUS +ATTEMPTS +START +FINISH +AGE\nspark-pi +COMPLETED +1 +\S+Z +\S+Z +`))
		described := kubectl("describe", "sparkapplications.sparkoperator.k8s.io", "-n", app.Namespace, app.Name)
		for _, word := range []string{"SparkApplicationSubmitted", "SparkDriverRunning", "SparkApplicationCompleted", "the driver finished with exit code 0"} {
			Expect(described).To(ContainSubstring(word))
		}
	})

	It("computes pi in Python, with two executors, arguments, and the volumes that it claims on demand", func() {
		ns := newNamespace(ctx, "python")
		app := sparkPi(ns, "pyspark-pi", "4")
		app.Spec.Type, app.Spec.MainClass = v1beta2.ApplicationTypePython, nil
		app.Spec.MainApplicationFile = ptr.To("local:///opt/spark/examples/src/main/python/pi.py")
		app.Spec.Executor.Instances = ptr.To[int32](2)
		app.Spec.SparkConf = map[string]string{}
		claimsOnDemand(ctx, ns, app.Spec.SparkConf, "driver", "executor", "executor")
		Expect(admin.Create(ctx, app)).To(Succeed())
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, app)).To(ContainSubstring("Pi is roughly 3.1"))
		Expect(len(s.ExecutorState)).To(BeNumerically(">=", 2))
		claims := func() []corev1.PersistentVolumeClaim {
			var list corev1.PersistentVolumeClaimList
			Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			return list.Items
		}
		Expect(claims()).To(ContainElement(And(HaveField("Name", HavePrefix("pyspark-pi-")), HaveField("Name", HaveSuffix("-driver-pvc-0")), HaveField("Status.Phase", corev1.ClaimBound))))
		Expect(admin.Delete(ctx, app)).To(Succeed())
		Eventually(claims, jobWait, poll).Should(BeEmpty(), "they go with the application")
	})

	It("hands settings to its executors without a webhook, and says what Spark overwrites in their template", func() {
		app := endless(newNamespace(ctx, "executors"), "spark-pi")
		app.Spec.Executor.Env = []corev1.EnvVar{{Name: "TEAM", Value: "data"}}
		app.Spec.Executor.Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}
		app.Spec.Executor.Labels = map[string]string{"team": "data"}
		app.Spec.Executor.MemoryLimit = ptr.To("4g")
		app.Spec.Executor.Template = &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kept": "yes"}},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyAlways,
				Containers: []corev1.Container{{
					Name: "spark-kubernetes-executor", Image: "registry.example/other:1", WorkingDir: "/tmp",
					Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("5Gi")}},
				}},
			},
		}
		Expect(admin.Create(ctx, app)).To(Succeed())
		pod := eventuallyExecutor(ctx, app, "")

		By("what it is given")
		Expect(pod.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "TEAM", Value: "data"}))
		Expect(pod.Spec.Tolerations).To(ContainElement(HaveField("Key", "spot")))
		Expect(pod.Labels).To(And(HaveKeyWithValue("team", "data"), HaveKeyWithValue(v1beta2.LabelSubmissionID, statusOf(ctx, app).SubmissionID)))
		By("what a template keeps")
		Expect(pod.Labels).To(HaveKeyWithValue("kept", "yes"))
		Expect(pod.Spec.Containers[0].WorkingDir).To(Equal("/tmp"))
		By("what Spark overwrites")
		Expect(pod.Spec.RestartPolicy).To(Equal(corev1.RestartPolicyNever))
		Expect(pod.Spec.Containers[0].Image).To(Equal(sparkImage))
		Expect(pod.Spec.ServiceAccountName).To(Equal("spark"), "the driver's")
		limit := pod.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]
		Expect(limit.String()).To(Equal("896Mi"), "512 MiB of heap and 384 MiB beside it")
		c := meta.FindStatusCondition(statusOf(ctx, app).Conditions, "Admitted")
		Expect(c).NotTo(BeNil())
		Expect(c.Message).To(ContainSubstring("spec.executor.memoryLimit"), "the setting that is lost is named")

		reachesNewExecutors(ctx, app, pod)
		By("deleting it while it runs")
		Expect(admin.Delete(ctx, app)).To(Succeed())
		Eventually(func() []corev1.Pod { return podsOf(ctx, app) }, jobWait, poll).Should(BeEmpty(), "its pods go with it")
	})

	It("of Spark 3.5 takes an edit of where its executors run without another run", Label(exhaustive), func() {
		app := endless(newNamespace(ctx, "placement"), "spark-pi")
		app.Spec.SparkVersion, app.Spec.Image = "3.5.9", ptr.To(otherSparkImage)
		app.Spec.Executor.Template = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kept": "yes"}}}
		Expect(admin.Create(ctx, app)).To(Succeed())
		reachesNewExecutors(ctx, app, eventuallyExecutor(ctx, app, ""))
	})

	It("fails with the API server's words when its service account does not exist", func() {
		app := sparkPi(newNamespace(ctx, "noaccount"), "no-account")
		app.Spec.Driver.ServiceAccount = ptr.To("nobody")
		states := watchStates(ctx, app) // before there is anything to see: the first state may be a short one
		Expect(admin.Create(ctx, app)).To(Succeed())
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateFailed)
		Eventually(states.String).Should(HaveSuffix("SUBMITTED SUBMISSION_FAILED FAILED"))
		Expect(s.AppState.ErrorMessage).To(And(HavePrefix("failed to submit spark application: "), ContainSubstring(`serviceaccount "nobody" not found`)))
		Expect(podsOf(ctx, app)).To(BeEmpty())
		var services corev1.ServiceList
		Expect(admin.List(ctx, &services, client.InNamespace(app.Namespace))).To(Succeed())
		Expect(services.Items).To(BeEmpty(), "nothing is half-created")
	})

	It("has exactly one driver when the operator is killed right after it created it", Serial, Label(exhaustive), func() {
		app := sparkPi(newNamespace(ctx, "killed"), "spark-pi", "10")
		w, err := admin.Watch(ctx, &corev1.PodList{}, client.InNamespace(app.Namespace))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(w.Stop)
		operator := operatorPID()
		Expect(admin.Create(ctx, app)).To(Succeed())

		var driver corev1.Pod
		Eventually(w.ResultChan(), jobWait).Should(Receive(And(
			HaveField("Type", watch.Added),
			WithTransform(func(e watch.Event) string { driver = *e.Object.(*corev1.Pod); return driver.Name }, Equal("spark-pi-driver")),
		)))
		Expect(syscall.Kill(operator, syscall.SIGKILL)).To(Succeed())
		GinkgoWriter.Println("killed the operator; the status it left:", statusOf(ctx, app).AppState.State)

		eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(statusOf(ctx, app).ExecutionAttempts).To(BeEquivalentTo(1))
		drivers := 0
		for _, pod := range podsOf(ctx, app) {
			if pod.Labels["spark-role"] == "driver" {
				drivers++
				Expect(pod.UID).To(Equal(driver.UID))
			}
		}
		Expect(drivers).To(Equal(1))
		Expect(operatorPID()).NotTo(Equal(operator), "the operator was restarted")
	})
})

// operatorPID finds the operator's process on this machine.
func operatorPID() int {
	GinkgoHelper()
	var pid int
	Eventually(func() int {
		pid = 0
		commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
		Expect(err).NotTo(HaveOccurred())
		for _, file := range commands {
			text, err := os.ReadFile(file)
			if err == nil && strings.HasPrefix(string(text), "/spark-operator\x00--config") && inCluster(filepath.Dir(file)) {
				pid, err = strconv.Atoi(filepath.Base(filepath.Dir(file)))
				Expect(err).NotTo(HaveOccurred())
			}
		}
		return pid
	}, installWait, poll).ShouldNot(BeZero())
	return pid
}

// inCluster reports whether the process belongs to the cluster under test and not to another one on this machine.
func inCluster(proc string) bool {
	groups, err := os.ReadFile(filepath.Join(proc, "cgroup"))
	return err == nil && strings.Contains(string(groups), "/"+os.Getenv("FIRESTEEL_CLUSTER")+"/")
}

// claimsOnDemand has pods of the roles claim a volume each, and makes these.
func claimsOnDemand(ctx context.Context, class string, conf map[string]string, roles ...string) {
	GinkgoHelper()
	folder := GinkgoT().TempDir() // the node is this machine
	for _, role := range roles {
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{GenerateName: class + "-"}, Spec: corev1.PersistentVolumeSpec{
			StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Mi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
		}}
		Expect(admin.Create(ctx, volume)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, volume)).To(Succeed()) })
		claim := "spark.kubernetes." + role + ".volumes.persistentVolumeClaim.data."
		maps.Copy(conf, map[string]string{
			claim + "mount.path": "/data", claim + "options.claimName": "OnDemand", claim + "options.storageClass": class, claim + "options.sizeLimit": "8Mi",
		})
	}
}

var _ = Describe("Dynamic allocation", Label(exhaustive), func() {
	ctx := context.Background()

	It("grows with the work and shrinks without it, with no shuffle service", func() {
		app := pythonJob(ctx, newNamespace(ctx, "dynamic"), "4.1.4", sparkImage, "allocate.py", "3", "1")
		app.Spec.Executor.Instances = nil
		app.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{
			Enabled: true, InitialExecutors: ptr.To[int32](1), MinExecutors: ptr.To[int32](1), MaxExecutors: ptr.To[int32](3),
			ShuffleTrackingTimeout: ptr.To[int64](3000),
		}
		app.Spec.SparkConf = map[string]string{
			"spark.dynamicAllocation.executorIdleTimeout":       "5s",
			"spark.dynamicAllocation.cachedExecutorIdleTimeout": "5s",
			"spark.kubernetes.allocation.batch.delay":           "200ms",
		}
		Expect(admin.Create(ctx, app)).To(Succeed())
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		log := driverLog(ctx, app)
		for _, line := range []string{"sum at first: 4950", "grew: True registered at least: 3", "shrank to: 1", "sum at last: 4950"} {
			Expect(log).To(ContainSubstring(line + "\n"))
		}
		Expect(len(s.ExecutorState)).To(BeNumerically(">=", 3), "the status knows all executors that there were")
		Expect(s.ExecutorState).NotTo(ContainElement(v1beta2.ExecutorStateRunning))
	})
})
