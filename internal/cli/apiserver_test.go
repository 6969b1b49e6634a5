// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

var (
	applicationKind = v1beta2.GroupVersion.WithKind("SparkApplication")
	scheduleKind    = v1beta2.GroupVersion.WithKind("ScheduledSparkApplication")
	serverKind      = v1alpha1.SchemeGroupVersion.WithKind("SparkConnect")
	apacheKind      = v1.SchemeGroupVersion.WithKind("SparkApplication")
	clusterKind     = v1.SchemeGroupVersion.WithKind("SparkCluster")
	podGroupKind    = schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"}
)

// What listens for signals is started once and stays: in a bubble it would keep the test from its end.
func TestMain(m *testing.M) {
	_, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	stop()
	os.Exit(m.Run())
}

// newAPI starts an API server that kubectl's configuration points to. The real one is in test/integration.
func newAPI(t *testing.T, objects ...client.Object) *apiserver.Server {
	t.Helper()
	return serving(t, apiserver.New, objects)
}

// newMemoryAPI starts one for a test in a bubble of testing/synctest. The clock there goes on only when everybody waits, so that a timeout
// is over after all answers have come, however busy the machine is.
func newMemoryAPI(t *testing.T, objects ...client.Object) *apiserver.Server {
	t.Helper()
	return serving(t, apiserver.NewInMemory, objects)
}

// serving starts an API server in one of the ways in which testutil has it.
func serving(t *testing.T, begin func(*testing.T, []schema.GroupVersionKind, ...client.Object) *apiserver.Server, objects []client.Object) *apiserver.Server {
	t.Helper()
	kinds := []schema.GroupVersionKind{applicationKind, scheduleKind, serverKind, apacheKind, clusterKind, appsv1.SchemeGroupVersion.WithKind("Deployment"),
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"), networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
		autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"),
		admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"),
		authorizationv1.SchemeGroupVersion.WithKind("LocalSubjectAccessReview"), authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"),
		discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
	}
	for _, kind := range []string{"Pod", "ResourceQuota", "Event", "ConfigMap", "Secret", "Namespace", "Service", "ServiceAccount"} {
		kinds = append(kinds, corev1.SchemeGroupVersion.WithKind(kind))
	}
	a := begin(t, kinds, objects...)
	useServer(t, a.URL)
	return a
}

// request is what is asked of all objects of a resource.
func request(verb, resource string) apiserver.Request {
	return apiserver.Request{Verb: verb, Resource: resource}
}

// useServer writes a kubeconfig for a server and namespace jobs.
func useServer(t *testing.T, url string) {
	t.Helper()
	config := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": %q}}], "users": [{"name": "u", "user": {}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "jobs"}}]}`, url)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
}
