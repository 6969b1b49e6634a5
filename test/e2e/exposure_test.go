// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// fetch gets a page from inside the cluster's network.
func fetch(ctx context.Context, url string) (string, error) {
	dial := (&net.Dialer{}).DialContext
	if ns := os.Getenv("FIRESTEEL_E2E_NETNS"); ns != "" {
		dial = dialIn(ns)
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.Status + "\n" + string(text), err
}

var _ = Describe("The Spark UI", func() {
	ctx := context.Background()

	It("is read through its Service and through kubectl spark ui, below the path of an Ingress too, and goes with its driver", func() {
		ns := newNamespace(ctx, "ui")
		below := "/" + ns + "/shown/" // the path that the suite's operator gives its Ingress
		app := script(ctx, ns, "shown", "import time\nfrom pyspark.sql import SparkSession\nsc = SparkSession.builder.getOrCreate().sparkContext\nprint('sum', sc.parallelize(range(10)).sum(), flush=True)\ntime.sleep(600)\n")
		Expect(admin.Create(ctx, app)).To(Succeed())
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateRunning)
		Expect(s.DriverInfo.WebUIServiceName).To(Equal("shown-ui-svc"))
		Expect(s.DriverInfo.WebUIPort).To(BeEquivalentTo(4040))

		By("reading it through the Service, as an Ingress would that takes the path away")
		Eventually(func() (string, error) { return fetch(ctx, "http://"+s.DriverInfo.WebUIAddress+"/jobs/") }, jobWait, time.Second).
			Should(And(HavePrefix("200 OK"), ContainSubstring("Spark Jobs"), ContainSubstring(`"`+below+`static/`)))

		By("opening a tunnel")
		tunnel, stop := context.WithTimeout(ctx, jobWait)
		defer stop()
		cmd := exec.CommandContext(tunnel, clusterCmd, "exec", kubectlSpark, "ui", app.Name, "-n", app.Namespace, "--wait", "1m")
		stdout, err := cmd.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		cmd.Stderr = GinkgoWriter
		Expect(cmd.Start()).To(Succeed())
		lines := make(chan string, 1)
		go func() {
			line, _ := bufio.NewReader(stdout).ReadString('\n') // an empty line fails the test
			lines <- strings.TrimSpace(line)
		}()
		var url string
		Eventually(lines, jobWait).Should(Receive(&url))
		Expect(url).To(MatchRegexp(`^http://localhost:\d+` + below + `$`))
		Expect(fetch(ctx, url)).To(And(HavePrefix("200 OK"), ContainSubstring("Spark Jobs")), "also after the UI's redirect")
		Expect(fetch(ctx, url+"static/webui.css")).To(HavePrefix("200 OK"), "its links work")

		By("suspending it")
		edit(ctx, app, func(s *v1beta2.SparkApplicationSpec) { s.Suspend = ptr.To(true) })
		eventuallyState(ctx, app, v1beta2.ApplicationStateSuspended)
		Expect(cmd.Wait()).To(Succeed(), "the tunnel ends with the driver")
		err = admin.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: "shown-ui-svc"}, &corev1.Service{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		Expect(statusOf(ctx, app).DriverInfo.WebUIServiceName).To(BeEmpty())
	})
})

var _ = Describe("Decommissioning", Label(exhaustive), func() {
	ctx := context.Background()

	It("moves what an executor has cached before it goes, so that the job finishes without doing it again", func() {
		app := pythonJob(ctx, newNamespace(ctx, "decommission"), "4.1.4", sparkImage, "decommission.py")
		app.Spec.Executor.Instances = ptr.To[int32](2)
		app.Spec.Executor.TerminationGracePeriodSeconds = ptr.To[int64](60)
		app.Spec.SparkConf = map[string]string{
			"spark.decommission.enabled":                              "true",
			"spark.storage.decommission.enabled":                      "true",
			"spark.storage.decommission.rddBlocks.enabled":            "true",
			"spark.storage.decommission.shuffleBlocks.enabled":        "true",
			"spark.executor.decommission.killInterval":                "50s",
			"spark.storage.decommission.replicationReattemptInterval": "1s",
		}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyState(ctx, app, v1beta2.ApplicationStateRunning)
		Eventually(func() string { return driverLog(ctx, app) }, jobWait, time.Second).Should(ContainSubstring("ready\n"))

		By("draining the node of an executor")
		for _, pod := range podsOf(ctx, app) {
			if pod.Labels["spark-role"] == "executor" {
				Expect(admin.Delete(ctx, &pod)).To(Succeed())
				break
			}
		}
		eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		log := driverLog(ctx, app)
		for _, line := range []string{"sum at first: 499500", "computed at first: 1000 on 2 executors", "sum at last: 499500", "computed at last: 1000"} {
			Expect(log).To(ContainSubstring(line + "\n"))
		}
	})
})
