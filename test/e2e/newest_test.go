// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// newestSpark is the newest that manifests may name, whose image a SparkCluster gets that names none. hack/test.sh loads it where all is proven.
const newestSpark, newestSparkImage = "4.3.0", "apache/spark:4.3.0"

var _ = Describe("The newest Spark", Label(exhaustive), func() {
	ctx := context.Background()

	It("computes pi in Scala, with two executors", func() {
		app := sparkPi(newNamespace(ctx, "newest"), "pi", "10")
		app.Spec.SparkVersion, app.Spec.Image, app.Spec.Executor.Instances = newestSpark, ptr.To(newestSparkImage), ptr.To[int32](2)
		Expect(admin.Create(ctx, app)).To(Succeed())
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, app)).To(And(ContainSubstring("Running Spark version "+newestSpark), ContainSubstring("Pi is roughly 3.1")))
		Expect(s.ExecutorState).To(HaveLen(2))
	})

	It("computes pi in Python", func() {
		app := sparkPi(newNamespace(ctx, "newest-python"), "pi", "4")
		app.Spec.Type, app.Spec.MainClass, app.Spec.SparkVersion, app.Spec.Image = v1beta2.ApplicationTypePython, nil, newestSpark, ptr.To(newestSparkImage)
		app.Spec.MainApplicationFile = ptr.To("local:///opt/spark/examples/src/main/python/pi.py")
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, app)).To(ContainSubstring("Pi is roughly 3.1"))
	})

	It("answers clients of Spark Connect", func() {
		server := connectServer(newNamespace(ctx, "newest-connect"), newestSpark, newestSparkImage)
		Expect(admin.Create(ctx, server)).To(Succeed())
		takesClients(ctx, server, corev1.Pod{})
		answers(ctx, server, python(ctx, "4.1"), serviceURL(ctx, server, ""))
	})

	It("runs an application of spark.apache.org", func() {
		app := apachePi(newNamespace(ctx, "newest-apache"), "pi", "10")
		app.Spec.RuntimeVersions.SparkVersion, app.Spec.SparkConf["spark.kubernetes.container.image"] = newestSpark, newestSparkImage
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{ResourceRetainPolicy: v1.RetainAlways}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyApache(ctx, app, toRun+" Succeeded TerminatedWithoutReleaseResources")
		Expect(kubectl("logs", "-n", app.Namespace, "pi-0-driver")).To(ContainSubstring("Pi is roughly 3.1"))
	})

	It("is in the cluster that names no image, which takes jobs", func() {
		o := standalone(newNamespace(ctx, "newest-cluster"))
		o.Spec.RuntimeVersions.SparkVersion = newestSpark
		delete(o.Spec.SparkConf, "spark.kubernetes.container.image")
		Expect(admin.Create(ctx, o)).To(Succeed())
		eventuallyClusterReady(ctx, o, "master: 1 of 1 ready, workers: 2 of 2 ready")
		var workers appsv1.StatefulSet
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: "lab-worker"}, &workers)).To(Succeed())
		Expect(workers.Spec.Template.Spec.Containers[0].Image).To(Equal(newestSparkImage))
		submits(ctx, o, "first")
	})
})
