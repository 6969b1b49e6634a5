// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/config/crd"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// publish lets a server publish the schemas of some kinds from their definitions, after a change.
func publish(t *testing.T, a *apiserver.Server, change func(kind string, spec map[string]any)) {
	t.Helper()
	documents := map[string]map[string]any{}
	for _, k := range inspect.Types() {
		text, err := crd.Definitions.ReadFile("bases/" + k.Group + "_" + k.Plural + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var definition map[string]any
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		versions, _, err := unstructured.NestedSlice(definition, "spec", "versions")
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(versions, func(v any) bool { return v.(map[string]any)["name"] == k.Version })
		schema, _, err := unstructured.NestedMap(versions[at].(map[string]any), "schema", "openAPIV3Schema")
		if err != nil {
			t.Fatal(err)
		}
		spec, _, err := unstructured.NestedFieldNoCopy(schema, "properties", "spec", "properties")
		if err != nil {
			t.Fatal(err)
		}
		change(k.Kind, spec.(map[string]any))
		schema["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind}}
		path := "/openapi/v3/apis/" + k.GroupVersion().String()
		if documents[path] == nil {
			documents[path] = map[string]any{}
		}
		documents[path][k.Kind] = schema
	}
	for path, schemas := range documents {
		a.Publish(path, map[string]any{"components": map[string]any{"schemas": schemas}})
	}
}

// runs is an operator of a version that runs, and its configuration.
func runs(namespace, version string, ready int32, text string) []client.Object {
	d, objects := released(namespace, text)
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "sidecar", Image: "x:9"}, {Name: "spark-operator-controller", Image: "localhost:5000/firesteel/operator:" + version + "@sha256:0"}}
	d.Status.ReadyReplicas = ready
	return objects
}

// answering is a webhook of the operator, and its endpoints.
func answering(name string, ready bool) []client.Object {
	hook := admissionregistrationv1.ValidatingWebhook{
		Name:         "validate.sparkoperator.k8s.io",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: name, Name: "svc"}},
		Rules:        []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{APIGroups: []string{"sparkoperator.k8s.io"}}}},
	}
	other := hook
	other.Rules = []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{APIGroups: []string{"apps"}}}}
	other.ClientConfig.Service = &admissionregistrationv1.ServiceReference{Namespace: "x", Name: "y"}
	return []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.ValidatingWebhook{hook, other}},
		&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name + "-defaults"},
			Webhooks:   []admissionregistrationv1.MutatingWebhook{{Name: hook.Name, ClientConfig: hook.ClientConfig, Rules: hook.Rules}},
		},
		&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "svc-1", Labels: map[string]string{discoveryv1.LabelServiceName: "svc"}},
			Endpoints:  []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(ready)}}},
		},
	}
}

func accountOf(name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name}}
}

func limited(name string, used, hard string) *corev1.ResourceQuota {
	list := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{"pods": resource.MustParse(amount)}
	}
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name}, Status: corev1.ResourceQuotaStatus{Hard: list(hard), Used: list(used)}}
}

// installation is one in which all is right.
func installation() []client.Object {
	return slices.Concat(
		runs("firesteel", "dev", 1, "namespaces: [jobs]\npolicies: [{name: small, namespaces: [jobs], limits: {executors: 1}}]\n"), answering("firesteel", true),
		[]client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "jobs"}}, accountOf("default"), accountOf("firesteel-spark-operator-spark"), limited("team", "3", "10")})
}

const driverUser = "system:serviceaccount:jobs:firesteel-spark-operator-spark"

func unchanged(string, map[string]any) {}

func TestCheck(t *testing.T) {
	broken := slices.Concat(
		runs("firesteel", "v9.1.0", 0, "namespaceSelector: team=a\nbatchScheduler: {default: volcano, enabled: [volcano, kube]}\n"+
			"policies: [{name: team, namespaces: [jobs], defaults: {serviceAccount: etl}}]\n"), answering("old", false),
		[]client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "jobs"}}, limited("none", "0", "0")})
	cases := map[string]struct {
		reason  string
		objects []client.Object
		prepare func(a *apiserver.Server)
		code    int
	}{
		"check": {reason: "all is right", objects: installation(), prepare: func(a *apiserver.Server) { a.AllowUsers(driverUser) }},
		"check-newcomer": {
			reason: "a user who may read applications only: nothing is wrong", objects: installation(),
			prepare: func(a *apiserver.Server) {
				var all []apiserver.Request
				for _, resource := range []string{
					"deployments", "configmaps", "namespaces", "serviceaccounts", "resourcequotas", "mutatingwebhookconfigurations", "localsubjectaccessreviews",
				} {
					all = append(all, apiserver.Request{Resource: resource})
				}
				a.Deny(all...)
			},
		},
		"check-wrong": {
			reason: "much is wrong, and each line says who can fix it", objects: broken, code: 1,
			prepare: func(a *apiserver.Server) {
				a.Uninstall(serverKind)
				publish(t, a, func(_ string, spec map[string]any) {
					delete(spec, "suspend")
					delete(spec, "deadlines")
				})
			},
		},
		"check-none": {reason: "nothing is installed but Kubernetes", code: 1, prepare: func(a *apiserver.Server) {
			for _, k := range inspect.Types() {
				a.Uninstall(k.GroupVersionKind)
			}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, tc.objects...)
			publish(t, a, unchanged)
			tc.prepare(a)
			out, errOut, code := execute(t, "", "check")
			if code != tc.code {
				t.Errorf("%s: exit code %d, want %d", tc.reason, code, tc.code)
			}
			testutil.Golden(t, "testdata/"+name+".golden", "# stdout\n"+out+"# stderr\n"+errOut)
		})
	}
}

// A user with some rights is told what the others would show.
func TestCheckWithSomeRights(t *testing.T) {
	byLabels := append(runs("firesteel", "dev", 1, "namespaceSelector: team=a\n"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "jobs"}}, accountOf("spark"), accountOf("default"))
	cases := map[string]struct {
		reason  string
		objects []client.Object
		deny    []apiserver.Request
		want    map[string]string
	}{
		"Reviews": {
			reason: "the usual user of a namespace may not ask about others", objects: installation(), deny: []apiserver.Request{request("create", "localsubjectaccessreviews")},
			want: map[string]string{"account": "unknown: firesteel-spark-operator-spark is for drivers: write it in spec.driver.serviceAccount; its permission to create pods is unknown: " +
				"you may not create localsubjectaccessreviews.authorization.k8s.io in namespace jobs: an administrator can grant you that permission, which the cluster role admin has " +
				"(kubectl auth can-i create localsubjectaccessreviews.authorization.k8s.io -n jobs)"},
		},
		"ConfigMap": {
			reason: "the Deployment says enough about the operator", objects: installation(), deny: []apiserver.Request{request("get", "configmaps")},
			want: map[string]string{
				"operator": "ok: firesteel/firesteel-spark-operator-controller, version dev: 1 of 1 replicas are ready",
				"namespace": "unknown: the operator's namespaces are unknown: you may not get configmaps in namespace firesteel: an administrator can grant you that permission " +
					"(kubectl auth can-i get configmaps -n firesteel)",
				"schedulers": "unknown: the enabled schedulers are unknown: see namespace",
			},
		},
		"Labels": {
			reason: "the labels of the namespace decide", objects: byLabels, deny: []apiserver.Request{request("get", "namespaces")},
			want: map[string]string{
				"namespace": "unknown: the operator works in namespaces with the labels team=a; the labels of jobs are unknown: you may not get namespaces in the whole cluster: " +
					"an administrator can grant you that permission (kubectl auth can-i get namespaces -A)",
				"account": "wrong: no service account of namespace jobs may create pods (spark, default): drivers get no executors",
			},
		},
		"Endpoints": {
			reason: "another namespace", objects: installation(), deny: []apiserver.Request{request("list", "endpointslices")},
			want: map[string]string{"webhook": "unknown: firesteel-defaults, firesteel: service firesteel/svc; its endpoints are unknown: you may not list endpointslices.discovery.k8s.io " +
				"in namespace firesteel: an administrator can grant you that permission (kubectl auth can-i list endpointslices.discovery.k8s.io -n firesteel)"},
		},
		"Viewer": {
			reason: "a user who may look only", objects: installation(), deny: []apiserver.Request{{Verb: "create", Group: "sparkoperator.k8s.io"}},
			want: map[string]string{"rights": "wrong: you may not create sparkapplications.sparkoperator.k8s.io, scheduledsparkapplications.sparkoperator.k8s.io, " +
				"sparkconnects.sparkoperator.k8s.io in namespace jobs"},
		},
		"NoReviewOfMyself": {
			reason: "the API server does not say", objects: installation(), deny: []apiserver.Request{request("create", "selfsubjectaccessreviews")},
			want: map[string]string{"rights": "unknown: you may not create selfsubjectaccessreviews.authorization.k8s.io in the whole cluster: an administrator can grant you that permission" +
				", which the cluster role admin has (kubectl auth can-i create selfsubjectaccessreviews.authorization.k8s.io -A)"},
		},
		"Rivals": {
			reason: "two operators work in the namespace", objects: append(installation(), runs("old", "dev", 1, "")...),
			want: map[string]string{"operator": "wrong: 2 operators work in namespace jobs: firesteel/firesteel-spark-operator-controller and old/old-spark-operator-controller; " +
				"each of them acts on every application"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, tc.objects...)
			publish(t, a, unchanged)
			a.Deny(tc.deny...)
			out, errOut, _ := execute(t, "", "check", "-o", "json")
			var report struct {
				Checks []struct{ Name, Status, Message string }
			}
			if err := json.Unmarshal([]byte(out), &report); err != nil {
				t.Fatal(err, errOut)
			}
			got := map[string]string{} // the last line of each
			for _, line := range report.Checks {
				if tc.want[line.Name] != "" {
					got[line.Name] = line.Status + ": " + line.Message
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheckTrouble(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, want string
		args         []string
		prepare      func(t *testing.T)
	}{
		"Format": {"it is said before anything is read", `--output: invalid value "xml": must be one of json, yaml`, []string{"-o", "xml"}, func(*testing.T) {}},
		"Server": {"nothing is known without a cluster", "no cluster responds at http://127.0.0.1:1", nil, func(t *testing.T) { t.Helper(); useServer(t, "http://127.0.0.1:1") }},
		"Config": {"a file that was named must be there", "testdata/none.yaml", []string{"--config", "testdata/none.yaml"}, func(t *testing.T) { t.Helper(); newAPI(t) }},
	} {
		t.Run(name, func(t *testing.T) {
			tc.prepare(t)
			if out, errOut, code := execute(t, "", append([]string{"check"}, tc.args...)...); code != 1 || !strings.Contains(errOut, tc.want) {
				t.Errorf("%s: exit code %d, %s%s", tc.reason, code, errOut, out)
			}
		})
	}
}
