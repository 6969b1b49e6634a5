// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// live starts an application that is allowed, and edits it while it runs. What must not exist is looked for each time.
func live(name, reason, spec string, cannot func(*arena) error, told string) attack {
	return attack{
		name: name, reason: reason, by: tenant, policy: limited, told: told, cannot: cannot, shares: started,
		do: func(a *arena) error {
			if _, err := a.runs(objectOf(name)); err != nil {
				return err
			}
			if err := a.edit(application, objectOf(name), "spec: "+spec); err != nil {
				return err
			}
			return a.looked(application, objectOf(name))
		},
	}
}

// exposedOnly is an error if a Service is of another type than ClusterIP, or an Ingress has another host than the namespace's.
func exposedOnly(a *arena) error {
	var services corev1.ServiceList
	var ingresses networkingv1.IngressList
	if err := errors.Join(a.admin.List(a.ctx, &services, client.InNamespace(a.namespace)), a.admin.List(a.ctx, &ingresses, client.InNamespace(a.namespace))); err != nil {
		return err
	}
	for _, s := range services.Items {
		if s.Spec.Type != corev1.ServiceTypeClusterIP || len(s.Spec.ExternalIPs) > 0 || strings.Contains(fmt.Sprint(s.Annotations), "snippet") {
			return fmt.Errorf("Service %s: %s, %v", s.Name, s.Spec.Type, s.Annotations)
		}
	}
	for _, i := range ingresses.Items {
		if strings.Contains(fmt.Sprint(i.Annotations), "snippet") {
			return fmt.Errorf("Ingress %s: %v", i.Name, i.Annotations)
		}
		for _, r := range i.Spec.Rules {
			if !strings.HasSuffix(r.Host, "."+a.namespace+".example.org") {
				return fmt.Errorf("Ingress %s: %s", i.Name, r.Host)
			}
		}
	}
	return nil
}

func init() {
	const policy = `operator policy "limited"`
	ingress := func(more string) string {
		return "{driverIngressOptions: [{servicePort: 8080, servicePortName: web, " + more + "}]}"
	}
	add(
		live("LiveLoadBalancer", "the UI's Service takes another type while the driver runs", "{sparkUIOptions: {serviceType: LoadBalancer}}", exposedOnly, policy),
		live("LiveNodePort", "or the one of nodes", "{sparkUIOptions: {serviceType: NodePort}}", exposedOnly, policy),
		live("LiveServiceAnnotation", "annotations of the UI's Service", "{sparkUIOptions: {serviceAnnotations: {nginx/server-snippet: x}}}", exposedOnly, policy),
		live("LiveIngressHost", "another owner's host", ingress("ingressURLFormat: bank.example.org"), exposedOnly, policy),
		live("LiveIngressPath", "another owner's path on its own host", ingress("ingressURLFormat: \"x.{{$appNamespace}}.example.org/other\""), nil, policy),
		live("LiveIngressAnnotation", "an annotation that is code of a proxy", ingress("ingressURLFormat: \"x.{{$appNamespace}}.example.org/{{$appNamespace}}\", ingressAnnotations: {nginx/configuration-snippet: x}"), exposedOnly, policy),
		live("LiveIngressService", "the Service of a further port", ingress("serviceType: LoadBalancer"), exposedOnly, policy),
		live("LiveDriver", "an edit that runs the application again is judged as the first time", "{driver: {memory: 64g}}", func(a *arena) error { return a.most(1, "create", "pods") }, policy),
		live("LiveImage", "another image", "{image: evil.example/x}", func(a *arena) error { return a.most(1, "create", "pods") }, policy),
		live("LiveHostNetwork", "the network of the node", "{driver: {hostNetwork: true}}", func(a *arena) error { return a.most(1, "create", "pods") }, policy),
		live("LiveTemplate", "a container of the template", "{driver: {template: {spec: {containers: [{name: x, securityContext: {privileged: true}}]}}}}", func(a *arena) error { return a.most(1, "create", "pods") }, policy).
			unless("the contexts that the application names there win over the template's"),
	)
	add(names()...)
}

// names are attacks by names that are derived from others.
func names() []attack {
	return []attack{
		{
			name: "SameNameOfAllKinds", reason: "a schedule, an application and a server of one name share objects", by: tenant,
			do: func(a *arena) error {
				return errors.Join(a.app("same"), a.apply(schedule, "same", `schedule: "@every 1s"`), a.apply(connect, "same"))
			},
			cannot: func(a *arena) error { return errors.Join(a.looked(application, "same"), a.looked(connect, "same")) },
		},
		{
			name: "DriverNameOfAnother", reason: "two applications have one driver pod", by: tenant,
			do: func(a *arena) error {
				if _, err := a.runs("victim"); err != nil {
					return err
				}
				return a.app("thief", "driver: {podName: victim-driver}")
			},
			cannot: func(a *arena) error {
				pod, err := a.driverOf("victim")
				if err != nil {
					return err
				}
				if owner := metav1.GetControllerOf(pod); owner == nil || owner.Name != "victim" {
					return fmt.Errorf("the driver's owner is %v", owner)
				}
				return a.state("victim", "RUNNING")
			},
			told: "victim-driver",
		},
		{
			name: "NamesOfDerivedObjects", reason: "an application is called as another's Service", by: tenant,
			do: func(a *arena) error {
				return errors.Join(a.app("a"), a.app("a-driver"), a.app("a-ui-svc"), a.apply(connect, "a-server"), a.app("a-server"))
			},
			cannot: submitted("a", "a-driver", "a-ui-svc", "a-server"),
		},
		{
			name: "LongestNames", reason: "names of objects and labels are made from a name of 253 characters", by: tenant,
			do: func(a *arena) error {
				for _, n := range []int{57, 58, 63, 64, 200, 253} {
					name := strings.Repeat("n", n)
					if err := errors.Join(a.app(name), a.apply(schedule, name, `schedule: "@every 1s"`), a.apply(connect, name)); err != nil {
						return err
					}
				}
				return nil
			},
			cannot: submitted(strings.Repeat("n", 57), strings.Repeat("n", 253)),
		},
		{
			name: "NamesWithDots", reason: "a name of an object may be no name of a Service or a label", by: tenant,
			do:     func(a *arena) error { return errors.Join(a.app("x.y.z"), a.app("1.2"), a.app("a.b-c.d")) },
			cannot: submitted("x.y.z", "1.2", "a.b-c.d"),
		},
		{
			name: "NamesOfTheBystander", reason: "a name in one namespace is none in another", by: tenant,
			do: func(a *arena) error {
				for i := range 3 {
					if err := a.app(fmt.Sprintf("calm-%d", a.bystanders+i)); err != nil {
						return err
					}
				}
				return nil
			},
			cannot: elsewhere,
		},
		{
			name: "NameOfARun", reason: "an application that is called as a run of a schedule is counted as one", by: tenant,
			do: func(a *arena) error {
				return errors.Join(a.app("cron-1767225600000000000", "metadata: {labels: {sparkoperator.k8s.io/scheduled-app-name: cron}, annotations: {sparkoperator.k8s.io/scheduled-time: nonsense}}\nspec: {}"),
					a.apply(schedule, "cron", `schedule: "@every 1s"`))
			},
			cannot: func(a *arena) error { return a.looked(schedule, "cron") },
		},
		{
			name: "OperatorsLabels", reason: "labels of the operator on an application and its pods", by: tenant,
			do: func(a *arena) error {
				labels := "{sparkoperator.k8s.io/app-name: calm-1, sparkoperator.k8s.io/submission-id: x, spark-role: executor, spark-app-selector: x, sparkoperator.k8s.io/launched-by-spark-operator: \"false\"}"
				return a.app("labels", "metadata: {labels: "+labels+"}\nspec: {driver: {labels: "+labels+", template: {metadata: {labels: "+labels+"}}}}")
			},
			cannot: submitted("labels"),
		},
	}
}
