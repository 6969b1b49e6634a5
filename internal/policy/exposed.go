// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// serviceTypes are all types of Services.
var serviceTypes = []string{
	string(corev1.ServiceTypeClusterIP), string(corev1.ServiceTypeNodePort), string(corev1.ServiceTypeLoadBalancer), string(corev1.ServiceTypeExternalName),
}

// Names of limits, as in the operator's configuration.
const (
	limitServiceTypes         = "serviceTypes"
	limitForbiddenAnnotations = "forbiddenAnnotations"
	limitForbiddenLabels      = "forbiddenLabels"
	limitIngressClasses       = "ingressClasses"
	limitGateways             = "gateways"
	limitPlainServices        = "plainServices"
	limitHosts                = "hosts"
	limitPaths                = "paths"
)

// CheckExposure checks the auxiliary objects of an application, which the operator creates with its own permissions. It runs before an application starts and
// before objects are applied. sparkAppID is "" if the attempt's id is not known.
func (s Set) CheckExposure(app spark.Application, sparkAppID string) []exposure.Objection {
	if !slices.ContainsFunc(s, func(p Policy) bool { return p.Limits.anyOfExposure() }) {
		return nil
	}
	c := exposureChecker{checker: checker{app: app, said: map[string]bool{}}}
	claims := exposure.Claims(app, sparkAppID)
	for i := range s {
		c.policy, c.limits = s[i].Name, s[i].Limits
		for _, claim := range claims {
			c.judge(claim)
		}
	}
	return c.objections
}

// anyOfExposure reports whether any limit needs CheckExposure.
func (l Limits) anyOfExposure() bool {
	return len(l.ServiceTypes)+len(l.Hosts)+len(l.Paths)+len(l.ForbiddenAnnotations)+len(l.ForbiddenLabels)+
		len(l.IngressClasses)+len(l.Gateways) > 0 || l.PlainServices
}

type exposureChecker struct {
	checker
	objections []exposure.Objection
}

func (c *exposureChecker) judge(claim exposure.Claim) {
	if t := string(claim.ServiceType); t != "" && len(c.limits.ServiceTypes) > 0 && !slices.Contains(c.limits.ServiceTypes, t) {
		c.object(claim, limitServiceTypes, &spark.ConfError{Field: claim.Field + "." + claim.TypeField, Value: t}, "Services of type %s",
			strings.Join(c.limits.ServiceTypes, ", "))
	}
	if len(claim.ExternalIPs) > 0 && len(c.limits.ServiceTypes) > 0 && !slices.Contains(c.limits.ServiceTypes, string(corev1.ServiceTypeLoadBalancer)) {
		// External IPs receive traffic from outside for any address, as a load balancer does.
		e := &spark.ConfError{Field: cmp.Or(claim.IPsField, claim.Field+".spec.externalIPs"), Value: strings.Join(claim.ExternalIPs, ", ")}
		c.object(claim, limitServiceTypes, e, "Services of type %s", strings.Join(c.limits.ServiceTypes, ", "))
	}
	meta := cmp.Or(claim.MetaField, claim.Field) + "."
	for _, name := range forbidden(c.limits.ForbiddenAnnotations, claim.Annotations) {
		c.object(claim, limitForbiddenAnnotations, &spark.ConfError{Field: (meta + claim.AnnotationsField).Key(name)}, "no such annotation")
	}
	for _, name := range c.forbiddenLabels(claim.Labels) {
		c.object(claim, limitForbiddenLabels, &spark.ConfError{Field: (meta + claim.LabelsField).Key(name)}, "no such label")
	}
	c.chosen(claim)
	hosts := filled(c.limits.Hosts, c.app.Namespace)
	for _, host := range claim.TLSHosts {
		if len(hosts) > 0 && !text.MatchesAny(hosts, host) {
			c.object(claim, limitHosts, &spark.ConfError{Field: claim.Field + ".ingressTLS", Value: host}, "the hosts %s", strings.Join(hosts, ", "))
		}
	}
	c.reach(claim, hosts)
	if claim.URLFormat == "" {
		return
	}
	asked := func() *spark.ConfError {
		e := &spark.ConfError{Field: claim.Field + ".ingressURLFormat", Value: claim.URLFormat}
		if claim.Err != nil {
			e.Problem = claim.Err.Error()
		}
		return e
	}
	if len(hosts) > 0 && (claim.Err != nil || !text.MatchesAny(hosts, claim.Host)) {
		c.object(claim, limitHosts, asked(), "the hosts %s", strings.Join(hosts, ", "))
	}
	paths := filled(c.limits.Paths, c.app.Namespace)
	if len(paths) > 0 && (claim.Err != nil || !belowAny(paths, claim.Path)) {
		c.object(claim, limitPaths, asked(), "the paths %s", strings.Join(paths, ", "))
	}
}

// forbidden returns the names of labels or annotations that match a pattern.
func forbidden(patterns []string, names map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool { return !text.MatchesAny(patterns, name) })
}

// forbiddenLabels returns the forbidden names of labels, without the labels that Spark and the operator set themselves.
func (c *checker) forbiddenLabels(names map[string]string) []string {
	return slices.DeleteFunc(forbidden(c.limits.ForbiddenLabels, names), func(name string) bool {
		return spark.IsReservedLabel(name) || slices.Contains(c.app.OwnLabels, name)
	})
}

// chosen checks fields that have defaults in the cluster, such as the class of an Ingress.
func (c *exposureChecker) chosen(claim exposure.Claim) {
	gateways := filled(c.limits.Gateways, c.app.Namespace)
	for _, list := range []struct {
		limit, what string
		patterns    []string
		choices     []exposure.Choice
	}{{limitIngressClasses, "Ingress classes", c.limits.IngressClasses, claim.Classes}, {limitGateways, "Gateways", gateways, claim.Gateways}} {
		for _, choice := range list.choices {
			if len(list.patterns) > 0 && !text.MatchesAny(list.patterns, choice.Value) {
				e := &spark.ConfError{Field: choice.Field, Value: choice.Value}
				c.object(claim, list.limit, e, "the %s %s", list.what, strings.Join(list.patterns, ", "))
			}
		}
	}
	for _, choice := range claim.Own {
		if c.limits.PlainServices {
			e := &spark.ConfError{Field: choice.Field, Value: choice.Value, Problem: "leave it out"}
			c.object(claim, limitPlainServices, e, "only Services without a selector, addresses or node ports of their own")
		}
	}
}

// reach checks the hosts and paths that an object serves. An empty host means every host.
func (c *exposureChecker) reach(claim exposure.Claim, hosts []string) {
	paths := filled(c.limits.Paths, c.app.Namespace)
	for _, r := range claim.Reach {
		if r.Host != exposure.AnyHost && len(hosts) > 0 && (r.Host == "" || !text.MatchesAny(hosts, r.Host)) {
			c.object(claim, limitHosts, &spark.ConfError{Field: r.Field, Value: cmp.Or(r.Host, "all hosts")}, "the hosts %s", strings.Join(hosts, ", "))
		}
		if r.Path != nil && len(paths) > 0 && !belowAny(paths, strings.TrimRight(*r.Path, "/")) {
			c.object(claim, limitPaths, &spark.ConfError{Field: r.Field, Value: *r.Path, Problem: r.Why}, "the paths %s", strings.Join(paths, ", "))
		}
	}
}

// object adds a violation, unless the field already has one.
func (c *exposureChecker) object(claim exposure.Claim, limit string, e *spark.ConfError, allows string, args ...any) {
	before := len(c.found)
	if c.refuse(e, allows, args...); len(c.found) > before {
		c.objections = append(c.objections, exposure.Objection{Object: claim.Object, Policy: c.policy, Limit: limit, ConfError: e})
	}
}

// namespacePlaceholder means the application's namespace in hosts and paths, as in the operator's URL formats.
const namespacePlaceholder = "{{$appNamespace}}"

func filled(patterns []string, namespace string) []string {
	out := make([]string, 0, len(patterns))
	for _, p := range patterns {
		out = append(out, strings.ReplaceAll(p, namespacePlaceholder, namespace))
	}
	return out
}

// belowAny reports whether a path without a final slash matches one of the patterns or is below one: /a/b is below /a, and /ab is not.
func belowAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		p = strings.TrimRight(p, "/")
		return text.Matches(p, path) || text.Matches(p+"/*", path)
	})
}

// urlPatterns validates patterns of hosts or paths.
func (v *validator) urlPatterns(field string, patterns []string, check func(string) error) {
	v.patterns(field, patterns)
	for i, pattern := range filled(patterns, "x") {
		if err := check(strings.ReplaceAll(pattern, "*", "x")); patterns[i] != "" && err != nil {
			v.fail(fmt.Sprintf("%s[%d]", field, i), patterns[i], err.Error())
		}
	}
}

func checkHostPattern(pattern string) error {
	if strings.ContainsAny(pattern, "{}") {
		return fmt.Errorf("unmatched brace; the placeholder is %s", namespacePlaceholder)
	}
	return nil
}

func checkGatewayPattern(pattern string) error {
	if !strings.Contains(pattern, "/") {
		return fmt.Errorf("write NAMESPACE/NAME, such as %s/*", namespacePlaceholder)
	}
	return checkHostPattern(pattern)
}

func checkPathPattern(pattern string) error {
	if err := checkHostPattern(pattern); err != nil {
		return err
	}
	if !strings.HasPrefix(pattern, "/") {
		return fmt.Errorf("paths begin with /; write e.g. /%s", namespacePlaceholder)
	}
	return exposure.CheckPath(pattern)
}

// networkPeers refuses a NetworkPolicy that admits traffic from outside the namespace.
func (c *checker) networkPeers(s subject) {
	made, ok := s.object.(*networkingv1.NetworkPolicy)
	if !ok || !c.limits.ForbidNetworkPeers {
		return
	}
	outside := func(who string) {
		c.refuse(&spark.ConfError{Field: spark.Field(s.role + ".networkPolicy"), Value: who}, "only peers in this namespace")
	}
	for _, rule := range made.Spec.Ingress {
		if len(rule.From) == 0 {
			outside("all")
		}
		for _, peer := range rule.From {
			switch {
			case peer.IPBlock != nil:
				outside(peer.IPBlock.CIDR)
			case peer.NamespaceSelector != nil || peer.PodSelector == nil:
				outside("pods of other namespaces")
			}
		}
	}
}
