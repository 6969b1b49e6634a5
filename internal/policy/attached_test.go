// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// What a tenant attaches to the driver is created with the operator's rights, so that the limits of what exposes a driver hold for it: also
// for all hosts, which nobody has to write down.
func TestCheckAttached(t *testing.T) {
	const limits = `[{name: web, namespaces: ["*"], limits: {serviceTypes: [ClusterIP], hosts: ["*.a.b"], paths: [/team], forbiddenAnnotations: ["*-snippet"]}}]`
	checkAttached(t, limits, map[string]attachedCase{
		"Allowed": {reason: "within all limits", spec: `
driverServiceIngressList:
- serviceMetadata: {name: ui}
  serviceSpec: {ports: [{port: 4040}]}
  ingressMetadata: {name: ui}
  ingressSpec: {rules: [{host: x.a.b, http: {paths: [{path: /team/x, pathType: Prefix}]}}]}
driverHttpRouteList:
- serviceMetadata: {name: h}
  serviceSpec: {ports: [{port: 4040}]}
  httpRouteMetadata: {name: h}
  httpRouteSpec: {parentRefs: [{name: gw}], hostnames: [x.a.b], rules: [{matches: [{path: {value: /team}}]}]}
driverGrpcRouteList:
- serviceMetadata: {name: g}
  serviceSpec: {ports: [{port: 15002}]}
  grpcRouteMetadata: {name: g}
  grpcRouteSpec: {parentRefs: [{name: gw}], hostnames: [y.a.b]}
`},
		"Service": {reason: "its type, its addresses and its annotations", spec: `
driverServiceIngressList:
- serviceMetadata: {name: ui, annotations: {x-snippet: y}}
  serviceSpec: {type: LoadBalancer, externalIPs: [1.2.3.4], ports: [{port: 4040}]}
  ingressMetadata: {name: ui}
  ingressSpec: {rules: [{host: x.a.b, http: {paths: [{path: /team, pathType: Prefix}]}}]}
`, want: []string{
			`spec.driverServiceIngressList[0].serviceSpec.type: "LoadBalancer": namespace jobs allows Services of type ClusterIP (operator policy "web")`,
			`spec.driverServiceIngressList[0].serviceSpec.externalIPs: "1.2.3.4": namespace jobs allows Services of type ClusterIP (operator policy "web")`,
			`spec.driverServiceIngressList[0].serviceMetadata.annotations["x-snippet"]: namespace jobs allows no such annotation (operator policy "web")`,
		}},
		"DefaultIngress": {reason: "one without rules takes all requests", spec: `
driverServiceIngressList:
- serviceMetadata: {name: ui}
  serviceSpec: {ports: [{port: 4040}]}
  ingressMetadata: {name: ui}
`, want: []string{
			`spec.driverServiceIngressList[0].ingressSpec.rules[0].http.paths[0]: "all hosts": namespace jobs allows the hosts *.a.b (operator policy "web")`,
		}},
		"Ingress": {reason: "certificates, a backend for the rest, a rule without paths", spec: `
driverServiceIngressList:
- serviceMetadata: {name: ui}
  serviceSpec: {ports: [{port: 4040}]}
  ingressMetadata: {name: ui, annotations: {x-snippet: y}}
  ingressSpec: {tls: [{hosts: [c.d]}], defaultBackend: {service: {name: ui}}, rules: [{host: x.a.b}, {host: c.d, http: {paths: [{path: /team}]}}]}
`, want: []string{
			`spec.driverServiceIngressList[0].ingressMetadata.annotations["x-snippet"]: namespace jobs allows no such annotation (operator policy "web")`,
			`spec.driverServiceIngressList[0].ingressSpec.tls[0].hosts: "c.d": namespace jobs allows the hosts *.a.b (operator policy "web")`,
			`spec.driverServiceIngressList[0].ingressSpec.defaultBackend: "all hosts": namespace jobs allows the hosts *.a.b (operator policy "web")`,
			`spec.driverServiceIngressList[0].ingressSpec.rules[0]: "/": namespace jobs allows the paths /team (operator policy "web")`,
			`spec.driverServiceIngressList[0].ingressSpec.rules[1].http.paths[0]: "c.d": namespace jobs allows the hosts *.a.b (operator policy "web")`,
		}},
		"ImplementationSpecific": {reason: "some proxies read it as an expression", spec: `
driverServiceIngressList:
- serviceMetadata: {name: ui}
  serviceSpec: {ports: [{port: 4040}]}
  ingressMetadata: {name: ui}
  ingressSpec: {rules: [{host: x.a.b, http: {paths: [{path: /team, pathType: ImplementationSpecific}]}}]}
`, want: []string{
			`spec.driverServiceIngressList[0].ingressSpec.rules[0].http.paths[0]: "/": a path of type ImplementationSpecific may be any; write Prefix or Exact; namespace jobs allows the paths /team (operator policy "web")`,
		}},
		"Routes": {reason: "without hostnames they take all, and no path, or an expression, may be any", spec: `
driverHttpRouteList:
- serviceMetadata: {name: h}
  serviceSpec: {ports: [{port: 4040}]}
  httpRouteMetadata: {name: h, annotations: {x-snippet: y}}
  httpRouteSpec: {parentRefs: [{name: gw}], rules: [{}, {matches: [{path: {type: RegularExpression, value: /team.*}}]}]}
driverGrpcRouteList:
- serviceMetadata: {name: g}
  serviceSpec: {ports: [{port: 15002}]}
  grpcRouteMetadata: {name: g}
  grpcRouteSpec: {parentRefs: [{name: gw}]}
`, want: []string{
			`spec.driverHttpRouteList[0].httpRouteMetadata.annotations["x-snippet"]: namespace jobs allows no such annotation (operator policy "web")`,
			`spec.driverHttpRouteList[0].httpRouteSpec.hostnames: "all hosts": namespace jobs allows the hosts *.a.b (operator policy "web")`,
			`spec.driverHttpRouteList[0].httpRouteSpec.rules[0]: "/": namespace jobs allows the paths /team (operator policy "web")`,
			`spec.driverHttpRouteList[0].httpRouteSpec.rules[1].matches[0]: "/": a path of type RegularExpression may be any; write PathPrefix or Exact; namespace jobs allows the paths /team (operator policy "web")`,
			`spec.driverGrpcRouteList[0].grpcRouteSpec.hostnames: "all hosts": namespace jobs allows the hosts *.a.b (operator policy "web")`,
		}},
	})
}

// What is said of classes, Gateways, pods and addresses of what is attached: the cluster, or the driver, would say otherwise.
func TestCheckChoices(t *testing.T) {
	const limits = `[{name: web, namespaces: ["*"], limits: {ingressClasses: [inner], gateways: ["{{$appNamespace}}/*", shared/inner], plainServices: true, forbiddenLabels: ["grafana_*"]}}]`
	checkAttached(t, limits, map[string]attachedCase{
		"Allowed": {reason: "the default class has no name, and a Gateway of the same namespace no namespace", spec: `
driverServiceIngressList:
- {serviceMetadata: {name: ui, labels: {app: x}}, serviceSpec: {clusterIP: None, ports: [{port: 4040}]}, ingressMetadata: {name: ui}}
- {serviceMetadata: {name: u2}, serviceSpec: {ports: [{port: 4040}]}, ingressMetadata: {name: u2}, ingressSpec: {ingressClassName: inner, rules: [{host: a}]}}
driverHttpRouteList:
- {serviceMetadata: {name: h}, serviceSpec: {ports: [{port: 4040}]}, httpRouteMetadata: {name: h}, httpRouteSpec: {parentRefs: [{name: gw}, {name: inner, namespace: shared}]}}
`},
		"Classes": {reason: "by the field, and by what is older", spec: `
driverServiceIngressList:
- serviceMetadata: {name: ui}
  serviceSpec: {ports: [{port: 4040}]}
  ingressMetadata: {name: ui, annotations: {kubernetes.io/ingress.class: outer}, labels: {grafana_dashboard: x}}
  ingressSpec: {ingressClassName: public, rules: [{host: a}]}
`, want: []string{
			`spec.driverServiceIngressList[0].ingressMetadata.labels["grafana_dashboard"]: namespace jobs allows no such label (operator policy "web")`,
			`spec.driverServiceIngressList[0].ingressMetadata.annotations["kubernetes.io/ingress.class"]: "outer": namespace jobs allows the Ingress classes inner (operator policy "web")`,
			`spec.driverServiceIngressList[0].ingressSpec.ingressClassName: "public": namespace jobs allows the Ingress classes inner (operator policy "web")`,
		}},
		"Gateways": {reason: "of other namespaces, and what is no Gateway", spec: `
driverHttpRouteList:
- {serviceMetadata: {name: h}, serviceSpec: {ports: [{port: 4040}]}, httpRouteMetadata: {name: h}, httpRouteSpec: {parentRefs: [{name: gw}, {name: outer, namespace: shared}]}}
driverGrpcRouteList:
- {serviceMetadata: {name: g}, serviceSpec: {ports: [{port: 15002}]}, grpcRouteMetadata: {name: g}, grpcRouteSpec: {parentRefs: [{kind: Service, group: "", name: bank}]}}
`, want: []string{
			`spec.driverHttpRouteList[0].httpRouteSpec.parentRefs[1]: "shared/outer": namespace jobs allows the Gateways jobs/*, shared/inner (operator policy "web")`,
			`spec.driverGrpcRouteList[0].grpcRouteSpec.parentRefs[0]: "Service jobs/bank": namespace jobs allows the Gateways jobs/*, shared/inner (operator policy "web")`,
		}},
		"Services": {reason: "other pods, and addresses, of each list", spec: `
driverServiceIngressList:
- {serviceMetadata: {name: ui}, serviceSpec: {selector: {app: bank}, clusterIP: 10.96.0.53, ports: [{port: 4040}]}, ingressMetadata: {name: ui}}
driverHttpRouteList:
- {serviceMetadata: {name: h}, serviceSpec: {selector: {app: bank}, ports: [{port: 4040, nodePort: 30000}]}, httpRouteMetadata: {name: h}, httpRouteSpec: {parentRefs: [{name: gw}]}}
driverGrpcRouteList:
- {serviceMetadata: {name: g}, serviceSpec: {loadBalancerIP: 192.0.2.1, ports: [{port: 1}]}, grpcRouteMetadata: {name: g}, grpcRouteSpec: {parentRefs: [{name: gw}]}}
`, want: []string{
			`spec.driverServiceIngressList[0].serviceSpec.selector: "app=bank"` + plain,
			`spec.driverServiceIngressList[0].serviceSpec.clusterIP: "10.96.0.53"` + plain,
			`spec.driverHttpRouteList[0].serviceSpec.selector: "app=bank"` + plain,
			`spec.driverHttpRouteList[0].serviceSpec.ports[0].nodePort: "30000"` + plain,
			`spec.driverGrpcRouteList[0].serviceSpec.loadBalancerIP: "192.0.2.1"` + plain,
		}},
	})
}

const plain = `: leave it out; namespace jobs allows only Services without a selector, addresses or node ports of their own (operator policy "web")`

type attachedCase struct {
	reason, spec string
	want         []string
}

func checkAttached(t *testing.T, limits string, cases map[string]attachedCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &v1.SparkApplication{}
			o.Namespace = "jobs"
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &o.Spec); err != nil {
				t.Fatal(err)
			}
			app, problems := apache.Normalize(o)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []string
			for _, p := range set(t, limits).Check(app, spark.Submission{Driver: &corev1.Pod{}, Executor: &corev1.Pod{}}) {
				got = append(got, validation.Explain(app, p))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
