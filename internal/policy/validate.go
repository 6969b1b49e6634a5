// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// Validate returns the errors in the policies. Each error names the field of the configuration.
func (s Set) Validate(field string) []error {
	v := validator{}
	names := map[string]bool{}
	for i := range s {
		p, at := &s[i], fmt.Sprintf("%s[%d]", field, i)
		switch {
		case p.Name == "":
			v.fail(at+".name", p.Name, "give the policy a name; messages to users mention it")
		case names[p.Name]:
			v.fail(at+".name", p.Name, "another policy has this name")
		}
		names[p.Name] = true
		if len(p.Namespaces) == 0 {
			v.fail(at+".namespaces", "", `name at least one; "*" matches all`)
		}
		v.patterns(at+".namespaces", p.Namespaces)
		v.defaults(at+".defaults", p.Defaults)
		v.limits(at+".limits", p.Limits)
	}
	return v.errs
}

type validator struct{ errs []error }

func (v *validator) fail(field, value, problem string) {
	v.errs = append(v.errs, fmt.Errorf("%s: %q: %s", field, value, problem))
}

func (v *validator) patterns(field string, list []string) {
	for i, p := range list {
		if p == "" {
			v.fail(fmt.Sprintf("%s[%d]", field, i), p, "write a name, in which * matches any text")
		}
	}
}

func (v *validator) defaults(field string, d Defaults) {
	switch d.ImagePullPolicy {
	case "", "Always", "Never", "IfNotPresent":
	default:
		v.fail(field+".imagePullPolicy", d.ImagePullPolicy, `must be "Always", "Never" or "IfNotPresent"`)
	}
	if d.ServiceAccount != "" && len(utilvalidation.IsDNS1123Subdomain(d.ServiceAccount)) > 0 {
		v.fail(field+".serviceAccount", d.ServiceAccount, "not the name of a service account")
	}
	v.roleDefaults(field+".driver", d.Driver)
	v.roleDefaults(field+".executor", d.Executor)
	for _, key := range slices.Sorted(maps.Keys(d.SparkConf)) {
		if !strings.HasPrefix(key, "spark.") {
			v.fail(field+".sparkConf", key, "not a Spark property; those begin with spark.")
		}
	}
	for _, e := range validation.Defaults(d.SparkConf) {
		v.fail(fmt.Sprintf("%s.sparkConf[%q]", field, e.Key), e.Value, e.Problem)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Labels)) {
		value := d.Labels[name]
		if len(utilvalidation.IsQualifiedName(name)) > 0 || len(utilvalidation.IsValidLabelValue(value)) > 0 || spark.IsReservedLabel(name) {
			v.fail(field+".labels", name+"="+value, "not a label that a pod may have; Spark's own are reserved")
		}
	}
	v.timeToLive(field, d.TimeToLiveSeconds)
	v.deadlines(field+".deadlines.", d.Deadlines)
}

func (v *validator) deadlines(field string, d Deadlines) {
	for _, s := range []struct {
		name string
		span Span
	}{
		{"queued", d.Queued},
		{"driverScheduled", d.DriverScheduled},
		{"driverReady", d.DriverReady},
		{"firstExecutors", d.FirstExecutors},
		{"run", d.Run},
	} {
		if s.span != "" && s.span.duration() <= 0 {
			v.fail(field+s.name, string(s.span), `write a positive duration such as "30m"; leave it out for no deadline`)
		}
	}
}

func (v *validator) roleDefaults(field string, d RoleDefaults) {
	if d.Cores != nil && *d.Cores < 1 {
		v.fail(field+".cores", fmt.Sprint(*d.Cores), "must be at least 1")
	}
	v.amount(field+".coreLimit", d.CoreLimit)
	if d.Memory != "" {
		if size, ok := spark.ParseSize(d.Memory, 1); !ok || size <= 0 {
			v.fail(field+".memory", d.Memory, `write a size in Spark's units, such as "512m" or "2g"`)
		}
	}
}

func (v *validator) limits(field string, l Limits) {
	for _, list := range []struct {
		name     string
		patterns []string
	}{
		{"images", l.Images},
		{"serviceAccounts", l.ServiceAccounts},
		{"forbiddenConf", l.ForbiddenConf},
		{limitForbiddenAnnotations, l.ForbiddenAnnotations},
		{limitForbiddenLabels, l.ForbiddenLabels},
		{limitIngressClasses, l.IngressClasses},
		{"podLabels", l.PodLabels},
		{"podAnnotations", l.PodAnnotations},
		{"schedulerNames", l.SchedulerNames},
		{"priorityClasses", l.PriorityClasses},
		{"runtimeClasses", l.RuntimeClasses},
		{"storageClasses", l.StorageClasses},
		{"pullSecrets", l.PullSecrets},
		{"tolerations", l.Tolerations},
		{"nodeLabels", l.NodeLabels},
		{"urls", l.URLs},
	} {
		v.patterns(field+"."+list.name, list.patterns)
	}
	for i, p := range l.URLs {
		if problem := checkURLPattern(p); problem != "" && p != "" {
			v.fail(fmt.Sprintf("%s.urls[%d]", field, i), p, problem)
		}
	}
	v.urlPatterns(field+"."+limitHosts, l.Hosts, checkHostPattern)
	v.urlPatterns(field+"."+limitPaths, l.Paths, checkPathPattern)
	v.urlPatterns(field+"."+limitGateways, l.Gateways, checkGatewayPattern)
	for i, t := range l.ServiceTypes {
		if !slices.Contains(serviceTypes, t) {
			v.fail(fmt.Sprintf("%s.serviceTypes[%d]", field, i), t, "must be one of "+strings.Join(serviceTypes, ", "))
		}
	}
	if l.PodSecurity != "" && !slices.Contains(securityLevels, l.PodSecurity) {
		v.fail(field+".podSecurity", l.PodSecurity, "must be one of "+strings.Join(securityLevels, ", "))
	}
	v.roleLimits(field+".driver", l.Driver)
	v.roleLimits(field+".executor", l.Executor)
	v.roleLimits(field+".group", l.Group)
	v.count(field+".executors", l.Executors)
	v.count(field+".volumeClaims", l.VolumeClaims)
	v.amount(field+".volumeClaimStorage", l.VolumeClaimStorage)
	v.count(field+".retriesPerHour", l.RetriesPerHour)
	for i, name := range l.RequiredLabels {
		if len(utilvalidation.IsQualifiedName(name)) > 0 {
			v.fail(fmt.Sprintf("%s.requiredLabels[%d]", field, i), name, "not the name of a label")
		}
	}
	v.timeToLive(field, l.TimeToLiveSeconds)
}

func (v *validator) roleLimits(field string, l RoleLimits) {
	v.amount(field+".cores", l.Cores)
	v.amount(field+".memory", l.Memory)
	for _, pattern := range slices.Sorted(maps.Keys(l.Resources)) {
		most, ok := l.Resources[pattern].quantity()
		switch name := corev1.ResourceName(pattern); {
		case name == corev1.ResourceCPU, name == corev1.ResourceMemory:
			v.fail(field+".resources", pattern, "set cores or memory outside of resources")
		case pattern == "" || !ok || most.Sign() < 0:
			v.fail(field+".resources", pattern, `write a pattern of names with a limit, such as "nvidia.com/*": 1; 0 forbids it`)
		}
	}
}

func (v *validator) count(field string, n *int32) {
	if n != nil && *n < 0 {
		v.fail(field, fmt.Sprint(*n), "must not be negative")
	}
}

func (v *validator) timeToLive(field string, seconds *int64) {
	if seconds != nil && (*seconds < 0 || *seconds > maxTimeToLive) {
		v.fail(field+".timeToLiveSeconds", fmt.Sprint(*seconds), "must be seconds, not negative and at most 100 years")
	}
}

func (v *validator) amount(field string, a Amount) {
	if q, ok := a.quantity(); a != "" && (!ok || q.Sign() <= 0) {
		v.fail(field, string(a), `write a positive Kubernetes quantity such as "500m", "4" or "16Gi"`)
	}
}
