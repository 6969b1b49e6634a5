// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// annotationClass is older than the field for the class. Proxies read the annotation first.
const annotationClass = "kubernetes.io/ingress.class"

func classOf(field spark.Field, annotations map[string]string) []Choice {
	if class, set := annotations[annotationClass]; set {
		return []Choice{{field.Key(annotationClass), class}}
	}
	return nil
}

// selected returns one pod label from the selector of a Service; none if the Service has no selector.
func selected(field spark.Field, selector map[string]string) []Choice {
	if len(selector) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(selector)))
	return []Choice{{field + ".selector", name + "=" + selector[name]}}
}

// Addresses returns the addresses and node ports in the spec of a Service.
func Addresses(field spark.Field, spec *corev1.ServiceSpec) []Choice {
	var all []Choice
	for _, ip := range append([]string{spec.ClusterIP}, spec.ClusterIPs...) {
		if ip != "" && ip != corev1.ClusterIPNone {
			all = append(all, Choice{field + ".clusterIP", ip})
		}
	}
	if ip := spec.LoadBalancerIP; ip != "" {
		all = append(all, Choice{field + ".loadBalancerIP", ip})
	}
	for i := range spec.Ports {
		if port := spec.Ports[i].NodePort; port != 0 {
			all = append(all, Choice{(field + ".ports").Index(i) + ".nodePort", strconv.Itoa(int(port))})
		}
	}
	if port := spec.HealthCheckNodePort; port != 0 {
		all = append(all, Choice{field + ".healthCheckNodePort", strconv.Itoa(int(port))})
	}
	return all
}

// gatewaysOf returns the parents of a route. Parents without a namespace are in the application's namespace.
func gatewaysOf(field spark.Field, o *unstructured.Unstructured, namespace string) []Choice {
	parents, _, _ := unstructured.NestedSlice(o.Object, "spec", "parentRefs")
	all := make([]Choice, 0, len(parents))
	for i, parent := range parents {
		content, _ := parent.(map[string]any)
		text := func(name string) string {
			value, _, _ := unstructured.NestedString(content, name)
			return value
		}
		value := cmp.Or(text("namespace"), namespace) + "/" + text("name")
		if kind := text("kind"); kind != "" && kind != "Gateway" {
			value = fmt.Sprintf("%s %s", kind, value)
		}
		all = append(all, Choice{(field + ".parentRefs").Index(i), value})
	}
	return all
}
