// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"math"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
)

// The examples of Apache's operator that no other spec runs, with what they need on this node.
var _ = Describe("An example of Apache's operator", Label(exhaustive), func() {
	It("runs the driver of an application whose executors are those of a standalone cluster", func(ctx SpecContext) {
		o := standalone(newNamespace(ctx, "oncluster"))
		Expect(admin.Create(ctx, o)).To(Succeed())
		eventuallyClusterReady(ctx, o, "master: 1 of 1 ready, workers: 2 of 2 ready")
		app := apachePi(o.Namespace, "pi", "4")
		app.Spec.SparkConf["spark.master"] = "spark://lab-master-svc:7077"
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{ResourceRetainPolicy: v1.RetainAlways}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyApache(ctx, app, toRun+" Succeeded TerminatedWithoutReleaseResources")
		Expect(kubectl("logs", "-n", app.Namespace, "pi-0-driver")).To(ContainSubstring("Pi is roughly 3.1"))
		Expect(apachePods(ctx, app)).To(HaveLen(1), "it has no executors of its own")
	})

	It("serves the history of what ran", func(ctx SpecContext) {
		app := apachePi(newNamespace(ctx, "history"), "history")
		app.Spec.MainClass, app.Spec.Jars = "org.apache.spark.deploy.history.HistoryServer", ""
		app.Spec.SparkConf["spark.history.fs.logDirectory"], app.Spec.SparkConf["spark.history.fs.update.interval"] = "file:///tmp", "2s"
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{RestartConfig: &v1.RestartConfig{RestartPolicy: v1.RestartAlways, MaxRestartAttempts: ptr.To[int64](math.MaxInt64)}}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyApache(ctx, app, toRun)
		driver := &corev1.Pod{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: "history-0-driver"}, driver)).To(Succeed())
		kubectl("exec", "-n", app.Namespace, driver.Name, "--", "/opt/spark/bin/spark-submit", "--master", "local[1]", "--driver-memory", "512m", "--conf", "spark.eventLog.enabled=true",
			"--conf", "spark.eventLog.dir=file:///tmp", "--conf", "spark.ui.enabled=false", "--class", "org.apache.spark.examples.SparkPi", "/opt/spark/examples/jars/spark-examples.jar", "2")
		Eventually(func() (string, error) {
			return call(ctx, http.MethodGet, driver, "18080", "/api/v1/applications?status=completed", nil)
		}, jobWait, poll).Should(ContainSubstring(`"name" : "Spark Pi"`))
	})
})
