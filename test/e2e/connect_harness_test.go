// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
)

// notebook is the example of docs/spark-connect.md.
var notebook = filepath.Join("..", "..", "docs", "notebook.py")

// python is a Spark Connect client of a minor.
func python(ctx context.Context, minor string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, filepath.Join("..", "..", "hack", "tools", "spark-clients.sh"))
	cmd.Stderr = GinkgoWriter
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), "getting the clients of Spark Connect")
	return filepath.Join(strings.TrimSpace(string(out)), "python-"+minor)
}

// connectServer is a small server without executors while nobody asks anything.
func connectServer(namespace, version, image string) *v1alpha1.SparkConnect {
	role := v1alpha1.SparkPodSpec{Cores: ptr.To[int32](1), Memory: ptr.To("600m")}
	server, executor := role, role
	server.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{ServiceAccountName: "spark"}}
	executor.Memory = ptr.To("512m")
	return &v1alpha1.SparkConnect{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "notebooks"},
		Spec: v1alpha1.SparkConnectSpec{
			SparkVersion: version, Image: &image,
			SparkConf: map[string]string{
				"spark.kubernetes.driver.request.cores":             "100m",
				"spark.kubernetes.executor.request.cores":           "100m",
				"spark.driver.extraJavaOptions":                     quickStart,
				"spark.executor.extraJavaOptions":                   quickStart,
				"spark.dynamicAllocation.executorIdleTimeout":       "3s",
				"spark.sql.shuffle.partitions":                      "1",
				"spark.dynamicAllocation.shuffleTracking.timeout":   "3s",
				"spark.dynamicAllocation.cachedExecutorIdleTimeout": "3s",
			},
			Server: v1alpha1.ServerSpec{SparkPodSpec: server}, Executor: v1alpha1.ExecutorSpec{SparkPodSpec: executor},
			DynamicAllocation: &v1alpha1.DynamicAllocation{Enabled: true, MinExecutors: ptr.To[int32](0), MaxExecutors: ptr.To[int32](1)},
			DrainTimeout:      &metav1.Duration{Duration: jobWait},
		},
	}
}

// eventuallyServer waits until a server's status is as a function wants it.
func eventuallyServer(ctx context.Context, server *v1alpha1.SparkConnect, is func(Gomega, v1alpha1.SparkConnectStatus)) v1alpha1.SparkConnectStatus {
	GinkgoHelper()
	var current v1alpha1.SparkConnect
	Eventually(func(g Gomega) {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(server), &current)).To(Succeed())
		is(g, current.Status)
	}, jobWait, poll).Should(Succeed(), func() string { return serverEvidence(server) })
	return current.Status
}

// takesClients waits until a server is ready on a pod of another name or UID than the given one, and returns its pod.
func takesClients(ctx context.Context, server *v1alpha1.SparkConnect, not corev1.Pod) corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	eventuallyServer(ctx, server, func(g Gomega, s v1alpha1.SparkConnectStatus) {
		g.Expect(s.State).To(Equal(v1alpha1.SparkConnectStateReady))
		g.Expect(meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionServerPodReady)).To(BeTrue())
		g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: s.Server.PodName}, &pod)).To(Succeed())
		g.Expect(pod.UID).NotTo(Equal(not.UID))
		g.Expect(pod.Status.PodIP).To(Equal(s.Server.PodIP))
	})
	return pod
}

// eventuallySays waits for a condition's status and reason.
func eventuallySays(ctx context.Context, server *v1alpha1.SparkConnect, condition string, status metav1.ConditionStatus, reason string) v1alpha1.SparkConnectStatus {
	GinkgoHelper()
	return eventuallyServer(ctx, server, func(g Gomega, s v1alpha1.SparkConnectStatus) {
		c := meta.FindStatusCondition(s.Conditions, condition)
		g.Expect(c).NotTo(BeNil())
		g.Expect(string(c.Status)+" "+c.Reason).To(Equal(string(status)+" "+reason), c.Message)
	})
}

func changeServer(ctx context.Context, server *v1alpha1.SparkConnect, how func(*v1alpha1.SparkConnectSpec)) {
	GinkgoHelper()
	change(ctx, client.ObjectKeyFromObject(server), func(o *v1alpha1.SparkConnect) { how(&o.Spec) })
}

// serverEvidence is what a person would look at.
func serverEvidence(server *v1alpha1.SparkConnect) string {
	text := kubectl("describe", "sparkconnect", "-n", server.Namespace, server.Name) + kubectl("get", "pods,services", "-n", server.Namespace, "-o", "wide") +
		kubectl("logs", "-n", operatorNamespace, "deploy/"+operatorName, "--tail=30")
	var pod corev1.Pod
	key := client.ObjectKey{Namespace: server.Namespace, Name: server.Name + "-server"}
	if err := admin.Get(context.Background(), key, &pod); err == nil && pod.Status.Phase != corev1.PodPending {
		text += pod.Name + ":\n" + kubectl("logs", "-n", server.Namespace, pod.Name, "--all-containers", "--tail=60")
	}
	return text
}

// serviceURL is where clients in the cluster find a server. They have no TLS, and present a token as the header that it is.
func serviceURL(ctx context.Context, server *v1alpha1.SparkConnect, token string) string {
	GinkgoHelper()
	var service corev1.Service
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: server.Name + "-server"}, &service)).To(Succeed())
	url := "sc://" + service.Spec.ClusterIP + ":15002"
	if token != "" {
		url += "/;authorization=Bearer%20" + token
	}
	return url
}

// ask runs the notebook in the cluster's network.
func ask(ctx context.Context, interpreter, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, jobWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, clusterCmd, "exec", interpreter, notebook)
	cmd.Env = append(os.Environ(), "SPARK_REMOTE="+url)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// answers runs the notebook against a server, which is to answer it.
func answers(ctx context.Context, server *v1alpha1.SparkConnect, interpreter, url string) {
	GinkgoHelper()
	out, err := ask(ctx, interpreter, url)
	Expect(err).NotTo(HaveOccurred(), func() string { return out + serverEvidence(server) })
	Expect(out).To(And(ContainSubstring("connected to Spark "+server.Spec.SparkVersion), ContainSubstring("all fares: 24500")))
}

// open is a program with a session that it keeps.
type open struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string
}

// openSession connects with a client and keeps its session.
func openSession(ctx context.Context, interpreter, url string) *open {
	GinkgoHelper()
	bounded, cancel := context.WithTimeout(ctx, 2*jobWait)
	DeferCleanup(cancel)
	o := &open{lines: make(chan string, 10), cmd: exec.CommandContext(bounded, clusterCmd, "exec", interpreter, filepath.Join("testdata", "session.py"))}
	o.cmd.Env, o.cmd.Stderr = append(os.Environ(), "SPARK_REMOTE="+url), GinkgoWriter
	stdout, err := o.cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	o.stdin, err = o.cmd.StdinPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(o.cmd.Start()).To(Succeed())
	go func() {
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			o.lines <- scanner.Text()
		}
		close(o.lines)
	}()
	Eventually(o.lines, jobWait).Should(Receive(HavePrefix("open ")))
	return o
}

// ask has an expression computed in the session.
func (o *open) ask(expression, answer string) {
	GinkgoHelper()
	_, err := io.WriteString(o.stdin, expression+"\n")
	Expect(err).NotTo(HaveOccurred())
	Eventually(o.lines, jobWait).Should(Receive(Equal(expression + " = " + answer)))
}

// stop ends the session as its user does.
func (o *open) stop() {
	GinkgoHelper()
	Expect(o.stdin.Close()).To(Succeed())
	Eventually(o.lines, jobWait).Should(Receive(Equal("stopped")))
	Expect(o.cmd.Wait()).To(Succeed())
}

// forwarding is kubectl spark connect, which holds a port.
func forwarding(ctx context.Context, server *v1alpha1.SparkConnect) (url string, stop func()) {
	GinkgoHelper()
	bounded, cancel := context.WithTimeout(ctx, 3*jobWait)
	DeferCleanup(cancel)
	cmd := exec.CommandContext(bounded, clusterCmd, "exec", kubectlSpark, "connect", server.Name, "-n", server.Namespace)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = GinkgoWriter
	stdout, err := cmd.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(cmd.Start()).To(Succeed())
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n') // an empty line fails the test
		lines <- strings.TrimSpace(line)
	}()
	Eventually(lines, jobWait).Should(Receive(&url))
	return url, func() {
		GinkgoHelper()
		cancel()
		if err := cmd.Wait(); !errors.Is(err, context.Canceled) {
			Expect(err).NotTo(HaveOccurred(), "Ctrl-C ends it well")
		}
	}
}
