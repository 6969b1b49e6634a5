// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// serviceTypes are those that there are.
var serviceTypes = []string{
	string(corev1.ServiceTypeClusterIP), string(corev1.ServiceTypeNodePort), string(corev1.ServiceTypeLoadBalancer), string(corev1.ServiceTypeExternalName),
}

// exposure looks at what an application asks for beside its driver, which the operator makes with its own rights.
func (c *checker) exposure() {
	c.exposed("spec.sparkUIOptions", c.app.Exposure.UI)
	for i := range c.app.Exposure.Ports {
		field, port := fmt.Sprintf("spec.driverIngressOptions[%d]", i), c.app.Exposure.Ports[i]
		c.exposed(field, port)
		if port.URLFormat != "" {
			c.hosts(field+".ingressURLFormat", port.URLFormat, exposure.HostOf(port.URLFormat, c.app.Namespace, c.app.Name))
		}
	}
}

func (c *checker) exposed(field string, p spark.ExposedPort) {
	if t := string(p.ServiceType); t != "" && len(c.limits.ServiceTypes) > 0 && !slices.Contains(c.limits.ServiceTypes, t) {
		c.refuse(&spark.ConfError{Field: field + ".serviceType", Value: t}, "Services of type %s", strings.Join(c.limits.ServiceTypes, ", "))
	}
	c.annotations(field+".serviceAnnotations", p.Annotations)
	c.annotations(field+".ingressAnnotations", p.IngressAnnotations)
	for _, tls := range p.TLS {
		for _, host := range tls.Hosts {
			c.hosts(field+".ingressTLS", host, host)
		}
	}
}

func (c *checker) annotations(field string, annotations map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		if matchesAny(c.limits.ForbiddenAnnotations, name) {
			c.refuse(&spark.ConfError{Field: fmt.Sprintf("%s[%q]", field, name)}, "no such annotation")
		}
	}
}

func (c *checker) hosts(field, value, host string) {
	if len(c.limits.Hosts) > 0 && !matchesAny(c.limits.Hosts, host) {
		c.refuse(&spark.ConfError{Field: field, Value: value}, "the hosts %s", strings.Join(c.limits.Hosts, ", "))
	}
}
