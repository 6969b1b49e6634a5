// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

func TestPaths(t *testing.T) {
	cases := []struct {
		reason, paths, url string
		allowed            bool
	}{
		{"the namespace's own", "/{{$appNamespace}}", "ui.example.org/team-a", true},
		{"and below it", "/{{$appNamespace}}", "ui.example.org/{{$appNamespace}}/{{$appName}}/", true},
		{"a slash at the end changes nothing", "/{{$appNamespace}}/", "ui.example.org/team-a", true},
		{"another's path", "/{{$appNamespace}}", "ui.example.org/team-b/app", false},
		{"a name that begins alike", "/{{$appNamespace}}", "ui.example.org/team-ab/app", false},
		{"the whole host", "/{{$appNamespace}}", "ui.example.org", false},
		{"the whole host, with a slash", "/{{$appNamespace}}", "ui.example.org/", false},
		{"paths are not the same in another case, whatever a proxy says", "/{{$appNamespace}}", "ui.example.org/TEAM-A", false},
		{"the parent of the namespace's own", "/spark/{{$appNamespace}}", "ui.example.org/spark", false},
		{"decoded it is the namespace's own", "/{{$appNamespace}}", "ui.example.org/team%2Da/app", true},
		{"decoded it is another's", "/{{$appNamespace}}", "ui.example.org/team-a/%2e%2e/team-b", false},
		{"what cannot be judged", "/{{$appNamespace}}", "ui.example.org/team-a/{x", false},
		{"everything", "/", "ui.example.org", true},
		{"everything below", "/", "ui.example.org/team-b", true},
		{"a pattern", "/*/ui", "ui.example.org/team-a/ui/app", true},
		{"not of the pattern", "/*/ui", "ui.example.org/team-a/uii", false},
		{"one of several", `/a", "/{{$appNamespace}}`, "ui.example.org/team-a/x", true},
	}
	for _, tc := range cases {
		s := set(t, `[{name: small, namespaces: [team-a], limits: {paths: ["`+tc.paths+`"]}}]`)
		_, got := governed(t, s, application(t, `
  image: a
  driverIngressOptions: [{servicePort: 80, ingressURLFormat: "`+tc.url+`"}]
`))
		if tc.allowed != (len(got) == 0) || len(got) > 0 && !strings.Contains(got[0], "allows the paths ") {
			t.Errorf("%s: %s with the limit %s: %q", tc.reason, tc.url, tc.paths, got)
		}
	}
}

func TestHostsOfANamespace(t *testing.T) {
	s := set(t, `[{name: small, namespaces: ["*"], limits: {hosts: ["*.{{$appNamespace}}.example.org"]}}]`)
	spec := func(url string) string {
		return "  image: a\n  driverIngressOptions: [{servicePort: 80, ingressURLFormat: \"" + url + "\"}]\n"
	}
	if _, got := governed(t, s, application(t, spec("{{$appName}}.team-a.example.org"))); len(got) > 0 {
		t.Errorf("its own host: %q", got)
	}
	for url, want := range map[string]string{
		"x.team-b.example.org":    `"x.team-b.example.org": namespace team-a allows the hosts *.team-a.example.org (operator policy "small")`,
		"x.team-a.example.org/.*": `"x.team-a.example.org/.*": the path "/.*" has a character other than A-Z a-z 0-9 . _ ~ / -; namespace team-a allows the hosts *.team-a.example.org (operator policy "small")`,
	} {
		_, got := governed(t, s, application(t, spec(url)))
		if diff := cmp.Diff([]string{"spec.driverIngressOptions[0].ingressURLFormat: " + want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
}

// An objection names the object that may not be made, and the rule; its words are those that refuse an application.
func TestCheckExposure(t *testing.T) {
	s := set(t, `[{name: none, namespaces: ["*"]}, {name: inner, namespaces: ["*"], limits: {serviceTypes: [ClusterIP], forbiddenAnnotations: ["*-snippet"]}}, {name: web, namespaces: ["*"], limits: {hosts: [a.b], paths: [/x], serviceTypes: [NodePort]}}]`)
	app, _ := kubeflow.Normalize(application(t, `
  image: a
  sparkUIOptions: {serviceType: LoadBalancer, ingressAnnotations: {x-snippet: x}, ingressTLS: [{hosts: [a.b]}, {hosts: [b.b, c.b]}]}
  driverIngressOptions:
  - {servicePort: 80, ingressURLFormat: "a.b/x/{{$appId}}", serviceAnnotations: {y-snippet: x}}
  - {servicePort: 81, ingressURLFormat: a.b/y, serviceType: ClusterIP}
`))
	type objection struct{ Object, Policy, Limit, Value string }
	var got []objection
	var words []string
	for _, o := range s.CheckExposure(app, "spark-1") {
		got = append(got, objection{o.Object.String(), o.Policy, o.Limit, o.Value})
		words = append(words, validation.Explain(app, o.ConfError))
	}
	want := []objection{
		{"service/pi-ui-svc", "inner", "serviceTypes", "LoadBalancer"},
		{"ingress/pi-ui-ingress", "inner", "forbiddenAnnotations", ""},
		{"service/pi-driver-80", "inner", "forbiddenAnnotations", ""},
		{"ingress/pi-ui-ingress", "web", "hosts", "b.b"},
		{"service/pi-driver-81", "web", "serviceTypes", "ClusterIP"},
		{"ingress/pi-ing-81", "web", "paths", "a.b/y"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var refused []string
	for _, p := range s.Check(app, spark.Submission{Driver: &corev1.Pod{}, Executor: &corev1.Pod{}}) {
		refused = append(refused, validation.Explain(app, p))
	}
	if diff := cmp.Diff(refused, words); diff != "" {
		t.Errorf("other words before the start (-before +while it runs):\n%s", diff)
	}
	if got := (Set{{Name: "none", Limits: Limits{ForbidHostAccess: true}}}).CheckExposure(app, ""); got != nil {
		t.Errorf("without limits: %v", got)
	}
}

// The annotation is older than the field of the class, and users write it for each Ingress.
func TestClassByAnnotation(t *testing.T) {
	s := set(t, `[{name: small, namespaces: [team-a], limits: {ingressClasses: [inner]}}]`)
	_, got := governed(t, s, application(t, `
  image: a
  sparkUIOptions: {ingressAnnotations: {kubernetes.io/ingress.class: outer}}
  driverIngressOptions: [{servicePort: 80, ingressURLFormat: a.b, ingressAnnotations: {kubernetes.io/ingress.class: inner}}]
`))
	want := []string{`spec.sparkUIOptions.ingressAnnotations["kubernetes.io/ingress.class"]: "outer": namespace team-a allows the Ingress classes inner (operator policy "small")`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A Service that is requested whole is limited as the others are, and so are the addresses that it takes traffic of.
func TestRequestedService(t *testing.T) {
	cases := map[string]struct {
		reason, limits string
		service        corev1.Service
		want           []string
	}{
		"Plain":       {"no type is the default", "serviceTypes: [ClusterIP]", serviceOf(""), nil},
		"Type":        {"an address outside", "serviceTypes: [ClusterIP]", serviceOf("LoadBalancer"), []string{`spec.services.spec.type: "LoadBalancer": namespace team-a allows Services of type ClusterIP (operator policy "small")`}},
		"Allowed":     {"what the policy lists", "serviceTypes: [ClusterIP, NodePort]", serviceOf("NodePort"), nil},
		"ExternalIPs": {"traffic from outside without a load balancer", "serviceTypes: [ClusterIP, NodePort]", serviceOf("", "192.0.2.1", "192.0.2.2"), []string{`spec.services.spec.externalIPs: "192.0.2.1, 192.0.2.2": namespace team-a allows Services of type ClusterIP, NodePort (operator policy "small")`}},
		"Outside":     {"who may have a load balancer may have addresses", "serviceTypes: [LoadBalancer]", serviceOf("LoadBalancer", "192.0.2.1"), nil},
		"Address":     {"one of the cluster's that the user chose", "plainServices: true", corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.53"}}, []string{`spec.services.spec.clusterIP: "10.96.0.53": leave it out; namespace team-a allows only Services without a selector, addresses or node ports of their own (operator policy "small")`}},
		"Headless":    {"no address is none that was chosen", "plainServices: true", corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "None", Ports: []corev1.ServicePort{{Port: 1}}}}, nil},
		"NodePort":    {"of each node", "plainServices: true", corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}, {Port: 2, NodePort: 30000}}}}, []string{`spec.services.spec.ports[1].nodePort: "30000": leave it out; namespace team-a allows only Services without a selector, addresses or node ports of their own (operator policy "small")`}},
		"Label":       {"a dashboard loads it", `forbiddenLabels: ["grafana_*"]`, corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"grafana_dashboard": "1"}}}, []string{`spec.services.metadata.labels["grafana_dashboard"]: namespace team-a allows no such label (operator policy "small")`}},
		"Unlimited":   {"no limit on types", "hosts: [a.b]", serviceOf("LoadBalancer", "192.0.2.1"), nil},
		"Annotation": {"a controller's switch", `forbiddenAnnotations: ["*/load-balancer-*"]`, corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"x.io/load-balancer-scheme": "internet"}}},
			[]string{`spec.services.metadata.annotations["x.io/load-balancer-scheme"]: namespace team-a allows no such annotation (operator policy "small")`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := set(t, `[{name: small, namespaces: [team-a], limits: {`+tc.limits+`}}]`)
			app, _ := kubeflow.Normalize(application(t, "  image: a\n"))
			tc.service.Name = "pi-server"
			app.Exposure.Services = []corev1.Service{tc.service}
			var got []string
			for _, o := range s.For("team-a").CheckExposure(app, "") {
				got = append(got, validation.Explain(app, o.ConfError))
				if o.Object.String() != "service/pi-server" {
					t.Errorf("%s: objects to %s", tc.reason, o.Object)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func serviceOf(kind corev1.ServiceType, externalIPs ...string) corev1.Service {
	return corev1.Service{Spec: corev1.ServiceSpec{Type: kind, ExternalIPs: externalIPs}}
}
