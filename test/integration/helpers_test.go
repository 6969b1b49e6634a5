// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// writeCounter counts the writes that the operator sends, by namespace.
type writeCounter struct {
	next http.RoundTripper
	mu   sync.Mutex
	seen []string
}

func (w *writeCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		w.mu.Lock()
		w.seen = append(w.seen, r.Method+" "+r.URL.Path)
		w.mu.Unlock()
	}
	return w.next.RoundTrip(r)
}

// in returns the writes to a namespace.
func (w *writeCounter) in(namespace string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, s := range w.seen {
		if strings.Contains(s, "/namespaces/"+namespace+"/") {
			all = append(all, s)
		}
	}
	return all
}

func count(all []string, method, part string) int {
	n := 0
	for _, s := range all {
		if strings.HasPrefix(s, method+" ") && strings.Contains(s, part) {
			n++
		}
	}
	return n
}

var namespaces int

// newNamespace gives each spec a place of its own.
func newNamespace(ctx context.Context) string {
	namespaces++
	name := fmt.Sprintf("it-%d", namespaces)
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	return name
}

func sparkPi(namespace, name string) *v1beta2.SparkApplication {
	o := testutil.Pi(testutil.New(namespace, name), testutil.Executors(1))
	o.Spec.Driver.Memory, o.Spec.Executor.Memory = new("512m"), new("512m")
	return o
}

// app reads the application again.
func app(ctx context.Context, namespace, name string) *v1beta2.SparkApplication {
	var a v1beta2.SparkApplication
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &a)).To(Succeed())
	return &a
}

// change reads an object, changes it and writes it back, and does so again when the operator has written it meanwhile. It returns
// what is stored then.
func change[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c client.Client, namespace, name string, how func(P)) P {
	GinkgoHelper()
	var o P
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		o = new(T)
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
			return err
		}
		how(o)
		return c.Update(ctx, o)
	})).To(Succeed())
	return o
}

// edit changes the spec of an application.
func edit(ctx context.Context, namespace, name string, how func(*v1beta2.SparkApplicationSpec)) *v1beta2.SparkApplication {
	GinkgoHelper()
	return change(ctx, admin, namespace, name, func(a *v1beta2.SparkApplication) { how(&a.Spec) })
}

func eventuallyState(ctx context.Context, namespace, name string, want v1beta2.ApplicationStateType) {
	GinkgoHelper()
	Eventually(func() v1beta2.ApplicationStateType { return app(ctx, namespace, name).Status.AppState.State }, wait, poll).
		Should(Equal(want), func() string { return fmt.Sprintf("status: %+v", app(ctx, namespace, name).Status) })
}

func condition(ctx context.Context, namespace, name, kind string) metav1.Condition {
	c := meta.FindStatusCondition(app(ctx, namespace, name).Status.Conditions, kind)
	if c == nil {
		return metav1.Condition{}
	}
	return *c
}

func driverPod(ctx context.Context, namespace, name string) *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Eventually(func() error {
		return admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod)
	}, wait, poll).Should(Succeed())
	return &pod
}

// kubelet writes the status of a pod as a kubelet would.
func kubelet(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, container string, state corev1.ContainerState) {
	GinkgoHelper()
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: container, State: state}}
	Expect(admin.Status().Update(ctx, pod)).To(Succeed())
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func exited(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
}

// objectsOf lists what the application owns beside its pods.
func objectsOf(ctx context.Context, namespace string) []string {
	var names []string
	var maps corev1.ConfigMapList
	Expect(admin.List(ctx, &maps, client.InNamespace(namespace))).To(Succeed())
	for _, o := range maps.Items {
		if metav1.GetControllerOf(&o) != nil {
			names = append(names, "ConfigMap/"+o.Name)
		}
	}
	var services corev1.ServiceList
	Expect(admin.List(ctx, &services, client.InNamespace(namespace))).To(Succeed())
	for _, o := range services.Items {
		names = append(names, "Service/"+o.Name)
	}
	return names
}

func gone(ctx context.Context, o client.Object) func() bool {
	return func() bool { return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(o), o)) }
}
