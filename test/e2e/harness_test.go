// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// newNamespace makes a namespace in which Spark jobs may run: with the rights that the samples give their drivers.
func newNamespace(ctx context.Context, name string) string {
	GinkgoHelper()
	namespace := labelledNamespace(ctx, name, nil)
	Expect(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: chartAccount}})).To(Succeed())
	return namespace
}

const (
	// driverAccount is the account of the drivers of these tests, chartAccount that of pages and samples: the chart makes it.
	driverAccount = "spark"
	chartAccount  = "spark-operator-spark"
)

// ownNamespace makes one for an operator that the spec installs: that of the suite leaves it alone.
func ownNamespace(ctx context.Context, name string) string {
	GinkgoHelper()
	return labelledNamespace(ctx, name, map[string]string{"e2e": "own"})
}

func labelledNamespace(ctx context.Context, name string, labels map[string]string) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Labels: labels}}
	Expect(admin.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func() { Expect(client.IgnoreNotFound(admin.Delete(context.Background(), ns))).To(Succeed()) })
	Expect(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: driverAccount}})).To(Succeed())
	bindDrivers(ctx, ns.Name, "spark-driver")
	return ns.Name
}

// bindDrivers gives the drivers of a namespace what a folder of config/rbac has for them.
func bindDrivers(ctx context.Context, namespace, folder string) {
	GinkgoHelper()
	var role rbacv1.Role
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", folder, "role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.UnmarshalStrict(text, &role)).To(Succeed())
	role.Namespace = namespace
	Expect(admin.Create(ctx, &role)).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{
			{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: driverAccount}, {Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: chartAccount},
		},
	})).To(Succeed())
}

func sparkPi(namespace, name string, arguments ...string) *v1beta2.SparkApplication {
	role := v1beta2.SparkPodSpec{Cores: ptr.To[int32](1), Memory: ptr.To("512m")}
	driver, executor := role, role
	driver.ServiceAccount = ptr.To(driverAccount)
	return &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta2.SparkApplicationSpec{
			Type: v1beta2.ApplicationTypeScala, SparkVersion: "4.1.4", Image: ptr.To(sparkImage),
			MainClass:           ptr.To("org.apache.spark.examples.SparkPi"),
			MainApplicationFile: ptr.To("local:///opt/spark/examples/jars/spark-examples.jar"),
			Arguments:           arguments,
			// most of such a job is the start of two Java machines: half of its time goes into the better compiler otherwise
			Driver:   v1beta2.DriverSpec{SparkPodSpec: driver, CoreRequest: ptr.To("100m"), JavaOptions: ptr.To(quickStart)},
			Executor: v1beta2.ExecutorSpec{SparkPodSpec: executor, CoreRequest: ptr.To("100m"), JavaOptions: ptr.To(quickStart), Instances: ptr.To[int32](1)},
		},
	}
}

// endless is an application that has an executor and hardly takes a processor's time, until someone ends it.
func endless(namespace, name string) *v1beta2.SparkApplication {
	app := sparkPi(namespace, name, "sleep", "3600")
	app.Spec.MainClass = ptr.To("io.firesteel.e2e.Behave")
	return app
}

func statusOf(ctx context.Context, app *v1beta2.SparkApplication) v1beta2.SparkApplicationStatus {
	GinkgoHelper()
	var a v1beta2.SparkApplication
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(app), &a)).To(Succeed())
	return a.Status
}

// eventuallyState waits for a state and gives up early on a final one that is not it.
func eventuallyState(ctx context.Context, app *v1beta2.SparkApplication, want v1beta2.ApplicationStateType) v1beta2.SparkApplicationStatus {
	GinkgoHelper()
	var last v1beta2.SparkApplicationStatus
	Eventually(func(g Gomega) {
		last = statusOf(ctx, app)
		got := last.AppState.State
		if got != want && isFinal(got) {
			StopTrying(fmt.Sprintf("%s is %s: %s\n%s", app.Name, got, last.AppState.ErrorMessage, evidence(app))).Now()
		}
		g.Expect(got).To(Equal(want))
	}, jobWait, poll).Should(Succeed(), func() string { return evidence(app) })
	return last
}

func isFinal(s v1beta2.ApplicationStateType) bool {
	return s == v1beta2.ApplicationStateCompleted || s == v1beta2.ApplicationStateFailed
}

// evidence is what a person would look at.
func evidence(app *v1beta2.SparkApplication) string {
	text := kubectl("describe", "sparkapplications.sparkoperator.k8s.io", "-n", app.Namespace, app.Name) + kubectl("get", "pods", "-n", app.Namespace, "-o", "wide") +
		kubectl("logs", "-n", operatorNamespace, "deploy/"+operatorName, "--tail=30")
	for _, pod := range podsOf(context.Background(), app) {
		if pod.Status.Phase != corev1.PodPending {
			text += pod.Name + ":\n" + kubectl("logs", "-n", app.Namespace, pod.Name, "--all-containers", "--tail=60")
		}
	}
	return text
}

func driverLog(ctx context.Context, app *v1beta2.SparkApplication) string {
	GinkgoHelper()
	var driver corev1.Pod
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-driver"}, &driver)).To(Succeed())
	// Spark's container is the first one, as tools expect it.
	options := &corev1.PodLogOptions{Container: driver.Spec.Containers[0].Name}
	stream, err := clientset.CoreV1().Pods(app.Namespace).GetLogs(driver.Name, options).Stream(ctx)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = stream.Close() }()
	text, err := io.ReadAll(stream)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func podsOf(ctx context.Context, app *v1beta2.SparkApplication) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(admin.List(ctx, &pods, client.InNamespace(app.Namespace), client.MatchingLabels{v1beta2.LabelAppName: app.Name})).To(Succeed())
	return pods.Items
}

// history records every state that an application shows, through a watch.
type history struct {
	mu     sync.Mutex
	states []v1beta2.ApplicationStateType
}

func watchStates(ctx context.Context, app *v1beta2.SparkApplication) *history {
	GinkgoHelper()
	w, err := admin.Watch(ctx, &v1beta2.SparkApplicationList{}, client.InNamespace(app.Namespace))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	h := &history{}
	go func() {
		for e := range w.ResultChan() {
			a, ok := e.Object.(*v1beta2.SparkApplication)
			if !ok || a.Name != app.Name || e.Type == watch.Deleted {
				continue
			}
			h.mu.Lock()
			if s := a.Status.AppState.State; len(h.states) == 0 || h.states[len(h.states)-1] != s {
				h.states = append(h.states, s)
			}
			h.mu.Unlock()
		}
	}()
	return h
}

func (h *history) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	words := make([]string, 0, len(h.states))
	for _, s := range h.states {
		words = append(words, string(s))
	}
	return strings.Join(words, " ")
}
