// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"math"
	"os/exec"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// apachePi is SparkPi as users of Apache's operator write it.
func apachePi(namespace, name string, arguments ...string) *v1.SparkApplication {
	return &v1.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1.SparkApplicationSpec{
			RuntimeVersions: v1.RuntimeVersions{SparkVersion: "4.1.4"},
			MainClass:       "org.apache.spark.examples.SparkPi", Jars: "local:///opt/spark/examples/jars/spark-examples.jar", DriverArgs: arguments,
			SparkConf: map[string]string{
				"spark.kubernetes.container.image": sparkImage, "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
				"spark.executor.instances": "1", "spark.driver.memory": "512m", "spark.executor.memory": "512m",
				"spark.kubernetes.driver.request.cores": "100m", "spark.kubernetes.executor.request.cores": "100m",
				"spark.driver.extraJavaOptions": quickStart, "spark.executor.extraJavaOptions": quickStart,
			},
		},
	}
}

// apacheBehaves is one whose driver does what the arguments say.
func apacheBehaves(namespace, name string, arguments ...string) *v1.SparkApplication {
	app := apachePi(namespace, name, arguments...)
	app.Spec.MainClass = "io.firesteel.e2e.Behave"
	return app
}

// apacheStates are the states of the attempts that a status tells of, in their order, without those of a driver's way to its executors.
func apacheStates(ctx context.Context, app *v1.SparkApplication) string {
	GinkgoHelper()
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(app), app)).To(Succeed())
	states := slices.DeleteFunc(testutil.ApacheStates(&app.Status), func(state string) bool {
		return strings.HasPrefix(state, "RunningWith") || state == string(v1.StateInitializedBelowThresholdExecutors)
	})
	return strings.Join(states, " ")
}

func eventuallyApache(ctx context.Context, app *v1.SparkApplication, states string) {
	GinkgoHelper()
	Eventually(func() string { return apacheStates(ctx, app) }, jobWait, poll).Should(Equal(states), func() string { return apacheEvidence(app) })
}

// apacheEvidence is what a person would look at.
func apacheEvidence(app *v1.SparkApplication) string {
	return kubectl("describe", "sparkapplications.spark.apache.org", "-n", app.Namespace, app.Name) + kubectl("get", "pods", "-n", app.Namespace, "-o", "wide") +
		kubectl("logs", "-n", app.Namespace, "-l", "spark.operator/spark-app-name="+app.Name+",spark-role=driver", "--tail=60")
}

// apachePods are the pods of an application.
func apachePods(ctx context.Context, app *v1.SparkApplication) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(admin.List(ctx, &pods, client.InNamespace(app.Namespace), client.MatchingLabels{v1.LabelAppName: app.Name})).To(Succeed())
	return pods.Items
}

const toRun = "Submitted DriverRequested DriverStarted DriverReady RunningHealthy"

var _ = Describe("A SparkApplication of spark.apache.org", func() {
	ctx := context.Background()

	It("runs with what it attaches to its driver, and is kept as it asks", func() {
		app := apachePi(newNamespace(ctx, "apache"), "pi", "10")
		app.Spec.DriverServiceIngressList = []v1.DriverServiceIngress{{
			ServiceMetadata: metav1.ObjectMeta{Name: "ui"}, ServiceSpec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 4040}}}, IngressMetadata: metav1.ObjectMeta{Name: "ui"},
		}}
		app.Spec.ConfigMapSpecs = []v1.ConfigMapSpec{{Name: "settings", Data: map[string]string{"a": "b"}}}
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{ResourceRetainPolicy: v1.RetainAlways}
		Expect(admin.Create(ctx, app)).To(Succeed())
		get := func(o client.Object) func() error {
			return func() error { return admin.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: "ui"}, o) }
		}
		Eventually(get(&corev1.Service{})).Should(Succeed(), "Spark deletes the Services of an application when it ends")
		eventuallyApache(ctx, app, toRun+" Succeeded TerminatedWithoutReleaseResources")
		Expect(kubectl("logs", "-n", app.Namespace, "pi-0-driver")).To(ContainSubstring("Pi is roughly 3.1"))
		Expect(get(&networkingv1.Ingress{})()).To(Succeed())

		By("looking at it as a user does")
		kubectl("api-resources", "--api-group=spark.apache.org") // kubectl remembers for hours what there was before the definitions were installed
		Expect(kubectl("get", "sparkapp", "-n", app.Namespace)).To(MatchRegexp(`NAME +AGE +CURRENT STATE\npi +\S+ +TerminatedWithoutReleaseResources`))
		Expect(kubectl("describe", "sparkapplications.spark.apache.org", "-n", app.Namespace, app.Name)).To(ContainSubstring("the driver finished with exit code 0"))

		By("scraping the operator by the names of Apache's operator")
		eventuallyMeasured(ctx, "sparkappstatusrecorder_sparkapp_latency_discover_duration_seconds_count",
			"sparkappstatusrecorder_sparkapp_latency_from_driverrequested_to_driverstarted_duration_seconds", "kubernetes_client_http_response_latency_seconds",
			"kubernetes_client_http_request_total", "kubernetes_client_http_response_2xx_total", "kubernetes_client_http_request_patch_total")

		By("deleting it")
		Expect(admin.Delete(ctx, app)).To(Succeed())
		Eventually(get(&networkingv1.Ingress{}), jobWait, poll).Should(MatchError(apierrors.IsNotFound, "not found"))
		Eventually(func() []corev1.Pod { return apachePods(ctx, app) }, jobWait, poll).Should(BeEmpty())
	})

	It("in Python allocates its executors as it needs them, and leaves nothing behind", func() {
		app := apachePi(newNamespace(ctx, "apachepy"), "pyspark", "200")
		app.Spec.MainClass, app.Spec.Jars, app.Spec.PyFiles = "", "", "local:///opt/spark/examples/src/main/python/pi.py"
		maps.Copy(app.Spec.SparkConf, map[string]string{
			"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true", "spark.dynamicAllocation.maxExecutors": "2", "spark.executor.instances": "1",
			"spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
		})
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{InstanceConfig: &v1.InstanceConfig{InitExecutors: 1, MinExecutors: 1, MaxExecutors: 2}}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyApache(ctx, app, toRun+" Succeeded ResourceReleased")
		Expect(app.Status.Details.ExecutorState).To(HaveLen(2), "it started with one")
		Eventually(func() []corev1.Pod { return apachePods(ctx, app) }, jobWait, poll).Should(BeEmpty())
	})

	It("that fails is tried as often as it asks, and goes after its time", func() {
		app := apacheBehaves(newNamespace(ctx, "apachefail"), "fails", "exit", "3")
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{
			RestartConfig:      &v1.RestartConfig{RestartPolicy: v1.RestartOnFailure, MaxRestartAttempts: new(int64(1)), RestartBackoffMillis: new(int64(100))},
			TTLAfterStopMillis: new(int64(20_000)),
		}
		Expect(admin.Create(ctx, app)).To(Succeed())
		Eventually(func() string { return apacheStates(ctx, app) }, jobWait, poll).Should(MatchRegexp(`Failed ScheduledToRestart DriverRequested .*Failed ResourceReleased$`))
		Expect(app.Status.CurrentAttemptSummary.AttemptInfo.FailureRestartCounter).To(BeEquivalentTo(1))
		Expect(kubectl("describe", "sparkapplications.spark.apache.org", "-n", app.Namespace, app.Name)).To(ContainSubstring("3"))
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(app), app) }, jobWait, poll).Should(MatchError(apierrors.IsNotFound, "not found"))
	})

	It("is suspended, runs again as it is edited meanwhile, and goes although the operator that set its finalizer is gone", func() {
		app := apacheBehaves(newNamespace(ctx, "apachepause"), "pauses", "sleep", "3600")
		app.Finalizers = []string{v1.Finalizer}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyApache(ctx, app, toRun)
		edit := func(patch string) {
			kubectl("patch", "sparkapplications.spark.apache.org", app.Name, "-n", app.Namespace, "--type", "merge", "-p", patch)
		}
		edit(`{"spec": {"suspend": true}}`)
		eventuallyApache(ctx, app, toRun+" Suspended")
		Eventually(func() []corev1.Pod { return apachePods(ctx, app) }, jobWait, poll).Should(BeEmpty())
		edit(`{"spec": {"suspend": false, "sparkConf": {"spark.executorEnv.TEAM": "data"}}}`)
		Eventually(func() []corev1.Pod { return apachePods(ctx, app) }, jobWait, poll).Should(ContainElement(
			HaveField("Spec.Containers", ContainElement(HaveField("Env", ContainElement(corev1.EnvVar{Name: "TEAM", Value: "data"}))))))
		Expect(admin.Delete(ctx, app)).To(Succeed())
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(app), app) }, jobWait, poll).Should(MatchError(apierrors.IsNotFound, "not found"))
		Eventually(func() []corev1.Pod { return apachePods(ctx, app) }, jobWait, poll).Should(BeEmpty())
	})

	It("runs a program once, although the kubelet starts its container again", func() {
		app := apacheBehaves(newNamespace(ctx, "apacheagain"), "once", "exit", "3")
		app.Spec.DriverSpec = &v1.RoleSpec{PodTemplateSpec: &corev1.PodTemplateSpec{Spec: startsAgain()}}
		Expect(admin.Create(ctx, app)).To(Succeed())
		Eventually(func() string { return apacheStates(ctx, app) }, jobWait, poll).Should(HaveSuffix("Failed ResourceReleased"), func() string { return apacheEvidence(app) })
		Eventually(func() []corev1.Pod { return apachePods(ctx, app) }, jobWait, poll).Should(BeEmpty())
	})

	It("whose driver does not start in time ends with its own state, and says why", func() {
		app := apachePi(newNamespace(ctx, "apachelate"), "late")
		app.Spec.SparkConf["spark.kubernetes.container.image"] = "firesteel.local/none:1"
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{ApplicationTimeoutConfig: &v1.ApplicationTimeoutConfig{DriverStartTimeoutMillis: new(int64(5000))}}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyApache(ctx, app, "Submitted DriverRequested DriverStartTimedOut ResourceReleased")
		Expect(kubectl("describe", "sparkapplications.spark.apache.org", "-n", app.Namespace, app.Name)).To(
			ContainSubstring("the driver did not start within 5s (spec.applicationTolerations.applicationTimeoutConfig.driverStartTimeoutMillis)"))
	})

	It("answers clients as a Spark Connect server and as a Thrift server, each an application without files that is kept running", Label(exhaustive), func() {
		ns := newNamespace(ctx, "apacheserve")
		server := func(name, class string) *v1.SparkApplication {
			app := apachePi(ns, name)
			app.Spec.MainClass, app.Spec.Jars = class, ""
			app.Spec.SparkConf["spark.driver.memory"], app.Spec.SparkConf["spark.sql.shuffle.partitions"] = "600m", "1"
			app.Spec.SparkConf["spark.driver.extraJavaOptions"] += " -Dderby.system.home=/tmp"
			app.Spec.SparkConf["spark.sql.warehouse.dir"] = "/tmp/warehouse"
			app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{RestartConfig: &v1.RestartConfig{RestartPolicy: v1.RestartAlways, MaxRestartAttempts: ptr.To[int64](math.MaxInt64)}}
			Expect(admin.Create(ctx, app)).To(Succeed())
			return app
		}
		connect := server("connect", "org.apache.spark.sql.connect.service.SparkConnectServer")
		thrift := server("thrift", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2")
		answersNotebook(ctx, connect)

		eventuallyApache(ctx, thrift, toRun)
		beeline := []string{"exec", "kubectl", "exec", "-n", ns, "thrift-0-driver", "--", "/opt/spark/bin/beeline", "-u", "jdbc:hive2://localhost:10000", "-e", "SELECT 6 * 7"}
		Eventually(func() (string, error) {
			out, err := exec.CommandContext(ctx, clusterCmd, beeline...).CombinedOutput()
			return string(out), err
		}, jobWait, poll).Should(MatchRegexp(`\| 42 +\|`))

		By("ending a server, which runs again")
		kubectl("exec", "-n", ns, "connect-0-driver", "--", "pkill", "java")
		Eventually(func() error {
			return admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: "connect-1-driver"}, &corev1.Pod{})
		}, jobWait, poll).Should(Succeed())
	})
})
