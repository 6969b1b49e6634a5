// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// scrape reads the endpoint as Prometheus does: name and labels, and the value.
func scrape(ctx context.Context, url string) (map[string]float64, error) {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // as its certificate is self-signed
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %w", url, answer.Status, err)
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if i := strings.LastIndexByte(line, ' '); i > 0 && !strings.HasPrefix(line, "#") {
			if out[line[:i]], err = strconv.ParseFloat(line[i+1:], 64); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", url, line, err)
			}
		}
	}
	return out, nil
}

// libraryMetrics are the names that docs/metrics.md lists of the libraries.
func libraryMetrics() []string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	Expect(err).NotTo(HaveOccurred())
	_, section, _ := strings.Cut(string(text), "## Metrics of the libraries\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)`").FindAllStringSubmatch(section, -1) {
		names = append(names, row[1])
	}
	Expect(names).NotTo(BeEmpty())
	return names
}

// metricLabels are the labels of every operator here that has metrics: a process cannot register the same metrics with other ones.
const metricLabels = "[namespace, team.example.com/name]"

var _ = Describe("Metrics", Serial, Ordered, func() {
	var address string
	serve := func(more string) func() {
		return func() {
			address = freeAddress()
			startOperatorWith(server.Config, fmt.Sprintf("{bindAddress: %q, labels: %s%s}", address, metricLabels, more))
		}
	}
	BeforeAll(func() {
		stopOperator()
		serve("")()
	})
	AfterAll(func() {
		if stop != nil {
			stopOperator()
		}
		startOperator(server.Config)
	})
	scraped := func(ctx context.Context, scheme string) func() map[string]float64 {
		return func() map[string]float64 {
			all, err := scrape(ctx, scheme+"://"+address+"/metrics")
			if err != nil {
				return map[string]float64{"error: " + err.Error(): 0}
			}
			return all
		}
	}

	It("reports an application, and counts nothing twice after a restart", smoke, func(ctx SpecContext) {
		ns := newNamespace(ctx)
		scheduled := &v1beta2.ScheduledSparkApplication{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nightly", Labels: map[string]string{"team.example.com/name": "red"}},
			Spec:       v1beta2.ScheduledSparkApplicationSpec{Schedule: yearly, Template: sparkPi(ns, "template").Spec},
		}
		install(ctx, scheduled)
		own := func(name, more string) string {
			return fmt.Sprintf(`%s{namespace="%s",%steam_example_com_name="red"}`, name, ns, more)
		}
		create := func(name string) *corev1.Pod {
			pi := sparkPi(ns, name)
			pi.Labels = map[string]string{"team.example.com/name": "red"}
			Expect(admin.Create(ctx, pi)).To(Succeed())
			driver := driverPod(ctx, ns, name+"-driver")
			kubelet(ctx, driver, corev1.PodRunning, driverContainer, running())
			eventuallyState(ctx, ns, name, v1beta2.ApplicationStateRunning)
			return driver
		}
		done := create("done")
		executor := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "done-exec-1", Labels: map[string]string{
				"spark-role": "executor", "spark-exec-id": "1", "sparkoperator.k8s.io/app-name": "done", "sparkoperator.k8s.io/launched-by-spark-operator": "true",
				"sparkoperator.k8s.io/submission-id": done.Labels["sparkoperator.k8s.io/submission-id"],
			}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: executorContainer, Image: "spark"}}},
		}
		Expect(admin.Create(ctx, executor)).To(Succeed())
		kubelet(ctx, executor, corev1.PodRunning, executorContainer, running())
		kubelet(ctx, done, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
		eventuallyState(ctx, ns, "done", v1beta2.ApplicationStateCompleted)
		create("runs")

		By("scraping")
		counted := map[string]float64{
			own("spark_application_count", ""): 2, own("spark_application_submit_count", ""): 2, own("spark_application_success_count", ""): 1,
			own("spark_application_submit_latency_seconds_histogram_count", ""): 2, own("spark_application_start_latency_seconds_count", ""): 2,
			own("spark_application_success_execution_time_seconds_count", ""): 1, own("spark_executor_success_count", ""): 1,
			fmt.Sprintf(`spark_application_attempts_total{namespace="%s",outcome="Succeeded",team_example_com_name="red"}`, ns): 1,
			own("spark_application_queue_wait_seconds_count", ""):                                                               2, own("spark_application_driver_ready_seconds_count", ""): 2,
		}
		gauges := map[string]float64{
			own("spark_application_running_count", ""): 1, "spark_operator_leading": 1,
			fmt.Sprintf(`spark_applications{namespace="%s",state="Running",team_example_com_name="red"}`, ns):   1,
			fmt.Sprintf(`spark_applications{namespace="%s",state="Succeeded",team_example_com_name="red"}`, ns): 1,
			fmt.Sprintf(`spark_schedules{namespace="%s",state="Scheduled",team_example_com_name="red"}`, ns):    1,
		}
		for name, want := range counted {
			Eventually(scraped(ctx, "http"), wait, poll).Should(HaveKeyWithValue(name, want))
		}
		all := scraped(ctx, "http")()
		for name, want := range gauges {
			Expect(all).To(HaveKeyWithValue(name, want))
		}
		// that of a spec before may still retry
		Expect(all).To(HaveKeyWithValue(`spark_operator_api_write_duration_seconds_count{resource="pods",result="OK",verb="create"}`, BeNumerically(">=", 2)))
		for _, name := range libraryMetrics() {
			Expect(all).To(HaveKey(HavePrefix(name)), "dashboard and alerts use it")
		}

		By("restarting")
		restarted := func(more string) {
			stopOperator()
			serve(more)()
		}
		restarted("")
		for name, want := range gauges {
			Eventually(scraped(ctx, "http"), wait, poll).Should(HaveKeyWithValue(name, want))
		}
		kubelet(ctx, driverPod(ctx, ns, "runs-driver"), corev1.PodFailed, driverContainer, exited(1, "Error"))
		eventuallyState(ctx, ns, "runs", v1beta2.ApplicationStateFailed)
		Eventually(scraped(ctx, "http"), wait, poll).Should(HaveKeyWithValue(own("spark_application_failure_count", ""), 1.0))
		all = scraped(ctx, "http")()
		for name := range counted {
			Expect(all).NotTo(HaveKey(name), "it happened before the restart")
		}
		Expect(all).To(HaveKeyWithValue(own("spark_application_running_count", ""), 0.0))

		By("serving HTTPS with a certificate of its own")
		restarted(", tls: {enabled: true}")
		Eventually(scraped(ctx, "https"), wait, poll).Should(HaveKeyWithValue("spark_operator_leading", 1.0))
		_, err := scrape(ctx, "http://"+address+"/metrics")
		Expect(err).To(HaveOccurred(), "there is no unencrypted way")
	}, NodeTimeout(3*time.Minute))
})
