// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"archive/zip"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
)

// sparkUI is the UI of a server: recorded pages, served on this machine at the address of a pod.
type sparkUI struct {
	podIP string
	page  atomic.Pointer[string]
}

var (
	// podsAt are the listeners of pods, by the address of their UI.
	podsAt sync.Map
	podIPs atomic.Int32
)

// dial connects to pods as a cluster's network does, and to everything else as usual.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	if listener, isPod := podsAt.Load(address); isPod {
		address, _ = listener.(string)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

// startUI serves a page until the spec ends.
func startUI(page string) *sparkUI {
	GinkgoHelper()
	ui := &sparkUI{podIP: fmt.Sprintf("192.0.2.%d", podIPs.Add(1))}
	ui.shows(page)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/connect/" { // as Spark does with its page of streaming queries, until the first was started
			http.Redirect(w, r, "/jobs/", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(*ui.page.Load()))
	}))
	DeferCleanup(s.Close)
	podsAt.Store(net.JoinHostPort(ui.podIP, "4040"), s.Listener.Addr().String())
	return ui
}

// shows changes what is served: one of the pages that were recorded of Spark 4.1.4.
func (u *sparkUI) shows(page string) {
	GinkgoHelper()
	archive, err := zip.OpenReader(filepath.Join("..", "..", "internal", "observe", "testdata", "connect-pages.zip"))
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = archive.Close() }() // it was only read
	text, err := fs.ReadFile(archive, "4.1.4-"+page+".html")
	Expect(err).NotTo(HaveOccurred())
	u.page.Store(new(string(text)))
}

// connectServer is a Spark Connect server.
func connectServer(namespace string, change ...func(*v1alpha1.SparkConnect)) *v1alpha1.SparkConnect {
	o := &v1alpha1.SparkConnect{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "notebooks"},
		Spec:       v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4", Image: new("registry.example.org/spark:4.1.4"), SparkConf: map[string]string{}},
	}
	o.Spec.Server.Memory, o.Spec.Executor.Memory, o.Spec.Executor.Instances = new("512m"), new("512m"), new(int32(1))
	for _, c := range change {
		c(o)
	}
	return o
}

// notebooks is the server of a namespace, as it is now.
func notebooks(ctx context.Context, namespace string) *v1alpha1.SparkConnect {
	GinkgoHelper()
	var o v1alpha1.SparkConnect
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "notebooks"}, &o)).To(Succeed())
	return &o
}

// editNotebooks changes the server of a namespace.
func editNotebooks(ctx context.Context, namespace string, how func(*v1alpha1.SparkConnect)) {
	GinkgoHelper()
	change(ctx, admin, namespace, "notebooks", how)
}

func eventuallyServer(ctx context.Context, namespace string, want v1alpha1.SparkConnectState) {
	GinkgoHelper()
	Eventually(func() v1alpha1.SparkConnectState { return notebooks(ctx, namespace).Status.State }, wait, poll).
		Should(Equal(want), func() string { return fmt.Sprintf("status: %+v", notebooks(ctx, namespace).Status) })
}

// serverReason is the reason of one of the server's conditions.
func serverReason(ctx context.Context, namespace, kind string) func() string {
	return func() string {
		c := meta.FindStatusCondition(notebooks(ctx, namespace).Status.Conditions, kind)
		if c == nil {
			return ""
		}
		return c.Reason
	}
}

// serverPod waits for the server's pod, which is not the one that it replaces.
func serverPod(ctx context.Context, namespace string, before *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Eventually(func(g Gomega) {
		g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "notebooks-server"}, &pod)).To(Succeed())
		g.Expect(pod.DeletionTimestamp).To(BeNil())
		if before != nil {
			g.Expect(pod.UID).NotTo(Equal(before.UID))
		}
	}, wait, poll).Should(Succeed(), func() string { return fmt.Sprintf("status: %+v", notebooks(ctx, namespace).Status) })
	return &pod
}

// takesClients writes the status of a server's pod as a kubelet does once its probes succeed.
func takesClients(ctx context.Context, pod *corev1.Pod, ui *sparkUI) {
	GinkgoHelper()
	started := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	pod.Status.PodIP = "192.0.2.254" // no UI is there
	if ui != nil {
		pod.Status.PodIP = ui.podIP
	}
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	kubelet(ctx, pod, corev1.PodRunning, driverContainer, started)
}

// isReady brings a new server to where it accepts clients.
func isReady(ctx context.Context, namespace string, before *corev1.Pod, ui *sparkUI) *corev1.Pod {
	GinkgoHelper()
	pod := serverPod(ctx, namespace, before)
	takesClients(ctx, pod, ui)
	eventuallyServer(ctx, namespace, v1alpha1.SparkConnectStateReady)
	return pod
}

// clientsService is the Service of the server's clients.
func clientsService(ctx context.Context, namespace string) *corev1.Service {
	GinkgoHelper()
	var s corev1.Service
	Eventually(func() error {
		return admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "notebooks-server"}, &s)
	}, wait, poll).Should(Succeed())
	return &s
}

// secretsOf are the Secrets of a namespace.
func secretsOf(ctx context.Context, namespace string) []corev1.Secret {
	GinkgoHelper()
	var all corev1.SecretList
	Expect(admin.List(ctx, &all, client.InNamespace(namespace))).To(Succeed())
	return all.Items
}

// goes lets a pod end that the operator deletes, as its kubelet does.
func goes(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	var now corev1.Pod
	Eventually(func(g Gomega) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(pod), &now)
		g.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
		g.Expect(err != nil || now.UID != pod.UID || now.DeletionTimestamp != nil).To(BeTrue(), "the server runs on")
	}, wait, poll).Should(Succeed())
	if now.UID == pod.UID {
		Expect(client.IgnoreNotFound(admin.Delete(ctx, &now, client.GracePeriodSeconds(0)))).To(Succeed())
	}
}

func ownedBy(o client.Object, owner client.Object) bool {
	ref := metav1.GetControllerOf(o)
	return ref != nil && ref.UID == owner.GetUID()
}
