// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Object is a desired object with labels and the applied hash. The writer adds its owner.
type Object struct {
	Ref
	*unstructured.Unstructured
}

// Values of the label lifecycle.Labels.Exposes.
const (
	exposesUI     = "ui"
	exposesPort   = "port"
	exposesDriver = "driver"
	// exposesConnect marks the Service of a server's clients.
	exposesConnect = "connect"
)

// portNameUI is the name of the UI Service's port.
const portNameUI = "spark-driver-ui-port"

// wanted collects the desired objects.
type wanted struct {
	Wanted
	attempt Attempt
	config  Config
	names   map[string]string
}

// ui adds the Service of the UI, and an Ingress and a route if the UI has a URL.
func (w *wanted) ui() {
	listens := spark.UIPort(w.attempt.App)
	if !w.config.Service || listens == 0 || w.attempt.App.Exposure.NoUI {
		return
	}
	options := w.attempt.App.Exposure.UI
	if options.Port == 0 {
		options.Port = listens
	}
	if options.PortName == "" {
		options.PortName = portNameUI
	}
	name := ServiceName(w.attempt.App.Name)
	w.add(w.service(name, options, listens), exposesUI)
	w.Status.Service, w.Status.ServicePort = name, options.Port

	if format := w.config.Ingress.URLFormat; w.config.Ingress.Enabled && format != "" {
		ingress := ingressName(w.attempt.App.Name)
		if u := w.url(format, Ref{IngressKind, ingress}, "the Ingress of the UI"); u != nil {
			w.Status.Ingress, w.Status.IngressAddress = ingress, u.String()
			w.add(w.ingress(w.Status.Ingress, name, options, u), exposesUI)
		}
	}
	if format := w.config.Route.URLFormat; format != "" {
		route := routeName(w.attempt.App.Name)
		if u := w.url(format, Ref{HTTPRoute, route}, "the HTTPRoute of the UI"); u != nil {
			w.Status.Route, w.Status.RouteAddress = route, u.String()
			w.add(w.route(w.Status.Route, name, options.Port, u), exposesUI)
		}
	}
}

// port adds the Service of another port, and an Ingress if the port has a URL.
func (w *wanted) port(p spark.ExposedPort) {
	if p.Port < 1 {
		return // validation has refused this port
	}
	if p.PortName == "" {
		p.PortName = fmt.Sprintf("driver-ing-%d", p.Port)
	}
	app := w.attempt.App.Name
	name := portServiceName(app, p.Port)
	w.add(w.service(name, p, p.Port), exposesPort)
	if p.URLFormat == "" {
		return
	}
	ingress := portIngressName(app, p.Port)
	if !w.config.Ingress.Enabled {
		w.problem(Ref{}, fmt.Sprintf("Ingress %s is not created: Ingresses are disabled in the operator's configuration (ui.ingress)", ingress))
		return
	}
	if u := w.url(p.URLFormat, Ref{IngressKind, ingress}, "Ingress "+ingress); u != nil {
		w.add(w.ingress(ingress, name, p, u), exposesPort)
	}
}

func (w *wanted) problem(object Ref, message string) {
	w.Problems = append(w.Problems, Problem{object, lifecycle.Cause{Reason: lifecycle.ReasonExposureInvalid, Message: message}})
}

// url fills in a URL format; nil if the result is invalid.
func (w *wanted) url(format string, object Ref, what string) *url.URL {
	u, err := rule(format, w.names)
	if err != nil {
		w.problem(object, fmt.Sprintf("%s%s%q: %v", what, notMade, format, err))
		return nil
	}
	return u
}

// add adds the labels to an object, and the object to the wanted ones.
func (w *wanted) add(typed metav1.Object, exposes string) {
	typed.SetNamespace(w.attempt.App.Namespace)
	w.attempt.Owner.Mark(typed)
	labels := typed.GetLabels()
	labels[w.labels.App], labels[w.labels.Exposes] = w.attempt.App.Name, exposes
	typed.SetLabels(labels)
	u, err := w.plain(typed)
	if err != nil {
		w.problem(Ref{}, fmt.Sprintf("%s is not created: %v", typed.GetName(), err))
		return
	}
	ref := Ref{u.GroupVersionKind(), u.GetName()}
	if w.wants(ref) {
		once := "each port of " + w.attempt.App.Fields.Path("ports") + " is exposed once"
		if exposes == exposesConnect {
			once = w.attempt.App.Fields.Path("services") + " needs another name"
		}
		w.problem(Ref{}, fmt.Sprintf("%s is created once: %s", ref, once))
		return
	}
	w.Objects = append(w.Objects, Object{ref, u})
}

// plain returns an object as it is applied, with the hash of its content.
func (w *wanted) plain(typed metav1.Object) (*unstructured.Unstructured, error) {
	u, ok := typed.(*unstructured.Unstructured)
	if !ok {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		if err != nil {
			return nil, err
		}
		delete(content, "status")
		u = &unstructured.Unstructured{Object: content}
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	}
	return u, w.labels.MarkApplied(u)
}

// driverSelector selects an application's driver pod.
func (a Attempt) driverSelector() map[string]string {
	role := spark.RoleDriver
	if a.App.Server != nil {
		role = spark.RoleServer
	}
	return map[string]string{a.Owner.Labels.App: a.App.Name, spark.LabelRole: role}
}

// requested adds a Service that the application specifies completely. It drops finalizers and owners, because an application may not set them.
func (w *wanted) requested(s *corev1.Service) {
	w.add(&corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: Service.GroupVersion().String(), Kind: Service.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, Labels: maps.Clone(s.Labels), Annotations: maps.Clone(s.Annotations)},
		Spec:       *s.Spec.DeepCopy(),
	}, exposesConnect)
}

func (w *wanted) service(name string, p spark.ExposedPort, target int32) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: Service.GroupVersion().String(), Kind: Service.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(p.Labels), Annotations: maps.Clone(p.Annotations)},
		Spec: corev1.ServiceSpec{
			Type:     orDefault(p.ServiceType, corev1.ServiceTypeClusterIP),
			Selector: w.attempt.driverSelector(),
			Ports:    []corev1.ServicePort{{Name: p.PortName, Port: p.Port, TargetPort: intstr.FromInt32(target), Protocol: corev1.ProtocolTCP}},
		},
	}
}

// rewriteTarget is the annotation that makes ingress-nginx forward only the rest of the path.
const rewriteTarget = "nginx.ingress.kubernetes.io/rewrite-target"

func (w *wanted) ingress(name, service string, p spark.ExposedPort, u *url.URL) *networkingv1.Ingress {
	annotations := maps.Clone(w.config.Ingress.Annotations)
	if len(p.IngressAnnotations) > 0 {
		annotations = maps.Clone(p.IngressAnnotations)
	}
	path := "/"
	if base := pathOf(u); base != "" {
		path = regexp.QuoteMeta(base) + captured
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[rewriteTarget] = "/$2"
	}
	tls := w.config.Ingress.TLS
	if len(p.TLS) > 0 {
		tls = p.TLS
	}
	i := &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: IngressKind.GroupVersion().String(), Kind: IngressKind.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: networkingv1.IngressSpec{
			TLS: tls,
			Rules: []networkingv1.IngressRule{{Host: u.Hostname(), IngressRuleValue: networkingv1.IngressRuleValue{
				HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
					Path: path, PathType: new(networkingv1.PathTypeImplementationSpecific),
					Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
						Name: service, Port: networkingv1.ServiceBackendPort{Number: p.Port},
					}},
				}}},
			}}},
		},
	}
	if class := w.config.Ingress.ClassName; class != "" {
		i.Spec.IngressClassName = &class
	}
	return i
}

// route returns an HTTPRoute. It is untyped, because the typed API would bind the operator to one release of the Gateway API.
func (w *wanted) route(name, service string, port int32, u *url.URL) *unstructured.Unstructured {
	path := pathOf(u)
	rule := map[string]any{
		"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": path + "/"}}},
		"backendRefs": []any{map[string]any{"name": service, "port": int64(port)}},
	}
	if path != "" {
		rule["matches"] = []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": path}}}
		rule["filters"] = []any{map[string]any{"type": "URLRewrite", "urlRewrite": map[string]any{
			"path": map[string]any{"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"},
		}}}
	}
	var parents []any
	for _, p := range w.config.Route.ParentRefs {
		parents = append(parents, p.value())
	}
	r := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"parentRefs": parents, "hostnames": []any{u.Hostname()}, "rules": []any{rule}},
	}}
	r.SetGroupVersionKind(HTTPRoute)
	r.SetName(name)
	r.SetAnnotations(maps.Clone(w.config.Route.Annotations))
	return r
}

func (p ParentRef) value() map[string]any {
	v := map[string]any{"name": p.Name}
	if p.Namespace != "" {
		v["namespace"] = p.Namespace
	}
	if p.SectionName != "" {
		v["sectionName"] = p.SectionName
	}
	if p.Port != 0 {
		v["port"] = int64(p.Port)
	}
	return v
}

// disruptionBudget protects the driver from evictions for maintenance. For pods without a scalable controller only minAvailable works (Kubernetes, "Specifying
// a Disruption Budget": arbitrary workloads).
func disruptionBudget(a Attempt) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: DisruptionBudget.GroupVersion().String(), Kind: DisruptionBudget.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: a.DriverName, Labels: map[string]string{a.Owner.Labels.LaunchedBy: "true"}},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)),
			Selector:     &metav1.LabelSelector{MatchLabels: a.driverSelector()},
		},
	}
}

func orDefault[T comparable](value, preset T) T {
	var zero T
	if value == zero {
		return preset
	}
	return value
}

// Fragment has the operator's permissions for one kind of objects, in addition to the operator's own role. It is needed only if the configuration enables the
// kind.
type Fragment struct {
	// Name is the name of the files with the rules.
	Name  string
	Rules []rbacv1.PolicyRule
}

// Fragments returns the permissions of each kind that is off by default. Services and Ingresses are in the operator's own role.
func Fragments() []Fragment {
	of := func(name, group, resource string) Fragment {
		return Fragment{name, []rbacv1.PolicyRule{{
			APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
		}}}
	}
	return []Fragment{
		of("httproute", HTTPRoute.Group, "httproutes"),
		of("poddisruptionbudget", DisruptionBudget.Group, "poddisruptionbudgets"),
	}
}
