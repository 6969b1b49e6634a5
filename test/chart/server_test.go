// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/firesteel-dev/firesteel/test/definitions"
)

// compositions are the components of config, with what people put them on.
var compositions = map[string]struct {
	resources, components []string
	namespace             string // of everything
}{
	"CertManager":  {resources: []string{"config/overlays/webhook"}, components: []string{"config/certmanager"}},
	"Prometheus":   {resources: []string{"config/default"}, components: []string{"config/prometheus", "config/network-policy"}},
	"Applications": {components: []string{"config/prometheus/applications"}, namespace: namespace},
	"Rights":       {resources: []string{"config/default"}, components: []string{"config/rbac/schedulers", "config/rbac/exposure", "config/rbac/namespaces"}},
	"Memory":       {resources: []string{"config/default"}, components: []string{"config/executor-memory"}},
	"Executors":    {resources: []string{"config/default"}, components: []string{"config/admission-policy"}},
	"Scrapers":     {resources: []string{"config/overlays/webhook"}, components: []string{"config/metrics-authentication"}},
}

// composed is the kustomization of some folders of this repository.
func composed(t *testing.T, resources, components []string, namespace string) objects {
	t.Helper()
	here, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	relative := func(folders []string) []string {
		found := []string{}
		for _, folder := range folders {
			to, err := filepath.Abs(filepath.Join(root, folder))
			if err != nil {
				t.Fatal(err)
			}
			if to, err = filepath.Rel(here, to); err != nil {
				t.Fatal(err)
			}
			found = append(found, to)
		}
		return found
	}
	text := toJSON(t, map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": namespace,
		"resources": relative(resources), "components": relative(components),
	})
	if err := os.WriteFile(filepath.Join(here, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, tool(t, "kubernetes", "kubectl"), "kustomize", here)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, out)
}

// definedByOthers are the files that define the kinds of others that are rendered.
func definedByOthers(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, files := range []definitions.Files{definitions.GatewayAPI, definitions.CertManager, definitions.PrometheusOperator} {
		paths, err := files.Paths(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, paths...)
	}
	return all
}

// TestServerAccepts sends everything that is rendered to a real API server, which checks it and stores nothing. A field that is not in
// its schema is refused: to apply is always strict.
func TestServerAccepts(t *testing.T) {
	needsServer(t)
	logf.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	server := &envtest.Environment{
		CRDDirectoryPaths: append(definedByOthers(t), filepath.Join(root, "config/crd/bases")), ErrorIfCRDPathMissing: true,
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
	for _, name := range []string{namespace, "a", "b", "spark-operator", "opendatahub", "spark-jobs"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := c.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
	for _, cases := range []map[string]combination{combinations, options, hardenings} {
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
	for name, tc := range compositions {
		t.Run(name, func(t *testing.T) { accepts(t, c, composed(t, tc.resources, tc.components, tc.namespace)) })
	}
	t.Run("Restricted", func(t *testing.T) { restricted(t, c) })
	t.Run("Slips", func(t *testing.T) { refuses(t, c) })
}

// refuses shows that a slip in any kind would be found, ours or not.
func refuses(t *testing.T, c client.Client) {
	t.Helper()
	all := render(t, `{webhook: {enable: true}, certManager: {enable: true}, prometheus: {podMonitor: {create: true}, serviceMonitor: {create: true}, rules: {create: true}}}`)
	for key, field := range map[string][]string{
		"Deployment ops/" + controller:                 {"spec", "template", "spec", "restartsPolicy"},
		"Certificate ops/spark-operator-certificate":   {"spec", "dnsName"},
		"Issuer ops/spark-operator-self-signed-issuer": {"spec", "selfsigned"},
		"PodMonitor ops/spark-operator-podmonitor":     {"spec", "podMetricEndpoints"},
		"ServiceMonitor ops/" + controller:             {"spec", "endpoint"},
		"PrometheusRule ops/spark-operator-alerts":     {"spec", "rules"},
		"MutatingWebhookConfiguration " + webhook:      {"hooks"},
		"ServiceAccount ops/" + controller:             {"automount"},
	} {
		if all[key] == nil {
			t.Errorf("%s is not rendered", key)
			continue
		}
		o := all[key].DeepCopy()
		if err := unstructured.SetNestedField(o.Object, "x", field...); err != nil {
			t.Fatal(err)
		}
		if err := dryRun(t.Context(), c, o); err == nil || !strings.Contains(err.Error(), field[len(field)-1]) {
			t.Errorf("%s with a field %s: %v", key, field, err)
		}
	}
}

func accepts(t *testing.T, c client.Client, all objects) {
	t.Helper()
	for _, key := range sorted(all) {
		o := all[key]
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
