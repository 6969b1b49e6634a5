// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gojson "k8s.io/apimachinery/pkg/util/json"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
)

// sources are all ways to write the path of an Ingress or an HTTPRoute: the administrator's, and the users' of each kind.
var sources = map[string]func(t *testing.T, path string, operator *resolve.Operator) resolve.Application{
	"ui.ingress": func(t *testing.T, path string, operator *resolve.Operator) resolve.Application {
		t.Helper()
		operator.Exposure.Ingress.URLFormat = "x.example.org" + escaped(path)
		return loadPlain(t, "", *operator)
	},
	"ui.route": func(t *testing.T, path string, operator *resolve.Operator) resolve.Application {
		t.Helper()
		operator.Exposure.Route = exposure.Route{URLFormat: "x.example.org" + escaped(path), ParentRefs: []exposure.ParentRef{{Name: "gateway"}}}
		return loadPlain(t, "", *operator)
	},
	"driverIngressOptions": func(t *testing.T, path string, operator *resolve.Operator) resolve.Application {
		t.Helper()
		return loadPlain(t, "x.example.org"+escaped(path), *operator)
	},
	"Prefix":                 attachedIngress(networkingv1.PathTypePrefix),
	"Exact":                  attachedIngress(networkingv1.PathTypeExact),
	"ImplementationSpecific": attachedIngress(networkingv1.PathTypeImplementationSpecific),
	"PathPrefix":             attachedRoute("PathPrefix"),
	"RouteExact":             attachedRoute("Exact"),
	"RouteDefault":           attachedRoute(""),
}

// Whoever writes a path, with limits on paths and without: it is made of characters that mean themselves to every proxy, or nothing is made of
// it. Where paths are limited, one that a proxy may read as an expression is not below a limit, unless the operator has quoted it.
func TestPathsOfAllSources(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	limits := policy.Set{{Name: "web", Namespaces: []string{"*"}, Limits: policy.Limits{Paths: []string{"/team"}}}}
	literal := regexp.MustCompile(`^/[A-Za-z0-9._~/-]*$`)
	const captured = "(/|$)(.*)"
	for name, source := range sources {
		made := func(path string, limits policy.Set) (paths, said []string) {
			operator := resolve.Operator{Registry: registry, Policies: limits, Exposure: exposure.Config{Service: true, Ingress: exposure.Ingress{Enabled: true}}}
			a := source(t, path, &operator)
			m := makeAll(t, a, registry, operator.Exposure, false)
			for _, o := range m.objects {
				paths = append(paths, pathsIn(t, o.object)...)
			}
			attempt := exposure.Attempt{App: a.App, Owner: a.Owner, SparkAppID: a.Identity.AppID, DriverName: a.DriverName()}
			for _, p := range exposure.Of(attempt, operator.Exposure).Problems {
				m.said = append(m.said, p.Message)
			}
			return paths, m.said
		}
		for _, path := range []string{
			"/team/\n}\nlocation / {", "/team{x}", `/team"x`, "/team'x", "/team;x", "/team|/", "/team/../other", "/team/./x", "/team//x", "/team/.*", "/team(.*)", "/team%2e%2e",
			"/team x", "/t\u00e9am", `/team\x`, "/team$", "/team^", "/team\x00",
		} {
			for _, set := range []policy.Set{nil, limits} {
				paths, said := made(path, set)
				if slices.ContainsFunc(paths, func(p string) bool {
					return !literal.MatchString(strings.ReplaceAll(strings.TrimSuffix(p, captured), `\.`, ".")) || strings.Contains(p, "..") || strings.Contains(p, "//")
				}) {
					t.Errorf("%s: %q becomes %q (%d policies)", name, path, paths, len(set))
				}
				if !slices.ContainsFunc(said, func(s string) bool {
					return strings.Contains(s, "character other than") || strings.Contains(s, "segment") || strings.Contains(s, "brace")
				}) {
					t.Errorf("%s: %q: it says %q (%d policies)", name, path, said, len(set))
				}
			}
		}
		if paths, said := made("/team/x", nil); len(paths) == 0 || len(said) > 0 {
			t.Errorf("%s: of a path that is one there are %q, and it says %q", name, paths, said)
		}
		expression := name == "ImplementationSpecific"
		if _, said := made("/team/x", limits); (len(said) > 0) != expression {
			t.Errorf("%s: below the limit it says %q", name, said)
		}
		if paths, said := made("/team"+captured, nil); expression && (len(paths) != 1 || len(said) > 0) {
			t.Errorf("%s: of the expression that the operator writes itself there are %q, and it says %q", name, paths, said)
		}
	}
}

func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// loadPlain is an application whose driver has a port with a URL, unless that is empty.
func loadPlain(t *testing.T, format string, operator resolve.Operator) resolve.Application {
	t.Helper()
	o := decode[v1beta2.SparkApplication](t, strings.Split(everywhere, "  sparkUIOptions:")[0], "harmless/annotation")
	o.Spec.DriverIngressOptions = nil
	if format != "" {
		o.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{{ServicePort: new(int32(8080)), IngressURLFormat: format}}
	}
	return resolve.Load(kubeflow.SparkApplications{}, o, lifecycle.Record{}, operator, time.Unix(0, 0))
}

func attachedIngress(kind networkingv1.PathType) func(*testing.T, string, *resolve.Operator) resolve.Application {
	return func(t *testing.T, path string, operator *resolve.Operator) resolve.Application {
		t.Helper()
		o := plainApache(t)
		o.Spec.DriverServiceIngressList[0].IngressSpec = &networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: path, PathType: &kind}}}},
		}}}
		return resolve.Load(apache.SparkApplications{}, o, lifecycle.Record{}, *operator, time.Unix(0, 0))
	}
}

func attachedRoute(kind string) func(*testing.T, string, *resolve.Operator) resolve.Application {
	return func(t *testing.T, path string, operator *resolve.Operator) resolve.Application {
		t.Helper()
		match := map[string]any{"value": path}
		if kind != "" {
			match["type"] = kind
		}
		raw, err := gojson.Marshal(map[string]any{
			"parentRefs": []any{map[string]any{"name": "gateway"}}, "rules": []any{map[string]any{"matches": []any{map[string]any{"path": match}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		o := plainApache(t)
		o.Spec.DriverServiceIngressList = nil
		o.Spec.DriverHTTPRouteList = decode[v1.SparkApplication](t, everywhereApache, "harmless/annotation").Spec.DriverHTTPRouteList
		o.Spec.DriverHTTPRouteList[0].HTTPRouteSpec = &runtime.RawExtension{Raw: raw}
		return resolve.Load(apache.SparkApplications{}, o, lifecycle.Record{}, *operator, time.Unix(0, 0))
	}
}

func plainApache(t *testing.T) *v1.SparkApplication {
	t.Helper()
	o := decode[v1.SparkApplication](t, everywhereApache, "harmless/annotation")
	o.Spec.DriverHTTPRouteList, o.Spec.DriverGRPCRouteList = nil, nil
	return o
}

// pathsIn are the paths of an Ingress or an HTTPRoute.
func pathsIn(t *testing.T, object any) (paths []string) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	rules, _, _ := unstructured.NestedSlice(content, "spec", "rules")
	for _, rule := range rules {
		r := rule.(map[string]any)
		of, _, _ := unstructured.NestedSlice(r, "http", "paths")
		for _, p := range of {
			paths = append(paths, p.(map[string]any)["path"].(string))
		}
		matches, _, _ := unstructured.NestedSlice(r, "matches")
		for _, m := range matches {
			path, _, _ := unstructured.NestedString(m.(map[string]any), "path", "value")
			paths = append(paths, path)
		}
	}
	return paths
}
