// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"math"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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

		By("asking a Spark Connect server that computes there, too (spark-connect-server-with-spark-cluster.yaml)")
		server := apachePi(o.Namespace, "connect")
		server.Spec.MainClass, server.Spec.Jars = "org.apache.spark.sql.connect.service.SparkConnectServer", ""
		maps.Copy(server.Spec.SparkConf, map[string]string{"spark.master": "spark://lab-master-svc:7077", "spark.cores.max": "1", "spark.driver.memory": "600m", "spark.sql.shuffle.partitions": "1"})
		Expect(admin.Create(ctx, server)).To(Succeed())
		answersNotebook(ctx, server)
	})

	It("serves the history of what ran, to those who have a token (spark-history-server-with-jws-filter.yaml)", func(ctx SpecContext) {
		app := apachePi(newNamespace(ctx, "history"), "history")
		app.Spec.MainClass, app.Spec.Jars = "org.apache.spark.deploy.history.HistoryServer", ""
		app.Spec.SparkConf["spark.history.fs.logDirectory"], app.Spec.SparkConf["spark.history.fs.update.interval"] = "file:///tmp", "2s"
		maps.Copy(app.Spec.SparkConf, filtered)
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{RestartConfig: &v1.RestartConfig{RestartPolicy: v1.RestartAlways, MaxRestartAttempts: ptr.To[int64](math.MaxInt64)}}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyApache(ctx, app, toRun)
		driver := &corev1.Pod{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: "history-0-driver"}, driver)).To(Succeed())
		kubectl("exec", "-n", app.Namespace, driver.Name, "--", "/opt/spark/bin/spark-submit", "--master", "local[1]", "--driver-memory", "512m", "--conf", "spark.eventLog.enabled=true",
			"--conf", "spark.eventLog.dir=file:///tmp", "--conf", "spark.ui.enabled=false", "--class", "org.apache.spark.examples.SparkPi", "/opt/spark/examples/jars/spark-examples.jar", "2")
		Eventually(func() (string, error) {
			return withToken(ctx, driver, "18080", "/api/v1/applications?status=completed")
		}, jobWait, poll).Should(ContainSubstring(`"name" : "Spark Pi"`))
		_, err := call(ctx, http.MethodGet, driver, "18080", "/api/v1/applications", nil)
		Expect(err).To(MatchError(ContainSubstring("403")))
	})

	// Spark's own way to create executors by a StatefulSet, which takes rights that no other driver needs (pi-statefulset.yaml).
	It("lets Kubernetes start the executors, as many as the driver asks for", func(ctx SpecContext) {
		app := apacheBehaves(newNamespace(ctx, "statefulset"), "sets", "sleep", "20")
		bindDrivers(ctx, app.Namespace, "spark-driver-statefulsets")
		maps.Copy(app.Spec.SparkConf, map[string]string{
			"spark.kubernetes.allocation.pods.allocator": "statefulset", "spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true",
			"spark.dynamicAllocation.maxExecutors": "2", "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
		})
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{ResourceRetainPolicy: v1.RetainOnFailure}
		Expect(admin.Create(ctx, app)).To(Succeed())
		set := &appsv1.StatefulSet{}
		key := client.ObjectKey{Namespace: app.Namespace, Name: "spark-s-sets-0-0"}
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, key, set)).To(Succeed())
			g.Expect(set.Status.ReadyReplicas).To(BeEquivalentTo(2))
		}, jobWait, poll).Should(Succeed(), func() string { return kubectl("get", "statefulsets,pods", "-n", app.Namespace) + apacheEvidence(app) })
		Expect(apachePods(ctx, app)).To(HaveLen(3), "the operator knows the executors by their labels")
		eventuallyApache(ctx, app, toRun+" Succeeded ResourceReleased")
		Eventually(func() error { return admin.Get(ctx, key, set) }, jobWait, poll).Should(MatchError(apierrors.IsNotFound, "not found"))
		Eventually(func() []corev1.Pod { return apachePods(ctx, app) }, jobWait, poll).Should(BeEmpty())
	})

	It("answers clients of Spark Connect from inside a job (pi-with-spark-connect-plugin.yaml)", func(ctx SpecContext) {
		app := apachePi(newNamespace(ctx, "plugin"), "plugin")
		app.Spec.MainClass, app.Spec.Jars, app.Spec.PyFiles = "", "", "local:///opt/job/main.py"
		app.Spec.ConfigMapSpecs = []v1.ConfigMapSpec{{Name: "program", Data: map[string]string{
			"main.py": "import threading\nfrom pyspark.sql import SparkSession\n\nSparkSession.builder.getOrCreate()\nthreading.Event().wait()\n",
		}}}
		app.Spec.DriverSpec = &v1.RoleSpec{PodTemplateSpec: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Volumes:    []corev1.Volume{{Name: "job", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "program"}}}}},
			Containers: []corev1.Container{{Name: "spark-kubernetes-driver", VolumeMounts: []corev1.VolumeMount{{Name: "job", MountPath: "/opt/job"}}}},
		}}}
		app.Spec.SparkConf["spark.plugins"], app.Spec.SparkConf["spark.driver.memory"] = "org.apache.spark.sql.connect.SparkConnectPlugin", "600m"
		app.Spec.SparkConf["spark.sql.shuffle.partitions"] = "1"
		Expect(admin.Create(ctx, app)).To(Succeed())
		answersNotebook(ctx, app)
	})

	It("fails after the time that Spark's own plugin gives its driver, and is kept (pi-with-driver-timeout.yaml)", func(ctx SpecContext) {
		app := apacheBehaves(newNamespace(ctx, "timeout"), "late", "sleep", "3600")
		app.Spec.SparkConf["spark.plugins"], app.Spec.SparkConf["spark.driver.timeout"] = "org.apache.spark.deploy.DriverTimeoutPlugin", "1min"
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{ResourceRetainPolicy: v1.RetainOnFailure}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyApache(ctx, app, toRun+" Failed TerminatedWithoutReleaseResources")
		Expect(kubectl("describe", "sparkapplications.spark.apache.org", "-n", app.Namespace, app.Name)).To(ContainSubstring("124"))
	})

	It("computes in one pod (pi-with-one-pod.yaml)", func(ctx SpecContext) {
		app := apachePi(newNamespace(ctx, "onepod"), "alone", "4")
		app.Spec.SparkConf["spark.kubernetes.driver.master"] = "local[2]"
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{ResourceRetainPolicy: v1.RetainAlways}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyApache(ctx, app, toRun+" Succeeded TerminatedWithoutReleaseResources")
		Expect(kubectl("logs", "-n", app.Namespace, "alone-0-driver")).To(ContainSubstring("Pi is roughly 3.1"))
		Expect(apachePods(ctx, app)).To(HaveLen(1))
	})

	It("claims a volume for each pod, and is written in the frozen version (pi-with-on-demand-pvc.yaml, pi-v1beta1.yaml)", func(ctx SpecContext) {
		app := apachePi(newNamespace(ctx, "claims"), "claims", "4")
		claimsOnDemand(ctx, app.Namespace, app.Spec.SparkConf, "driver", "executor")
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(app)
		Expect(err).NotTo(HaveOccurred())
		frozen := &unstructured.Unstructured{Object: content}
		frozen.SetAPIVersion("spark.apache.org/v1beta1")
		frozen.SetKind("SparkApplication")
		unstructured.RemoveNestedField(frozen.Object, "status")
		Expect(admin.Create(ctx, frozen)).To(Succeed())
		claims := func() []corev1.PersistentVolumeClaim {
			var list corev1.PersistentVolumeClaimList
			Expect(admin.List(ctx, &list, client.InNamespace(app.Namespace))).To(Succeed())
			return list.Items
		}
		Eventually(claims, jobWait, poll).Should(And(HaveLen(2), HaveEach(HaveField("Status.Phase", corev1.ClaimBound))), func() string { return apacheEvidence(app) })
		eventuallyApache(ctx, app, toRun+" Succeeded ResourceReleased")
		Eventually(claims, jobWait, poll).Should(BeEmpty(), "they go with the pods")
	})

	It("is held to as many executors as it says, in pods of templates without containers (pi-with-template.yaml, pi-with-instanceconfig.yaml)", func(ctx SpecContext) {
		app := apachePi(newNamespace(ctx, "template"), "template", "4")
		template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{PriorityClassName: "system-cluster-critical", TerminationGracePeriodSeconds: ptr.To[int64](0)}}
		app.Spec.DriverSpec, app.Spec.ExecutorSpec = &v1.RoleSpec{PodTemplateSpec: template}, &v1.RoleSpec{PodTemplateSpec: template}
		app.Spec.SparkConf["spark.executor.instances"], app.Spec.SparkConf["spark.kubernetes.executor.terminationGracePeriodSeconds"] = "2", "0s" // Spark overwrites the template's
		app.Spec.SparkConf["spark.kubernetes.driver.pod.excludedFeatureSteps"] = "org.apache.spark.deploy.k8s.features.KerberosConfDriverFeatureStep"
		app.Spec.ApplicationTolerations = &v1.ApplicationTolerations{
			InstanceConfig: &v1.InstanceConfig{InitExecutors: 2, MinExecutors: 2, MaxExecutors: 2}, ResourceRetainPolicy: v1.RetainAlways,
		}
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyApache(ctx, app, toRun+" Succeeded TerminatedWithoutReleaseResources")
		pods := apachePods(ctx, app)
		Expect(pods).To(HaveLen(3))
		Expect(pods).To(HaveEach(And(HaveField("Spec.PriorityClassName", "system-cluster-critical"), HaveField("Spec.TerminationGracePeriodSeconds", HaveValue(BeZero())))))
	})

	It("runs a cluster from templates with more than its daemons, whose UI asks for a token (cluster-with-template.yaml, cluster-with-jws-filter.yaml)", func(ctx SpecContext) {
		o := standalone(newNamespace(ctx, "templates"))
		o.Spec.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: 1, MinWorkers: 1, MaxWorkers: 1}
		maps.Copy(o.Spec.SparkConf, filtered)
		o.Spec.SparkConf["spark.ui.reverseProxy"], o.Spec.SparkConf["spark.master.ui.title"] = "true", "Spark Cluster with Template"
		note := metav1.ObjectMeta{Annotations: map[string]string{"customAnnotation": "annotation"}}
		for _, role := range []*v1.RoleObjects{&o.Spec.MasterSpec.RoleObjects, &o.Spec.WorkerSpec.RoleObjects} {
			spec := &role.StatefulSetSpec.Template.Spec
			spec.PriorityClassName, spec.SecurityContext = "system-cluster-critical", &corev1.PodSecurityContext{RunAsUser: new(int64)}
			spec.Containers = append(spec.Containers, corev1.Container{Name: "sidecar", Image: sparkImage, Command: []string{"sleep", "infinity"}})
			role.StatefulSetMetadata, role.ServiceMetadata = &note, &note
		}
		Expect(admin.Create(ctx, o)).To(Succeed())
		eventuallyClusterReady(ctx, o, "master: 1 of 1 ready, workers: 1 of 1 ready")
		submits(ctx, o, "first")
		for _, name := range []string{"lab-master-0", "lab-worker-0"} {
			var pod corev1.Pod
			Expect(admin.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: name}, &pod)).To(Succeed())
			Expect(pod.Spec.PriorityClassName).To(Equal("system-cluster-critical"))
			Expect(pod.Spec.Containers).To(ContainElement(HaveField("Name", "sidecar")))
		}
		for _, service := range []string{"lab-master-svc", "lab-worker-svc"} {
			Expect(kubectl("get", "service", service, "-n", o.Namespace, "-o", "jsonpath={.metadata.annotations}")).To(ContainSubstring("customAnnotation"))
		}
		var master corev1.Pod
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: "lab-master-0"}, &master)).To(Succeed())
		Expect(withToken(ctx, &master, "8080", "/json/")).To(ContainSubstring(`"aliveworkers" : 1`))
		_, err := call(ctx, http.MethodGet, &master, "8080", "/json/", nil)
		Expect(err).To(MatchError(ContainSubstring("403")))
	})
})

// filtered has Spark ask for a token that is signed with a key.
var filtered = map[string]string{
	"spark.ui.filters": "org.apache.spark.ui.JWSFilter", "spark.org.apache.spark.ui.JWSFilter.param.secretKey": base64.URLEncoding.EncodeToString([]byte(filterKey)),
}

const filterKey = "the key of the specs of this file, of more than 32 bytes"

// withToken asks a pod as call does, with a token that filtered lets pass.
func withToken(ctx context.Context, pod *corev1.Pod, port, path string) (string, error) {
	GinkgoHelper()
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"e2e"}`))
	mac := hmac.New(sha256.New, []byte(filterKey))
	_, err := mac.Write([]byte(unsigned))
	Expect(err).NotTo(HaveOccurred())
	return callAs(ctx, "Bearer "+unsigned+"."+base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), http.MethodGet, pod, port, path, nil)
}

// answersNotebook waits until a driver answers clients of Spark Connect.
func answersNotebook(ctx context.Context, app *v1.SparkApplication) {
	GinkgoHelper()
	interpreter := python(ctx, "4.1")
	eventuallyApache(ctx, app, toRun)
	var driver corev1.Pod
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-0-driver"}, &driver)).To(Succeed())
	Eventually(func() (string, error) { return ask(ctx, interpreter, "sc://"+driver.Status.PodIP+":15002") }, jobWait, poll).Should(
		ContainSubstring("all fares: 24500"), func() string { return apacheEvidence(app) })
}
