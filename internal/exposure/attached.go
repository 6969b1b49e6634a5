// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// GRPCRoute is a route of the Gateway API.
var GRPCRoute = HTTPRoute.GroupVersion().WithKind("GRPCRoute")

// attachedClaim returns the claim for an attached object.
func attachedClaim(a spark.Attached, namespace string) Claim {
	c := Claim{
		Object: Ref{a.Object.GetObjectKind().GroupVersionKind(), a.Object.GetName()}, Field: a.Spec,
		Annotations: a.Object.GetAnnotations(), AnnotationsField: "annotations",
		Labels: a.Object.GetLabels(), LabelsField: "labels",
	}
	switch o := a.Object.(type) {
	case *corev1.Service:
		c.ServiceType, c.TypeField, c.ExternalIPs, c.IPsField = o.Spec.Type, "type", o.Spec.ExternalIPs, a.Spec+".externalIPs"
		c.Own = append(selected(a.Spec, o.Spec.Selector), Addresses(a.Spec, &o.Spec)...)
	case *networkingv1.Ingress:
		c.Reach, c.Classes = reachOfIngress(a.Spec, &o.Spec), classOf(a.Meta+".annotations", o.Annotations)
		if class := o.Spec.IngressClassName; class != nil {
			c.Classes = append(c.Classes, Choice{a.Spec + ".ingressClassName", *class})
		}
	case *unstructured.Unstructured:
		c.Reach, c.Gateways = reachOfRoute(a.Spec, o), gatewaysOf(a.Spec, o, namespace)
	}
	c.MetaField = a.Meta
	return c
}

// CheckAttached returns the errors in the paths of objects that are attached to a driver. They do not depend on limits.
func CheckAttached(app spark.Application) []*spark.ConfError {
	var problems []*spark.ConfError
	for _, a := range app.Attached {
		for _, r := range attachedClaim(a, app.Namespace).Reach {
			if r.Err != nil {
				problems = append(problems, &spark.ConfError{Field: r.Field, Problem: r.Err.Error()})
			}
		}
	}
	return problems
}

const (
	// everything is the path that matches all requests.
	everything = "/"
	// captured is the end of a path in the style of ingress-nginx, a regular expression that captures the rest for a rewrite.
	captured = "(/|$)(.*)"
)

func reachOfIngress(field spark.Field, spec *networkingv1.IngressSpec) []Reach {
	var all []Reach
	for i, tls := range spec.TLS {
		for _, host := range tls.Hosts {
			all = append(all, Reach{Field: (field + ".tls").Index(i) + ".hosts", Host: host})
		}
	}
	if spec.DefaultBackend != nil {
		all = append(all, Reach{Field: field + ".defaultBackend", Path: new(everything)})
	}
	for i, rule := range spec.Rules {
		at := (field + ".rules").Index(i)
		if rule.HTTP == nil {
			all = append(all, Reach{Field: at, Host: rule.Host, Path: new(everything)})
			continue
		}
		for j := range rule.HTTP.Paths {
			all = append(all, reachOfPath(Reach{Field: (at + ".http.paths").Index(j), Host: rule.Host}, &rule.HTTP.Paths[j]))
		}
	}
	return all
}

// reachOfPath adds a path. With the type ImplementationSpecific, only the proxy knows the meaning of the path.
func reachOfPath(r Reach, p *networkingv1.HTTPIngressPath) Reach {
	path := p.Path
	literal := p.PathType != nil && (*p.PathType == networkingv1.PathTypePrefix || *p.PathType == networkingv1.PathTypeExact)
	if !literal {
		path = strings.TrimSuffix(path, captured)
	}
	r.Err = CheckPath(path)
	switch {
	case path == "":
		path = everything
	case !literal && path != everything:
		path, r.Why = everything, "a path of type ImplementationSpecific may be any; write Prefix or Exact"
	}
	r.Path = &path
	return r
}

// reachOfRoute returns the reach of an HTTPRoute or a GRPCRoute. A match other than a prefix or an exact path may reach any path.
func reachOfRoute(field spark.Field, o *unstructured.Unstructured) []Reach {
	hosts, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "hostnames")
	var all []Reach
	for _, host := range hosts {
		all = append(all, Reach{Field: field + ".hostnames", Host: host})
	}
	if len(hosts) == 0 {
		all = append(all, Reach{Field: field + ".hostnames"})
	}
	if o.GroupVersionKind() == GRPCRoute {
		return all
	}
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	for i, rule := range rules {
		content, _ := rule.(map[string]any)
		matches, _, _ := unstructured.NestedSlice(content, "matches")
		at := (field + ".rules").Index(i)
		if len(matches) == 0 {
			all = append(all, Reach{Field: at, Host: AnyHost, Path: new(everything)})
		}
		for j, match := range matches {
			m, _ := match.(map[string]any)
			kind, _, _ := unstructured.NestedString(m, "path", "type")
			path, found, _ := unstructured.NestedString(m, "path", "value")
			r := Reach{Field: (at + ".matches").Index(j), Host: AnyHost, Path: &path}
			switch {
			case !found:
				path = everything
			case kind == "" || kind == "PathPrefix" || kind == "Exact":
				r.Err = CheckPath(path)
			default:
				path, r.Why = everything, "a path of type "+kind+" may be any; write PathPrefix or Exact"
			}
			all = append(all, r)
		}
	}
	return all
}

// servicesOnly removes all attached objects that are no Services, with a warning for each.
func servicesOnly(app spark.Application) spark.Application {
	attached, warnings := []spark.Attached(nil), slices.Clone(app.Warnings)
	for _, a := range app.Attached {
		if kind := a.Object.GetObjectKind().GroupVersionKind(); kind != Service {
			warnings = append(warnings, &spark.ConfError{Field: a.Meta, Value: a.Object.GetName(),
				Problem: "this operator makes no " + kind.Kind + ": its configuration has ui.ingress.enabled: false"})
			continue
		}
		attached = append(attached, a)
	}
	app.Attached, app.Warnings = attached, warnings
	return app
}

// AnyHost stands for the hosts of a route. They are checked separately.
const AnyHost = " "
