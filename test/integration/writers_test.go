// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// newer is a field of a status that only a newer release knows: its operator ran here before this one was put back.
const newer = "fieldOfANewerRelease"

// sample makes a value that a schema takes, with every field that it has. Objects of a status have a newer field, too.
func sample(s apiextensionsv1.JSONSchemaProps, inStatus bool) any {
	switch {
	case len(s.Enum) > 0:
		var last any
		Expect(json.Unmarshal(s.Enum[len(s.Enum)-1].Raw, &last)).To(Succeed())
		return last
	case s.XIntOrString, s.Type == "integer", s.Type == "number":
		return max(7, int64(ptr.Deref(s.Minimum, 0)))
	case s.Type == "boolean":
		return true
	case s.Type == "array":
		return []any{sample(*s.Items.Schema, inStatus)}
	case s.Type == "string" && s.Format == "date-time":
		return "2026-05-04T03:02:01Z"
	case s.Type == "string":
		fits := regexp.MustCompile(s.Pattern).MatchString
		texts := []string{"text", "1m", "5"}
		return texts[slices.IndexFunc(texts, fits)]
	}
	all := map[string]any{}
	for name, p := range s.Properties {
		all[name] = sample(p, inStatus)
	}
	if s.AdditionalProperties != nil {
		all["1"] = sample(*s.AdditionalProperties.Schema, inStatus)
	} else if inStatus {
		all[newer] = "text"
	}
	return all
}

// definitionOf are the versions of a definition: what is stored, and what may be written.
type definitionOf struct {
	apiextensionsv1.CustomResourceDefinition
	stored apiextensionsv1.CustomResourceDefinitionVersion
}

func ourDefinitions() []definitionOf {
	GinkgoHelper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "config", "crd", "bases", "*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(paths).To(HaveLen(5))
	var all []definitionOf
	for _, path := range paths {
		text, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		var d definitionOf
		Expect(yaml.Unmarshal(text, &d.CustomResourceDefinition)).To(Succeed())
		d.stored = d.Spec.Versions[slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })]
		all = append(all, d)
	}
	return all
}

// in is an empty object of the kind in a version.
func (d definitionOf) in(version, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: d.Spec.Group, Version: version, Kind: d.Spec.Names.Kind})
	o.SetNamespace("default")
	o.SetName(name)
	return o
}

// written is what a client may do to an object in a version that it chose; spec is the least that a manifest says.
type written func(ctx context.Context, c client.Client, o *unstructured.Unstructured, spec any) error

func patched(kind types.PatchType, text string) written {
	return func(ctx context.Context, c client.Client, o *unstructured.Unstructured, _ any) error {
		return c.Patch(ctx, o, client.RawPatch(kind, []byte(text)))
	}
}

// updated reads an object, changes it and writes all of it.
func updated(write func(context.Context, client.Client, *unstructured.Unstructured) error) written {
	return func(ctx context.Context, c client.Client, o *unstructured.Unstructured, _ any) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		o.SetLabels(map[string]string{"updated": "yes"})
		return write(ctx, c, o)
	}
}

// kubectl is the real one, which compares with what it applied before.
func kubectl(kubeconfig string, arguments ...string) written {
	return func(ctx context.Context, _ client.Client, o *unstructured.Unstructured, spec any) error {
		o.Object["spec"] = spec
		manifest, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), append(arguments, "--kubeconfig", kubeconfig, "-f", "-")...)
		cmd.Stdin = bytes.NewReader(manifest)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
}

// least is what a manifest must say: the required fields, with the values of another.
func least(s apiextensionsv1.JSONSchemaProps, from any) any {
	values, ok := from.(map[string]any)
	if !ok || len(s.Properties) == 0 {
		return from
	}
	all := map[string]any{}
	for _, name := range s.Required {
		all[name] = least(s.Properties[name], values[name])
	}
	return all
}

var _ = Describe("A client that writes an object", Ordered, func() {
	var (
		c          client.Client
		kubeconfig string
	)
	BeforeAll(func() {
		env := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join("..", "..", "config", "crd", "bases")}, ErrorIfCRDPathMissing: true}
		cfg, err := env.Start()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(env.Stop)
		quiet := rest.CopyConfig(cfg)
		quiet.WarningHandler = rest.NoWarnings{} // v1beta1 is deprecated
		c, err = client.New(quiet, client.Options{})
		Expect(err).NotTo(HaveOccurred())
		kubeconfig = filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(os.WriteFile(kubeconfig, env.KubeConfig, 0o600)).To(Succeed())
	})

	It("hears from validate what the API server would say, whatever it writes", func(ctx SpecContext) {
		for _, d := range ourDefinitions() {
			for _, version := range d.Spec.Versions {
				differ, tried := disagreements(ctx, c, d.in(version.Name, "offline"), version.Schema.OpenAPIV3Schema.Properties["spec"])
				Expect(differ).To(BeEmpty(), "of %d slips", tried)
				Expect(tried).To(BeNumerically(">", 100))
				AddReportEntry(d.Spec.Names.Kind+" "+version.Name, tried)
			}
		}
	})

	It("loses nothing of spec and status that it did not name, in every version of every kind", func(ctx SpecContext) {
		ways := map[string]written{
			"merge patch of a label":      patched(types.MergePatchType, `{"metadata": {"labels": {"patched": "yes"}}}`),
			"JSON patch of an annotation": patched(types.JSONPatchType, `[{"op": "add", "path": "/metadata/annotations", "value": {"patched": "yes"}}]`),
			"finalizer":                   patched(types.MergePatchType, `{"metadata": {"finalizers": ["example.org/last"]}}`),
			"no finalizer":                patched(types.MergePatchType, `{"metadata": {"finalizers": null}}`),
			"merge patch of nothing":      patched(types.MergePatchType, `{"spec": {}}`),
			"update": updated(func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
				return c.Update(ctx, o)
			}),
			"update of the status": updated(func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
				return c.Status().Update(ctx, o)
			}),
			"update without a status": updated(func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
				delete(o.Object, "status")
				return c.Update(ctx, o)
			}),
			"kubectl apply":               kubectl(kubeconfig, "apply"),
			"kubectl apply --server-side": kubectl(kubeconfig, "apply", "--server-side", "--force-conflicts"),
			"kubectl label":               kubectl(kubeconfig, "label", "--overwrite", "labeled=yes"),
		}
		for _, d := range ourDefinitions() {
			for _, version := range d.Spec.Versions {
				Expect(version.Served).To(BeTrue())
				o := d.in(d.stored.Name, strings.ToLower(d.Spec.Names.Kind)+"-"+version.Name)
				root := d.stored.Schema.OpenAPIV3Schema
				spec := sample(root.Properties["spec"], false)
				o.Object["spec"] = spec
				Expect(c.Create(ctx, o)).To(Succeed())
				o.Object["status"] = sample(root.Properties["status"], true)
				Expect(c.Status().Update(ctx, o)).To(Succeed())
				before := d.in(d.stored.Name, o.GetName())
				Expect(c.Get(ctx, client.ObjectKeyFromObject(o), before)).To(Succeed())
				Expect(before.Object["status"]).To(HaveKey(newer))
				for _, way := range slices.Sorted(maps.Keys(ways)) {
					Expect(ways[way](ctx, c, d.in(version.Name, o.GetName()), least(root.Properties["spec"], spec))).To(Succeed(), "%s %s: %s", d.Name, version.Name, way)
					after := d.in(d.stored.Name, o.GetName())
					Expect(c.Get(ctx, client.ObjectKeyFromObject(o), after)).To(Succeed())
					for _, part := range []string{"spec", "status"} {
						Expect(cmp.Diff(before.Object[part], after.Object[part])).To(BeEmpty(), "%s %s: %s: %s", d.Name, version.Name, way, part)
					}
					Expect(after.GetGeneration()).To(Equal(before.GetGeneration()), "%s %s: %s", d.Name, version.Name, way)
				}
			}
		}
	})

	It("gets an error for a misspelled field in every version", func(ctx SpecContext) {
		for _, d := range ourDefinitions() {
			for _, version := range d.Spec.Versions {
				o := d.in(version.Name, "misspelled")
				o.Object["spec"] = map[string]any{"suspendd": true}
				err := c.Create(ctx, o, client.FieldValidation("Strict"))
				Expect(err).To(MatchError(ContainSubstring(`unknown field "spec.suspendd"`)), "%s %s", d.Name, version.Name)
			}
		}
	})
})
