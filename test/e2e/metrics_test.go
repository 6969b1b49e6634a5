// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// scrape reads an endpoint of a pod as Prometheus does, at the pod's own address.
func scrape(ctx context.Context, pod *corev1.Pod, port, path string) func() (string, error) {
	return func() (string, error) { return call(ctx, http.MethodGet, pod, port, path, nil) }
}

// call sends a request to a pod, at the pod's own address.
func call(ctx context.Context, method string, pod *corev1.Pod, port, path string, body io.Reader) (string, error) {
	return callAs(ctx, "", method, pod, port, path, body)
}

// callAs is call with what the header says of who asks.
func callAs(ctx context.Context, authorization, method string, pod *corev1.Pod, port, path string, body io.Reader) (string, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if ns := os.Getenv("FIRESTEEL_E2E_NETNS"); ns != "" {
		transport.DialContext = dialIn(ns)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+net.JoinHostPort(pod.Status.PodIP, port)+path, body)
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json;charset=UTF-8")
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	answer, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s%s: %s: %s", pod.Name, path, answer.Status, text)
	}
	return string(text), err
}

// eventuallyMeasured waits until the operator serves metrics. A leader that loses its lease on a busy machine ends, and starts again.
func eventuallyMeasured(ctx context.Context, names ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var operators corev1.PodList
		g.Expect(admin.List(ctx, &operators, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/component": "controller"})).To(Succeed())
		g.Expect(operators.Items).To(HaveLen(1))
		own, err := scrape(ctx, &operators.Items[0], "8080", "/metrics")()
		g.Expect(err).NotTo(HaveOccurred())
		for _, name := range names {
			g.Expect(strings.Contains(own, "\n"+name+"{") || strings.Contains(own, "\n"+name+" ")).To(BeTrue(), "%s in\n%s", name, own)
		}
	}, installWait, poll).Should(Succeed())
}

var _ = Describe("Metrics", func() {
	DescribeTable("of a driver and its executors are turned on by one field", func(ctx SpecContext, version, image string) {
		app := endless(newNamespace(ctx, "metrics"), "measured")
		app.Spec.SparkVersion, app.Spec.Image = version, ptr.To(image)
		app.Spec.Monitoring = &v1beta2.MonitoringSpec{ExposeDriverMetrics: true, ExposeExecutorMetrics: true}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyState(ctx, app, v1beta2.ApplicationStateRunning)
		var driver corev1.Pod
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: "measured-driver"}, &driver)).To(Succeed())
		port, path := driver.Annotations["prometheus.io/port"], driver.Annotations["prometheus.io/path"]
		Expect(driver.Annotations).To(HaveKeyWithValue("prometheus.io/scrape", "true"))

		By("scraping the driver where its annotations say")
		of := "metrics_" + regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(app.Namespace, "_") + "_measured_driver_"
		Eventually(scrape(ctx, &driver, port, path), jobWait, poll).Should(And(
			MatchRegexp(`(?m)^`+of+`BlockManager_memory_maxMem_MB_(Number|Value)\{.*\} [1-9]`),
			MatchRegexp(`(?m)^`+of+`DAGScheduler_job_allJobs_(Number|Value)\{.*\} [1-9]`),
		), func() string { return evidence(app) })

		By("scraping the executors, which the driver shows")
		Eventually(scrape(ctx, &driver, port, "/metrics/executors/prometheus"), jobWait, poll).Should(
			MatchRegexp(`(?m)^metrics_executor_completedTasks_total\{.*executor_id="1".*\} [1-9]`), func() string { return evidence(app) })

		By("scraping the operator, which knows of the application")
		eventuallyMeasured(ctx, "spark_application_count", "spark_applications", "spark_application_driver_ready_seconds_bucket", "spark_operator_leading")
	},
		onSpark4,
		Entry("Spark 3.5", Label(exhaustive), "3.5.9", otherSparkImage),
	)

	DescribeTable("are shown by the JMX exporter, in the driver and in each executor", func(ctx SpecContext, version, image, exporter, counters string) {
		app := endless(newNamespace(ctx, "jmx"), "measured")
		app.Spec.SparkVersion, app.Spec.Image = version, ptr.To(image)
		jar := withExporter(ctx, app, exporter)
		app.Spec.Monitoring = &v1beta2.MonitoringSpec{
			ExposeDriverMetrics: true, ExposeExecutorMetrics: true, Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: jar},
		}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyState(ctx, app, v1beta2.ApplicationStateRunning)

		// Not before: Spark on one busy core that is scraped five times a second while it starts may give the API server up.
		By("waiting for the executor")
		var executor corev1.Pod
		Eventually(func(g Gomega) {
			var pods corev1.PodList
			g.Expect(admin.List(ctx, &pods, client.InNamespace(app.Namespace), client.MatchingLabels{"spark-role": "executor"})).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(1))
			executor = pods.Items[0]
			g.Expect(executor.Status.Phase).To(Equal(corev1.PodRunning))
		}, jobWait, poll).Should(Succeed(), func() string { return evidence(app) })

		By("scraping the driver, whose metrics have the names and labels of the default rules")
		var driver corev1.Pod
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: "measured-driver"}, &driver)).To(Succeed())
		Expect(driver.Annotations).To(HaveKeyWithValue("prometheus.io/port", "8090"))
		labels := `app_id="measured",app_namespace="` + app.Namespace + `",?`
		Eventually(scrapeAnnotated(ctx, &driver), jobWait, poll).Should(And(
			MatchRegexp(`(?m)^spark_driver_dagscheduler_job_alljobs\{`+labels+`\} [1-9]`),
			MatchRegexp(`(?m)^spark_driver_blockmanager_memory_maxmem_mb\{`+labels+`\} [1-9]`),
			MatchRegexp(`(?m)^spark_driver_jvm_heap_used\{`+labels+`\} [1-9]`),
			MatchRegexp(`(?m)^spark_driver_livelistenerbus_numeventsposted_`+counters+`\{`+labels+`\} [1-9]`),
		), func() string { return evidence(app) })

		By("scraping the executor")
		Expect(executor.Annotations).To(HaveKeyWithValue("prometheus.io/port", "8090"))
		labels += `executor_id="1",?`
		Eventually(scrapeAnnotated(ctx, &executor), jobWait, poll).Should(And(
			MatchRegexp(`(?m)^spark_executor_threadpool_completetasks\{`+labels+`\} [1-9]`),
			MatchRegexp(`(?m)^spark_executor_runtime_`+counters+`\{`+labels+`\} [1-9]`),
			MatchRegexp(`(?m)^spark_executor_jvm_heap_used\{`+labels+`\} [1-9]`),
		), func() string { return evidence(app) })
	},
		Entry("on Spark 4 with the exporter 1.x", Label(exhaustive), "4.1.4", sparkImage, "1.0.1", "count_total"),
		Entry("on Spark 3 with the exporter 0.x", "3.5.9", otherSparkImage, "0.20.0", "count"),
	)
})

// scrapeAnnotated reads a pod's endpoint where its annotations say.
func scrapeAnnotated(ctx SpecContext, pod *corev1.Pod) func() (string, error) {
	Expect(pod.Annotations).To(HaveKeyWithValue("prometheus.io/scrape", "true"))
	return scrape(ctx, pod, pod.Annotations["prometheus.io/port"], pod.Annotations["prometheus.io/path"])
}

// withExporter lets the pods mount the JMX exporter, which is not in the image, from this machine, which is their node. It
// returns the path at which they see it.
func withExporter(ctx SpecContext, app *v1beta2.SparkApplication, version string) string {
	GinkgoHelper()
	const path = "/prometheus/jmx_prometheus_javaagent.jar"
	cmd := exec.CommandContext(ctx, filepath.Join(repository, "hack", "tools", "maven.sh"), "jmx-exporter", version)
	cmd.Stderr = GinkgoWriter
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), "getting the JMX exporter %s", version)
	app.Spec.Volumes = append(app.Spec.Volumes, corev1.Volume{Name: "exporter", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: strings.TrimSpace(string(out)), Type: ptr.To(corev1.HostPathFile)},
	}})
	for _, role := range []*v1beta2.SparkPodSpec{&app.Spec.Driver.SparkPodSpec, &app.Spec.Executor.SparkPodSpec} {
		role.VolumeMounts = append(role.VolumeMounts, corev1.VolumeMount{Name: "exporter", MountPath: path, ReadOnly: true})
	}
	return path
}
