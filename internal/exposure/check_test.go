// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Case 012: what no Service or Ingress can have is said before the driver runs without them.
func TestWarnings(t *testing.T) {
	const nothing = "; nothing would lead to the driver's port"
	tls := func(secret string, hosts ...string) spark.ExposedPort {
		return spark.ExposedPort{TLS: []networkingv1.IngressTLS{{SecretName: "fine", Hosts: []string{"*.example.org"}}, {SecretName: secret, Hosts: hosts}}}
	}
	for _, tc := range []struct {
		reason string
		ui     spark.ExposedPort
		ports  []spark.ExposedPort
		want   []string
	}{
		{"a Secret's name", tls("UI_Certificate"), nil, []string{`spec.sparkUIOptions.ingressTLS[1].secretName: "UI_Certificate": not the name of a Secret; write lower-case letters, digits, '-' and '.', such as "ui-certificate"` + nothing}},
		{"a host", tls("", "ui.example.org", "UI.example.org"), nil, []string{`spec.sparkUIOptions.ingressTLS[1].hosts[1]: "UI.example.org": not a host; write a DNS name, such as "ui.example.org" or "*.example.org"` + nothing}},
		{"a star in the middle", tls("", "a.*.org"), nil, []string{`spec.sparkUIOptions.ingressTLS[1].hosts[0]: "a.*.org": not a host; write a DNS name, such as "ui.example.org" or "*.example.org"` + nothing}},
		{"an annotation", spark.ExposedPort{IngressAnnotations: map[string]string{"a b": "c", "example.org/note": "d"}, Annotations: map[string]string{"/": ""}}, nil, []string{
			`spec.sparkUIOptions.serviceAnnotations: "/": not the name of an annotation; write e.g. "example.org/note"` + nothing,
			`spec.sparkUIOptions.ingressAnnotations: "a b": not the name of an annotation; write e.g. "example.org/note"` + nothing}},
		{"a URL of the second port", spark.ExposedPort{}, []spark.ExposedPort{{Port: 80, URLFormat: "{{$appName}}.example.org/a"}, {Port: 81, URLFormat: "a_b.example.org"}}, []string{
			`spec.driverIngressOptions[1].ingressURLFormat: "a_b.example.org": the host "a_b.example.org" is not a DNS name: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')` + nothing}},
		{"a placeholder of another kind", spark.ExposedPort{}, []spark.ExposedPort{{Port: 80, URLFormat: "{{$name}}.example.org"}}, []string{
			`spec.driverIngressOptions[0].ingressURLFormat: "{{$name}}.example.org": {{$name}} is not a placeholder; use {{$appName}}, {{$appNamespace}} and {{$appId}}` + nothing}},
		{"the name of a port", spark.ExposedPort{PortName: "UI"}, nil, []string{`spec.sparkUIOptions.servicePortName: "UI": not the name of a port; write at most 63 lower-case letters, digits and '-'` + nothing}},
		{"nothing is wrong", tls("ui-certificate", "ui.example.org"), []spark.ExposedPort{{Port: 80, PortName: "ui", URLFormat: "https://{{$appId}}.example.org/{{$appNamespace}}"}}, nil},
	} {
		app := spark.Application{Name: "pi", Namespace: "jobs", Fields: spark.Fields{"": "spec", "ui": "spec.sparkUIOptions", "ports": "spec.driverIngressOptions"}}
		app.Exposure.UI, app.Exposure.Ports = tc.ui, tc.ports
		var got []string
		for _, e := range Warnings(app) {
			got = append(got, e.About(app.PathOf(e)))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

// What only some versions of Kubernetes refuse is a warning that names them.
func TestNamesOfServices(t *testing.T) {
	const refused = `Kubernetes before 1.36 refuses the Service `
	named := func(name string) []corev1.Service {
		return []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	}
	for _, tc := range []struct {
		reason, name string
		exposed      spark.Exposure
		want         []string
	}{
		{"a letter", "a1", spark.Exposure{}, nil},
		{"the UI's", "1a", spark.Exposure{}, []string{`metadata.name: "1a": ` + refused + `1a-ui-svc, whose name begins with a digit; begin with a letter`}},
		{"a port's", "1a", spark.Exposure{NoUI: true, Ports: []spark.ExposedPort{{Port: 80}}}, []string{`metadata.name: "1a": ` + refused + `1a-driver-80, whose name begins with a digit; begin with a letter`}},
		{"a server's", "1a", spark.Exposure{NoUI: true, Services: named("1a-server")}, []string{`metadata.name: "1a": ` + refused + `1a-server, whose name begins with a digit; begin with a letter`}},
		{"one that the user named", "a", spark.Exposure{Services: named("1a")}, []string{`spec.server.service.metadata.name: "1a": ` + refused + `1a, whose name begins with a digit; begin with a letter`}},
		{"none is made", "1a", spark.Exposure{NoUI: true}, nil},
	} {
		app := spark.Application{Name: tc.name, Exposure: tc.exposed, Fields: spark.Fields{"metadata": "metadata", "services": "spec.server.service"}}
		var got []string
		for _, e := range Warnings(app) {
			got = append(got, e.About(app.PathOf(e)))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}
