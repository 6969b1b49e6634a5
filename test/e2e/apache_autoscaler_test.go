// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// resourceMetrics is a server of the resource metrics API (metrics.k8s.io/v1beta1) for one container, of which each takes the same.
type resourceMetrics struct {
	container string
	// millicores is what each container takes.
	millicores atomic.Int64
	port       int
}

// serveResourceMetrics registers the API with the API server. It leaves before the server ends: an API that does not answer keeps namespaces from
// being deleted.
func serveResourceMetrics(ctx context.Context, namespace, container string) *resourceMetrics {
	GinkgoHelper()
	m := &resourceMetrics{container: container}
	server := httptest.NewUnstartedServer(m)
	server.Listener = listen()
	m.port = server.Listener.Addr().(*net.TCPAddr).Port
	server.StartTLS()
	DeferCleanup(server.Close)
	Expect(admin.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "metrics"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})).To(Succeed())
	registered := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": namespace, "name": "metrics", "port": int64(m.port)},
		},
	}}
	Expect(admin.Create(ctx, registered)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, registered)).To(Succeed()) })
	return m
}

// listen opens a port of the loopback where the API server is.
func listen() (l net.Listener) {
	GinkgoHelper()
	open := func() (err error) {
		l, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		return err
	}
	if ns := os.Getenv("FIRESTEEL_E2E_NETNS"); ns != "" {
		Expect(within(ns, open)).To(Succeed())
	} else {
		Expect(open()).To(Succeed())
	}
	return l
}

// ServeHTTP answers what an autoscaler asks, and the API server before it.
func (m *resourceMetrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const root = "/apis/metrics.k8s.io/v1beta1"
	var answer any
	switch namespace, pods := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, root+"/namespaces/"), "/pods"); {
	case r.URL.Path == root:
		answer = metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "metrics.k8s.io/v1beta1",
			APIResources: []metav1.APIResource{{Name: "pods", SingularName: "pod", Namespaced: true, Kind: "PodMetrics", Verbs: metav1.Verbs{"get", "list"}}},
		}
	case pods:
		items, err := m.measure(r.Context(), namespace, r.URL.Query().Get("labelSelector"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer = map[string]any{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": map[string]any{}, "items": items}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the client has gone
}

// measure returns the metrics of the pods that run.
func (m *resourceMetrics) measure(ctx context.Context, namespace, selector string) ([]any, error) {
	selected, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := admin.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selected}); err != nil {
		return nil, err
	}
	items := []any{}
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning {
			items = append(items, map[string]any{
				"metadata": map[string]any{"namespace": namespace, "name": pods.Items[i].Name}, "timestamp": time.Now().UTC().Format(time.RFC3339), "window": "1s",
				"containers": []any{map[string]any{"name": m.container, "usage": map[string]any{"cpu": resource.NewMilliQuantity(m.millicores.Load(), resource.DecimalSI).String()}}},
			})
		}
	}
	return items, nil
}

// The autoscaler is Kubernetes' own; it looks four times a minute.
var _ = Describe("The autoscaler of a SparkCluster", Label(exhaustive), func() {
	It("adds workers that are busy and takes them away when they are not, and an edit of the spec leaves their number to it", func(ctx SpecContext) {
		o := standalone(newNamespace(ctx, "autoscaler"))
		metrics := serveResourceMetrics(ctx, o.Namespace, "worker")
		metrics.millicores.Store(90)
		o.Spec.ClusterTolerations.InstanceConfig.InitWorkers, o.Spec.ClusterTolerations.InstanceConfig.MinWorkers = 1, 1
		worker := &o.Spec.WorkerSpec.StatefulSetSpec.Template.Spec.Containers[0]
		worker.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		at, fast := int32(50), int32(0)
		o.Spec.WorkerSpec.HorizontalPodAutoscalerSpec = &autoscalingv2.HorizontalPodAutoscalerSpec{
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
				Name: corev1.ResourceCPU, Container: "worker", Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &at},
			}}},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &fast}},
		}
		Expect(admin.Create(ctx, o)).To(Succeed())
		eventuallyClusterReady(ctx, o, "master: 1 of 1 ready, workers: 2 of 2 ready")

		By("editing what is not the number of workers, while there are more than the spec begins with")
		kubectl("patch", "sparkclusters", o.Name, "-n", o.Namespace, "--type", "merge", "-p", `{"spec": {"sparkConf": {"spark.worker.cleanup.enabled": "true"}}}`)
		Eventually(func(g Gomega) {
			text := kubectl("get", "statefulset", "lab-worker", "-n", o.Namespace, "-o", "jsonpath={.spec.replicas} {.status.updatedReplicas} {.status.readyReplicas} {.spec.template.spec.containers[0].env}")
			g.Expect(text).To(And(HavePrefix("2 2 2 "), ContainSubstring("cleanup")))
		}, jobWait, poll).Should(Succeed(), func() string { return clusterState(o) })

		metrics.millicores.Store(10)
		eventuallyClusterReady(ctx, o, "master: 1 of 1 ready, workers: 1 of 1 ready")
	})
})
