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
