// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

var (
	applicationKind = v1beta2.GroupVersion.WithKind("SparkApplication")
	scheduleKind    = v1beta2.GroupVersion.WithKind("ScheduledSparkApplication")
	serverKind      = v1alpha1.SchemeGroupVersion.WithKind("SparkConnect")
	podGroupKind    = schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"}
)

// newAPI starts an API server that kubectl's configuration points to. The real one is in test/integration.
func newAPI(t *testing.T, objects ...client.Object) *testutil.APIServer {
	t.Helper()
	kinds := []schema.GroupVersionKind{applicationKind, scheduleKind, serverKind, appsv1.SchemeGroupVersion.WithKind("Deployment")}
	for _, kind := range []string{"Pod", "ResourceQuota", "Event", "ConfigMap", "Secret", "Namespace"} {
		kinds = append(kinds, corev1.SchemeGroupVersion.WithKind(kind))
	}
	a := testutil.NewAPIServer(t, kinds, objects...)
	useServer(t, a.URL)
	return a
}

// request is what is asked of all objects of a resource.
func request(verb, resource string) testutil.Request {
	return testutil.Request{Verb: verb, Resource: resource}
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
