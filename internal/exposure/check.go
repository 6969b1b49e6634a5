// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Warnings returns warnings about values that Services or Ingresses cannot have, or not in every version of Kubernetes. Such a value does not stop the driver,
// which is then not exposed.
func Warnings(app spark.Application) []*spark.ConfError {
	found := append(serviceWarnings(app), portWarnings(app, "ui", app.Exposure.UI)...)
	for i := range app.Exposure.Ports {
		found = append(found, portWarnings(app, spark.Field("ports").Index(i), app.Exposure.Ports[i])...)
	}
	return found
}

// serviceWarnings returns a warning for the first Service name that some versions of Kubernetes refuse.
func serviceWarnings(app spark.Application) []*spark.ConfError {
	var names []string
	for i := range app.Exposure.Services {
		names = append(names, app.Exposure.Services[i].Name)
	}
	if !app.Exposure.NoUI && spark.UIPort(app) != 0 {
		names = append(names, ServiceName(app.Name))
	}
	for _, p := range app.Exposure.Ports {
		names = append(names, portServiceName(app.Name, p.Port))
	}
	for _, name := range names {
		problem := spark.NewServiceName(name)
		switch {
		case problem == "":
		case strings.HasPrefix(name, app.Name+"-"):
			return []*spark.ConfError{{Field: spark.FieldName, Value: app.Name, Problem: problem}}
		default:
			return []*spark.ConfError{{Field: "services.metadata.name", Value: name, Problem: problem}}
		}
	}
	for _, a := range app.Attached {
		if problem := spark.NewServiceName(a.Object.GetName()); problem != "" && a.Object.GetObjectKind().GroupVersionKind() == Service {
			return []*spark.ConfError{{Field: a.Meta + ".name", Value: a.Object.GetName(), Problem: problem}}
		}
	}
	return nil
}

func portWarnings(app spark.Application, at spark.Field, p spark.ExposedPort) (found []*spark.ConfError) {
	warn := func(name spark.Field, value, problem string) {
		found = append(found, &spark.ConfError{Field: at + name, Value: value, Problem: problem + "; nothing would lead to the driver's port"})
	}
	if p.URLFormat != "" {
		if _, err := rule(p.URLFormat, namesOf(app, exampleID)); err != nil {
			warn(".ingressURLFormat", p.URLFormat, err.Error())
		}
	}
	if name := p.PortName; name != "" && len(utilvalidation.IsDNS1123Label(name)) > 0 {
		warn(".servicePortName", name, "not the name of a port; write at most 63 lower-case letters, digits and '-'")
	}
	for i := range p.TLS {
		tlsWarnings((at + ".ingressTLS").Index(i), &p.TLS[i], func(name spark.Field, value, problem string) {
			warn(name[len(at):], value, problem)
		})
	}
	for _, a := range []struct {
		name spark.Field
		all  map[string]string
	}{{".serviceAnnotations", p.Annotations}, {".ingressAnnotations", p.IngressAnnotations}} {
		for _, key := range slices.Sorted(maps.Keys(a.all)) {
			if len(utilvalidation.IsQualifiedName(strings.ToLower(key))) > 0 {
				warn(a.name, key, `not the name of an annotation; write e.g. "example.org/note"`)
			}
		}
	}
	return found
}

func tlsWarnings(at spark.Field, tls *networkingv1.IngressTLS, warn func(at spark.Field, value, problem string)) {
	if name := tls.SecretName; name != "" && len(utilvalidation.IsDNS1123Subdomain(name)) > 0 {
		warn(at+".secretName", name, `not the name of a Secret; write lower-case letters, digits, '-' and '.', such as "ui-certificate"`)
	}
	for i, host := range tls.Hosts {
		check := utilvalidation.IsDNS1123Subdomain
		if strings.HasPrefix(host, "*") {
			check = utilvalidation.IsWildcardDNS1123Subdomain
		}
		if len(check(host)) > 0 {
			warn((at + ".hosts").Index(i), host, `not a host; write a DNS name, such as "ui.example.org" or "*.example.org"`)
		}
	}
}
