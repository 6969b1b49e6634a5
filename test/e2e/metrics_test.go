/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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
func scrape(ctx SpecContext, pod *corev1.Pod, port, path string) func() (string, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if ns := os.Getenv("FIRESTEEL_E2E_NETNS"); ns != "" {
		transport.DialContext = dialIn(ns)
	}
	return func() (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(pod.Status.PodIP, port)+path, nil)
		if err != nil {
			return "", err
		}
		answer, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Do(request)
		if err != nil {
			return "", err
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s%s: %s", pod.Name, path, answer.Status)
		}
		return string(text), err
	}
}

var _ = Describe("Metrics", func() {
	DescribeTable("of a driver and its executors are turned on by one field", func(ctx SpecContext, version, image string) {
		app := sparkPi(newNamespace(ctx, "metrics"), "measured", "sleep", "600")
		app.Spec.SparkVersion, app.Spec.Image = version, ptr.To(image)
		app.Spec.MainClass = ptr.To("io.firesteel.e2e.Behave")
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
		var operators corev1.PodList
		Expect(admin.List(ctx, &operators, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/component": "controller"})).To(Succeed())
		Expect(operators.Items).To(HaveLen(1))
		own, err := scrape(ctx, &operators.Items[0], "8080", "/metrics")()
		Expect(err).NotTo(HaveOccurred())
		for _, name := range []string{"spark_application_count", "spark_applications", "spark_application_driver_ready_seconds_bucket", "spark_operator_leading"} {
			Expect(strings.Contains(own, "\n"+name+"{") || strings.Contains(own, "\n"+name+" ")).To(BeTrue(), "%s in\n%s", name, own)
		}
	}, onSpark4, onSpark3)
})
