// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
)

// standalone is a cluster of two workers, from an image that has no scripts to start daemons with. Its user may not write below Spark's folder.
func standalone(namespace string) *v1.SparkCluster {
	o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "lab"}}
	o.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	o.Spec.SparkConf = map[string]string{"spark.kubernetes.container.image": sparkImage}
	o.Spec.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: 2, MinWorkers: 2, MaxWorkers: 2}
	small := []corev1.EnvVar{
		{Name: "SPARK_DAEMON_JAVA_OPTS", Value: quickStart + " -XX:SharedArchiveFile=/opt/spark/classes/spark.jsa"}, {Name: "SPARK_DAEMON_CLASSPATH", Value: "/opt/spark/classes/spark.jar"},
		{Name: "SPARK_DAEMON_MEMORY", Value: "256m"},
	}
	o.Spec.MasterSpec = &v1.MasterSpec{RoleObjects: v1.RoleObjects{StatefulSetSpec: &appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "master", Env: small}},
	}}}}}
	o.Spec.WorkerSpec = &v1.WorkerSpec{RoleObjects: v1.RoleObjects{StatefulSetSpec: &appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		Containers: []corev1.Container{{
			Name: "worker", Env: append(small, corev1.EnvVar{Name: "SPARK_WORKER_CORES", Value: "1"}, corev1.EnvVar{Name: "SPARK_WORKER_MEMORY", Value: "1g"}),
			VolumeMounts: []corev1.VolumeMount{{Name: "work", MountPath: "/opt/spark/work"}},
		}},
	}}}}}
	return o
}

// submit runs spark-submit in a pod of its own, as a client of the cluster, which has to be of the same Spark.
func submit(ctx context.Context, o *v1.SparkCluster, name, class, arguments string) *corev1.Pod {
	GinkgoHelper()
	image := cmp.Or(o.Spec.SparkConf["spark.kubernetes.container.image"], newestSparkImage)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "submit", Image: image, Command: []string{"bash", "-c"},
			Env: []corev1.EnvVar{{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
			Args: []string{fmt.Sprintf("/opt/spark/bin/spark-submit --master spark://%s-master-svc:7077 --conf spark.driver.host=$POD_IP --driver-memory 512m "+
				"--executor-memory 512m --driver-java-options '%s' --class %s /opt/spark/examples/jars/spark-examples.jar %s", o.Name, quickStart, class, arguments)},
		}},
	}}
	Expect(admin.Create(ctx, pod)).To(Succeed())
	return pod
}

// succeeds waits until a client has ended well, and has said something.
func succeeds(ctx context.Context, o *v1.SparkCluster, pod *corev1.Pod, says string) {
	GinkgoHelper()
	Eventually(func() corev1.PodPhase {
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		return pod.Status.Phase
	}, jobWait, poll).Should(Equal(corev1.PodSucceeded), func() string {
		return kubectl("logs", "-n", o.Namespace, pod.Name, "--tail=60") + clusterState(o)
	})
	Expect(kubectl("logs", "-n", o.Namespace, pod.Name)).To(ContainSubstring(says))
}

// submits computes pi on the cluster.
func submits(ctx context.Context, o *v1.SparkCluster, name string) {
	GinkgoHelper()
	succeeds(ctx, o, submit(ctx, o, name, "org.apache.spark.examples.SparkPi", "4"), "Pi is roughly 3.1")
}

func clusterState(o *v1.SparkCluster) string {
	return kubectl("describe", "sparkclusters", "-n", o.Namespace, o.Name) + kubectl("get", "pods", "-n", o.Namespace, "-o", "wide") +
		kubectl("logs", "-n", o.Namespace, "-l", "spark.operator/spark-cluster-name="+o.Name, "--prefix", "--tail=30")
}

func eventuallyClusterReady(ctx context.Context, o *v1.SparkCluster, message string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		ready := meta.FindStatusCondition(o.Status.Conditions, "Ready")
		g.Expect(ready).NotTo(BeNil())
		g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
		g.Expect(ready.Message).To(ContainSubstring(message))
	}, jobWait, poll).Should(Succeed(), func() string { return clusterState(o) })
}

var _ = Describe("A SparkCluster of spark.apache.org", func() {
	ctx := context.Background()

	It("takes jobs, before and after its pods are killed and its size is edited, and leaves nothing behind", func() {
		o := standalone(newNamespace(ctx, "standalone"))
		o.Finalizers = []string{v1.ClusterFinalizer}
		Expect(admin.Create(ctx, o)).To(Succeed())
		eventuallyClusterReady(ctx, o, "master: 1 of 1 ready, workers: 2 of 2 ready")
		submits(ctx, o, "first")
		Expect(kubectl("get", "sparkcluster", "-n", o.Namespace)).To(MatchRegexp(`NAME +AGE +CURRENT STATE\nlab +\S+ +RunningHealthy`))

		By("killing a worker and the master")
		pods := &corev1.PodList{}
		Expect(admin.List(ctx, pods, client.InNamespace(o.Namespace), client.MatchingLabels{v1.LabelClusterName: o.Name})).To(Succeed())
		Expect(pods.Items).To(HaveLen(3))
		kubectl("delete", "pod", "-n", o.Namespace, "lab-master-0", "lab-worker-0", "--grace-period=0", "--force")

		By("editing the number of workers")
		kubectl("patch", "sparkclusters", o.Name, "-n", o.Namespace, "--type", "merge", "-p",
			`{"spec": {"clusterTolerations": {"instanceConfig": {"initWorkers": 1, "minWorkers": 1, "maxWorkers": 1}}}}`)
		eventuallyClusterReady(ctx, o, "master: 1 of 1 ready, workers: 1 of 1 ready")
		submits(ctx, o, "second")
		kubectl("patch", "sparkclusters", o.Name, "-n", o.Namespace, "--type", "merge", "-p",
			`{"spec": {"clusterTolerations": {"instanceConfig": {"initWorkers": 2, "minWorkers": 2, "maxWorkers": 2}}}}`)
		eventuallyClusterReady(ctx, o, "master: 1 of 1 ready, workers: 2 of 2 ready")

		By("letting it be scaled, suspending it, and deleting it")
		kubectl("patch", "sparkclusters", o.Name, "-n", o.Namespace, "--type", "merge", "-p", `{"spec": {"clusterTolerations": {"instanceConfig": {"maxWorkers": 3}}}}`)
		Eventually(func() error {
			return admin.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: "lab-worker-hpa"}, &autoscalingv2.HorizontalPodAutoscaler{})
		}, jobWait, poll).Should(Succeed())
		kubectl("patch", "sparkclusters", o.Name, "-n", o.Namespace, "--type", "merge", "-p", `{"spec": {"suspend": true}}`)
		running := func() []corev1.Pod {
			Expect(admin.List(ctx, pods, client.InNamespace(o.Namespace), client.MatchingLabels{v1.LabelClusterName: o.Name})).To(Succeed())
			return pods.Items
		}
		Eventually(running, jobWait, poll).Should(BeEmpty())
		Expect(admin.Delete(ctx, o)).To(Succeed())
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(o), o) }, jobWait, poll).Should(MatchError(apierrors.IsNotFound, "not found"))
		Eventually(func() error {
			return admin.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: "lab-master-svc"}, &corev1.Service{})
		}, jobWait, poll).Should(MatchError(apierrors.IsNotFound, "not found"))
	})

	It("takes a job by REST, and one goes on when the master fails if what it knows is kept", func() {
		o := standalone(newNamespace(ctx, "standalonerest"))
		o.Spec.SparkConf["spark.master.rest.enabled"] = "true"
		o.Spec.SparkConf["spark.deploy.recoveryMode"], o.Spec.SparkConf["spark.deploy.recoveryDirectory"] = "FILESYSTEM", "/opt/spark/work/known"
		spec := &o.Spec.MasterSpec.StatefulSetSpec.Template.Spec
		spec.Volumes = []corev1.Volume{{Name: "known", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "known", MountPath: "/opt/spark/work"}}
		Expect(admin.Create(ctx, o)).To(Succeed())
		eventuallyClusterReady(ctx, o, "master: 1 of 1 ready, workers: 2 of 2 ready")
		master := &corev1.Pod{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: "lab-master-0"}, master)).To(Succeed())
		id := submitsByREST(ctx, master)
		Eventually(func() (string, error) {
			return call(ctx, http.MethodGet, master, "6066", "/v1/submissions/status/"+id, nil)
		}, jobWait, poll).Should(MatchRegexp(`"driverState" *: *"FINISHED"`), func() string { return clusterState(o) })

		By("killing a worker and failing the master while an application runs, which only its successor's memory of it lets it know")
		lasting := submit(ctx, o, "lasting", "io.firesteel.e2e.Behave", "sleep 20")
		known := func() (string, error) { return call(ctx, http.MethodGet, master, "8080", "/json/", nil) }
		Eventually(known, jobWait, poll).Should(MatchRegexp(`(?s)"activeapps" : \[ \{.*"behave-sleep".*"state" : "RUNNING".*"completedapps"`), func() string { return clusterState(o) })
		kubectl("delete", "pod", "-n", o.Namespace, "lab-worker-1", "--grace-period=0", "--force")
		kubectl("exec", "-n", o.Namespace, master.Name, "--", "pkill", "java")
		Eventually(func() int32 {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(master), master)).To(Succeed())
			return master.Status.ContainerStatuses[0].RestartCount
		}, jobWait, poll).Should(BeEquivalentTo(1))
		Eventually(known, jobWait, poll).Should(ContainSubstring("behave-sleep"), func() string { return clusterState(o) })
		succeeds(ctx, o, lasting, "done")
	})
})

// submitsByREST sends a short job, and returns its id.
func submitsByREST(ctx context.Context, master *corev1.Pod) string {
	GinkgoHelper()
	const jar = "file:/opt/spark/examples/jars/spark-examples.jar"
	body, err := json.Marshal(map[string]any{
		"action": "CreateSubmissionRequest", "clientSparkVersion": "4.1.4", "appResource": jar, "mainClass": "io.firesteel.e2e.Behave", "appArgs": []string{"sleep", "1"},
		"environmentVariables": map[string]string{"SPARK_ENV_LOADED": "1"},
		"sparkProperties": map[string]string{
			"spark.app.name": "by-rest", "spark.submit.deployMode": "cluster", "spark.master": "spark://" + master.Status.PodIP + ":7077", "spark.jars": jar,
			"spark.driver.memory": "512m", "spark.executor.memory": "512m", "spark.executor.extraJavaOptions": quickStart, "spark.driver.extraJavaOptions": quickStart,
		},
	})
	Expect(err).NotTo(HaveOccurred())
	var answer struct {
		SubmissionID string `json:"submissionId"`
		Success      bool   `json:"success"`
	}
	Eventually(func(g Gomega) {
		text, err := call(ctx, http.MethodPost, master, "6066", "/v1/submissions/create", bytes.NewReader(body))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(json.Unmarshal([]byte(text), &answer)).To(Succeed())
		g.Expect(answer.Success).To(BeTrue(), text)
	}, jobWait, poll).Should(Succeed())
	return answer.SubmissionID
}
