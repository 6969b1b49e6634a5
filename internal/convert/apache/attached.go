// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// attachedOf returns the Services that the user attaches to the driver, each with its Ingress or route.
func attachedOf(s *v1.SparkApplicationSpec) (all []spark.Attached, problems []*spark.ConfError) {
	for i := range s.DriverServiceIngressList {
		entry := &s.DriverServiceIngressList[i]
		service, path := serviceOf(&entry.ServiceMetadata, &entry.ServiceSpec), spark.Field("driverServiceIngressList").Index(i)+"."
		all = append(all,
			spark.Attached{Object: service, Meta: path + serviceMeta, Spec: path + serviceSpec},
			spark.Attached{Object: ingressOf(entry, service), Meta: path + "ingressMetadata", Spec: path + "ingressSpec"})
	}
	add := func(r route) {
		if missing := r.check(); len(missing) > 0 {
			problems = append(problems, missing...)
			return
		}
		service := serviceOf(r.serviceMeta, r.serviceSpec)
		all = append(all,
			spark.Attached{Object: service, Meta: r.path + serviceMeta, Spec: r.path + serviceSpec},
			spark.Attached{Object: r.object(service), Meta: r.path + r.metaField, Spec: r.path + r.specField})
	}
	for i := range s.DriverHTTPRouteList {
		entry := &s.DriverHTTPRouteList[i]
		add(route{
			path: spark.Field("driverHttpRouteList").Index(i) + ".", kind: "HTTPRoute", metaField: "httpRouteMetadata", specField: "httpRouteSpec",
			serviceMeta: &entry.ServiceMetadata, serviceSpec: &entry.ServiceSpec, meta: &entry.HTTPRouteMetadata, spec: entry.HTTPRouteSpec,
			matches: []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
		})
	}
	for i := range s.DriverGRPCRouteList {
		entry := &s.DriverGRPCRouteList[i]
		add(route{
			path: spark.Field("driverGrpcRouteList").Index(i) + ".", kind: "GRPCRoute", metaField: "grpcRouteMetadata", specField: "grpcRouteSpec",
			serviceMeta: &entry.ServiceMetadata, serviceSpec: &entry.ServiceSpec, meta: &entry.GRPCRouteMetadata, spec: entry.GRPCRouteSpec,
		})
	}
	return all, problems
}

// Fields of all lists.
const (
	serviceMeta = "serviceMetadata"
	serviceSpec = "serviceSpec"
)

// metadata returns the part of the user's metadata that the object may have. Its namespace and owner come from the driver.
func metadata(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: meta.Name, Labels: maps.Clone(meta.Labels), Annotations: maps.Clone(meta.Annotations)}
}

func serviceOf(meta *metav1.ObjectMeta, spec *corev1.ServiceSpec) *corev1.Service {
	return &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metadata(meta), Spec: *spec.DeepCopy()}
}

// ingressOf returns the Ingress of an entry. An entry without rules gets one rule, to the first port of the Service.
func ingressOf(entry *v1.DriverServiceIngress, service *corev1.Service) *networkingv1.Ingress {
	ingress := &networkingv1.Ingress{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}, ObjectMeta: metadata(&entry.IngressMetadata),
	}
	if entry.IngressSpec != nil {
		ingress.Spec = *entry.IngressSpec.DeepCopy()
	}
	if len(ingress.Spec.Rules) > 0 || len(service.Spec.Ports) == 0 {
		return ingress
	}
	ingress.Spec = networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{IngressRuleValue: networkingv1.IngressRuleValue{
		HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
			Path: "/", PathType: new(networkingv1.PathTypeImplementationSpecific),
			Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
				Name: service.Name, Port: networkingv1.ServiceBackendPort{Number: service.Spec.Ports[0].Port},
			}},
		}}},
	}}}}
	return ingress
}

// route is an entry of a list of routes.
type route struct {
	// path is the prefix of the entry's field names.
	path, metaField, specField spark.Field
	kind                       string
	serviceMeta, meta          *metav1.ObjectMeta
	serviceSpec                *corev1.ServiceSpec
	spec                       *runtime.RawExtension
	// matches are the matches of the default rule to the Service; nil for none.
	matches []any
}

// check returns the missing fields of the entry.
func (r *route) check() []*spark.ConfError {
	var missing []*spark.ConfError
	need := func(present bool, name spark.Field, problem string) {
		if !present {
			missing = append(missing, &spark.ConfError{Field: r.path + name, Type: field.ErrorTypeRequired, Problem: problem})
		}
	}
	need(r.serviceMeta.Name != "", serviceMeta+".name", "is missing; write a name for the Service, such as my-app-ui")
	need(r.meta.Name != "", r.metaField+".name", "is missing; write a name for the "+r.kind+", such as my-app-ui")
	refs, _ := r.content()["parentRefs"].([]any)
	need(len(refs) > 0, r.specField+".parentRefs", "is missing; write the Gateway that takes the requests, such as [{name: my-gateway}]")
	return missing
}

// content returns the spec of the route as a map.
func (r *route) content() map[string]any {
	content := map[string]any{}
	if r.spec != nil {
		_ = json.Unmarshal(r.spec.Raw, &content) // the definition accepts only objects
	}
	return content
}

// object returns the route as an untyped object. With its Go types, the operator would depend on one release of the Gateway API.
func (r *route) object(service *corev1.Service) *unstructured.Unstructured {
	spec := r.content()
	if rules, _ := spec["rules"].([]any); len(rules) == 0 && len(service.Spec.Ports) > 0 {
		rule := map[string]any{"backendRefs": []any{map[string]any{
			"group": "", "kind": "Service", "name": service.Name, "port": int64(service.Spec.Ports[0].Port),
		}}}
		if r.matches != nil {
			rule["matches"] = r.matches
		}
		spec["rules"] = []any{rule}
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion("gateway.networking.k8s.io/v1")
	o.SetKind(r.kind)
	o.SetName(r.meta.Name)
	o.SetLabels(r.meta.Labels)
	o.SetAnnotations(r.meta.Annotations)
	return o
}
