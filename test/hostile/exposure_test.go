// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	hosts       = "allows the hosts"
	paths       = "allows the paths"
	clusterOnly = "allows Services of type ClusterIP"
	annotations = "no such annotation"
	// ownHost is a host that the policy limited allows; ownPath is a path as well.
	ownHost = "x.{{$appNamespace}}.example.org"
	ownPath = "/{{$appNamespace}}"
)

// ingressTo is an Ingress that an application asks for, with something more.
func ingressTo(url, more string) string {
	return `driverIngressOptions: [{servicePort: 4040, servicePortName: p, ingressURLFormat: "` + url + `"` + more + `}]`
}

func ingresses(told string, urls ...string) tries {
	all := tries{}
	for i, url := range urls {
		all[fmt.Sprintf("url-%d", i+1)] = try{ingressTo(url, ""), told}
	}
	return all
}

func init() {
	add(
		beyond("OthersHosts", "a host of another namespace, in each way to write one", limited, ingresses(hosts,
			"bank.example.org"+ownPath, "example.org"+ownPath, "x.other.example.org"+ownPath, "x.{{$appNamespace}}.example.org.evil"+ownPath, "X.OTHER.EXAMPLE.ORG"+ownPath,
			"*.example.org"+ownPath, "http://bank.example.org"+ownPath, ownHost+"@bank.example.org"+ownPath, "bank.example.org:443"+ownPath, ownPath, "bank.example.org#."+ownHost+ownPath,
			"bank.example.org?."+ownHost+ownPath,
		)),
		beyond("OthersPaths", "a path of another namespace on a host of one's own", limited, ingresses(paths,
			ownHost, ownHost+"/", ownHost+"/other", ownHost+ownPath+"x", ownHost+"/other"+ownPath,
		)),
		beyond("HiddenPaths", "a path that becomes another when it is decoded, or matches others", limited, ingresses("spec.driverIngressOptions[0].ingressURLFormat",
			ownHost+ownPath+"/../other", ownHost+ownPath+"/%2e%2e/other", ownHost+ownPath+"/%2E%2E%2Fother", ownHost+"//other", ownHost+"/.*",
			ownHost+"/({{$appNamespace}}|other)", ownHost+ownPath+"%0a%7b", ownHost+ownPath+"/%7b%7d", ownHost+ownPath+"/\u00e9",
		)),
		beyond("OthersCertificates", "a certificate for a host of others", limited, tries{
			"driver": {ingressTo(ownHost+ownPath, `, ingressTLS: [{hosts: [bank.example.org], secretName: x}]`), hosts},
			"ui":     {`sparkUIOptions: {ingressTLS: [{hosts: [bank.example.org], secretName: x}]}`, hosts},
		}),
		beyond("ServiceTypes", "a driver on the Internet", limited, tries{
			"ui-balancer":     {`sparkUIOptions: {serviceType: LoadBalancer}`, clusterOnly},
			"ui-node":         {`sparkUIOptions: {serviceType: NodePort}`, clusterOnly},
			"ui-name":         {`sparkUIOptions: {serviceType: ExternalName}`, clusterOnly},
			"driver-balancer": {ingressTo(ownHost+ownPath, `, serviceType: LoadBalancer`), clusterOnly},
			"driver-node":     {ingressTo(ownHost+ownPath, `, serviceType: NodePort`), clusterOnly},
		}),
		beyond("Snippets", "configuration of the proxy in an annotation", limited, tries{
			"ui":             {`sparkUIOptions: {ingressAnnotations: {nginx.ingress.kubernetes.io/configuration-snippet: x}}`, annotations},
			"ui-service":     {`sparkUIOptions: {serviceAnnotations: {nginx.ingress.kubernetes.io/server-snippet: x}}`, annotations},
			"driver":         {ingressTo(ownHost+ownPath, `, ingressAnnotations: {nginx.ingress.kubernetes.io/auth-snippet: x}`), annotations},
			"driver-service": {ingressTo(ownHost+ownPath, `, serviceAnnotations: {nginx.ingress.kubernetes.io/auth-snippet: x}`), annotations},
			"second":         {`driverIngressOptions: [{servicePort: 1, servicePortName: p, ingressURLFormat: "` + ownHost + ownPath + `"}, {servicePort: 2, servicePortName: p, ingressURLFormat: "` + ownHost + ownPath + `", ingressAnnotations: {x-snippet: x}}]`, annotations},
		}),
		attack{
			name: "ManyIngresses", reason: "20,000 objects, one after the other, by one worker", by: tenant,
			do: func(a *arena) error {
				return a.app("many", `driverIngressOptions: [`+strings.Repeat(`{servicePort: 80, servicePortName: p, ingressURLFormat: "a.b"}, `, 10_000)+`]`)
			},
			cannot: (*arena).nothing,
			told:   "must have at most 16 items",
		},
	)
	for _, x := range []struct{ name, reason, url, told string }{
		{"PathOfNewlines", "lines of the proxy's configuration", "ok.example.org/%0a%7b%0areturn%20200%3b%0a%7d", `has a character other than`},
		{"PathOfBraces", "a block of the proxy's configuration", "ok.example.org/a{b}c", `brace`},
		{"PathOfExpressions", "a regular expression that matches all paths", "ok.example.org/.*", `has a character other than`},
		{"PathOfDots", "a path that becomes another", "ok.example.org/a/%2e%2e/b", `or . or ..`},
		{"HostOfWildcards", "all hosts", "*.example.org/a", `host`},
	} {
		add(injection(x.name, x.reason, x.url, x.told))
	}
	for _, x := range []struct{ name, reason, edit, told string }{
		{"LiveHost", "a driver that runs takes another's host by an edit", `{` + ingressTo("bank.example.org"+ownPath, "") + `}`, hosts},
		{"LivePath", "a driver that runs takes another's path by an edit", `{` + ingressTo(ownHost+"/other", "") + `}`, paths},
		{"LiveSnippet", "a driver that runs configures the proxy by an edit", `{` + ingressTo(ownHost+ownPath, `, ingressAnnotations: {x-snippet: evil}`) + `}`, annotations},
		{"LiveCertificate", "a driver that runs takes another's certificate by an edit", `{` + ingressTo(ownHost+ownPath, `, ingressTLS: [{hosts: [bank.example.org], secretName: evil}]`) + `}`, hosts},
	} {
		add(liveEdit(x.name, x.reason, x.edit, x.told))
	}
}

// injection is an address of which no Ingress may be made, with any limits or none.
func injection(name, reason, url, told string) attack {
	return attack{
		name: name, reason: reason, by: tenant, shares: started,
		do: func(a *arena) error {
			_, err := a.runs(objectOf(name), ingressTo(url, ""))
			return err
		},
		cannot: func(a *arena) error { return errors.Join(a.hears(told), a.exposes()) },
		told:   "ExposureInvalid",
	}
}

// liveEdit changes what is exposed while the driver runs, and no limit lets it.
func liveEdit(name, reason, edit, told string) attack {
	return attack{
		name: name, reason: reason, by: tenant, policy: limited, shares: started,
		do: func(a *arena) error {
			if _, err := a.runs(objectOf(name), ingressTo(ownHost+ownPath, "")); err != nil {
				said, _ := a.said() // it only explains
				return fmt.Errorf("%w; it is told: %.2000s", err, said)
			}
			if err := a.edit(application, objectOf(name), `spec: `+edit); err != nil {
				return err
			}
			return a.hears("ExposureForbidden")
		},
		cannot: func(a *arena) error { return errors.Join(a.exposes(), a.state(objectOf(name), "RUNNING")) },
		told:   told,
	}
}

// exposes is nil if all Services are inside the cluster, and all Ingresses are the namespace's own, without anything evil.
func (a *arena) exposes() error {
	var services corev1.ServiceList
	var rules networkingv1.IngressList
	if err := errors.Join(a.admin.List(a.ctx, &services, client.InNamespace(a.namespace)), a.admin.List(a.ctx, &rules, client.InNamespace(a.namespace))); err != nil {
		return err
	}
	for i := range services.Items {
		if s := &services.Items[i]; s.Spec.Type != corev1.ServiceTypeClusterIP || s.Annotations["x-snippet"] != "" {
			return fmt.Errorf("service %s is of type %s and has the annotations %v", s.Name, s.Spec.Type, s.Annotations)
		}
	}
	for i := range rules.Items {
		o := &rules.Items[i]
		for _, rule := range o.Spec.Rules {
			if rule.Host != "x."+a.namespace+".example.org" {
				return fmt.Errorf("ingress %s has the host %s", o.Name, rule.Host)
			}
			for _, p := range rule.HTTP.Paths {
				if !strings.HasPrefix(strings.Trim(p.Path, `\Q^(/`), a.namespace) {
					return fmt.Errorf("ingress %s has the path %s", o.Name, p.Path)
				}
			}
		}
		if len(o.Spec.TLS) > 0 || o.Annotations["x-snippet"] != "" {
			return fmt.Errorf("ingress %s has the certificates %v and the annotations %v", o.Name, o.Spec.TLS, o.Annotations)
		}
	}
	return nil
}
