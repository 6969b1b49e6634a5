/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package chart

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// foreign are groups of others, whose definitions are not here.
var foreign = []string{"monitoring.coreos.com", "cert-manager.io"}

// TestServerAccepts sends everything that is rendered to a real API server, which checks it and stores nothing.
func TestServerAccepts(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("KUBEBUILDER_ASSETS is not set: run make test")
		}
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; run make test-integration")
	}
	logf.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	server := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join(root, "config/crd/bases")}, ErrorIfCRDPathMissing: true,
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}
	cfg, err := server.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{namespace, "a", "b", "spark-operator", "opendatahub"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := c.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
	for _, cases := range []map[string]combination{combinations, options} {
		for name, tc := range cases {
			t.Run(name, func(t *testing.T) { accepts(t, c, render(t, tc.values)) })
		}
	}
	t.Run("Tests", func(t *testing.T) {
		text, err := helm(t, "{}")
		if err != nil {
			t.Fatal(err)
		}
		accepts(t, c, parse(t, text))
	})
	for _, tree := range trees(t) {
		t.Run(tree, func(t *testing.T) { accepts(t, c, kustomize(t, tree)) })
	}
}

func accepts(t *testing.T, c client.Client, all objects) {
	t.Helper()
	for _, key := range sorted(all) {
		o := all[key]
		if slices.Contains(foreign, o.GroupVersionKind().Group) {
			continue
		}
		if err := dryRun(t.Context(), c, o); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		clusterWide(t, c, o)
	}
}

func dryRun(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.FieldOwner("test"), client.ForceOwnership, client.DryRunAll)
}

// clusterWide holds Roles to what a Role can give: rules about kinds that belong to no namespace would never apply.
func clusterWide(t *testing.T, c client.Client, o *unstructured.Unstructured) {
	t.Helper()
	if o.GetKind() != "Role" {
		return
	}
	for _, rule := range as[roleRules](t, objects{"it": o}, "it").Rules {
		for _, resource := range rule.Resources {
			// A namespace counts as being in itself.
			if resource == "priorityclasses" || resource == "queues" || resource == "nodes" || resource == "customresourcedefinitions" {
				t.Errorf("Role %s/%s: %s belong to no namespace", o.GetNamespace(), o.GetName(), resource)
			}
		}
	}
}
