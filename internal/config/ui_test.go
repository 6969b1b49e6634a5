// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/firesteel-dev/firesteel/internal/exposure"
)

func TestExposure(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   exposure.Config
	}{
		"Default": {reason: "a Service for each UI", text: "", want: exposure.Config{Service: true, Ingress: exposure.Ingress{Enabled: true}}},
		"Off":     {reason: "none", text: "ui: {service: false, ingress: {enabled: false}}", want: exposure.Config{ServicesOnly: true}},
		"Section": {reason: "a section that says nothing of it keeps the default", text: "ui: {ingress: {className: nginx}}", want: exposure.Config{Service: true, Ingress: exposure.Ingress{Enabled: true, ClassName: "nginx"}}},
		"Ports":   {reason: "Ingresses for ports only", text: "ui: {ingress: {enabled: true}}", want: exposure.Config{Service: true, Ingress: exposure.Ingress{Enabled: true}}},
		"NoPorts": {reason: "applications ask in vain", text: "ui: {ingress: {enabled: false}}", want: exposure.Config{Service: true, ServicesOnly: true}},
		"Ingress": {reason: "a URL means that there is one", text: `ui: {ingress: {urlFormat: "{{$appName}}.example.org", tls: [{hosts: [a], secretName: b}], annotations: {c: d}}}`, want: exposure.Config{
			Service: true,
			Ingress: exposure.Ingress{Enabled: true, URLFormat: "{{$appName}}.example.org", TLS: []networkingv1.IngressTLS{{Hosts: []string{"a"}, SecretName: "b"}}, Annotations: map[string]string{"c": "d"}},
		}},
		"Route": {reason: "a Gateway", text: `ui: {route: {urlFormat: "x.example.org/{{$appId}}", parentRefs: [{name: public, namespace: gw, sectionName: https, port: 443}], annotations: {a: b}}}`, want: exposure.Config{
			Service: true, Ingress: exposure.Ingress{Enabled: true},
			Route: exposure.Route{URLFormat: "x.example.org/{{$appId}}", Annotations: map[string]string{"a": "b"},
				ParentRefs: []exposure.ParentRef{{Name: "public", Namespace: "gw", SectionName: "https", Port: 443}}},
		}},
		"Both":    {reason: "at the same path", text: `ui: {ingress: {urlFormat: "https://a.example.org/ui/{{$appId}}/"}, route: {urlFormat: "b.example.org/ui/{{$appId}}", parentRefs: [{name: p}]}}`, want: exposure.Config{Service: true, Ingress: exposure.Ingress{Enabled: true, URLFormat: "https://a.example.org/ui/{{$appId}}/"}, Route: exposure.Route{URLFormat: "b.example.org/ui/{{$appId}}", ParentRefs: []exposure.ParentRef{{Name: "p"}}}}},
		"Budget":  {reason: "applications may ask", text: "driverPodDisruptionBudget: {enabled: true}", want: exposure.Config{Service: true, Ingress: exposure.Ingress{Enabled: true}, DisruptionBudget: true}},
		"Workers": {reason: "clusters have none", text: "apache: {workerPodDisruptionBudget: {enabled: false}}", want: exposure.Config{Service: true, Ingress: exposure.Ingress{Enabled: true}, NoWorkerBudget: true}},
		"History": {reason: "a link", text: `historyServer: {urlFormat: "http://h:18080/history/{{$appId}}?x=y"}`, want: exposure.Config{Service: true, Ingress: exposure.Ingress{Enabled: true}, HistoryURLFormat: "http://h:18080/history/{{$appId}}?x=y"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(head + tc.text))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, c.Exposure()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestExposureIsChecked(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Placeholder": {"a typing error", `ui: {ingress: {urlFormat: "{{$name}}.example.org"}}`, `ui.ingress.urlFormat: "{{$name}}.example.org": {{$name}} is not a placeholder`},
		"Host":        {"a rule needs a DNS name", `ui: {ingress: {urlFormat: "https://a_b/x"}}`, `ui.ingress.urlFormat: "https://a_b/x": the host "a_b" is not a DNS name`},
		"Route":       {"the same for routes", `ui: {route: {urlFormat: "/x", parentRefs: [{name: p}]}}`, `ui.route.urlFormat: "/x": there is no host`},
		"Parent":      {"a route hangs on a Gateway", `ui: {route: {urlFormat: "x.example.org"}}`, "ui.route.parentRefs: required: the Gateway"},
		"Name":        {"which has a name", `ui: {route: {urlFormat: "x.example.org", parentRefs: [{namespace: a}]}}`, "ui.route.parentRefs[0].name: must not be empty"},
		"Port":        {"and a port", `ui: {route: {urlFormat: "x.example.org", parentRefs: [{name: a, port: 70000}]}}`, "ui.route.parentRefs[0].port: 70000: must be a port"},
		"Service":     {"an Ingress leads to a Service", `ui: {service: false, ingress: {urlFormat: "x.example.org"}}`, "ui.service: false: Ingress and HTTPRoute need the Service"},
		"Paths":       {"Spark's UI knows one path", `ui: {ingress: {urlFormat: "a.org/x/{{$appId}}"}, route: {urlFormat: "a.org/{{$appId}}", parentRefs: [{name: a}]}}`, "its path must be that of ui.ingress.urlFormat"},
		"History":     {"a URL", `historyServer: {urlFormat: "ftp://x"}`, `historyServer.urlFormat: "ftp://x": the scheme "ftp" is not http or https`},
		"Unknown":     {"a typing error", "ui: {services: true}", `unknown field "ui.services"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(head + tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
