// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Check returns what the application asks for beyond the limits of the policies: of each field the first that objects to
// it. The set must be the one for the application's namespace, and its defaults be applied. built is what would be created.
func (s Set) Check(app spark.Application, built spark.Submission) []*spark.ConfError {
	if !slices.ContainsFunc(s, func(p Policy) bool { return p.Limits.any() }) {
		return nil
	}
	c := checker{app: app, built: built, said: map[string]bool{}}
	for i := range s {
		c.policy, c.limits = s[i].Name, s[i].Limits
		for _, check := range []func(*checker){
			(*checker).images, (*checker).accounts, (*checker).sizes, (*checker).executors, (*checker).conf, (*checker).labels, (*checker).host,
		} {
			check(&c)
		}
	}
	for _, o := range s.CheckExposure(app, "") {
		c.found = append(c.found, o.ConfError)
	}
	return c.found
}

// CheckRetention returns what is wrong with how long the application wants to be kept.
func (s Set) CheckRetention(namespace string, fields spark.Fields, r lifecycle.Retention) []*spark.ConfError {
	c := checker{app: spark.Application{Namespace: namespace}, said: map[string]bool{}}
	for i := range s {
		c.policy = s[i].Name
		limit := s[i].Limits.TimeToLiveSeconds
		if limit == nil {
			continue
		}
		for field, keep := range map[string]*time.Duration{"onSuccess": r.OnSuccess.Application, "onFailure": r.OnFailure.Application} {
			if keep == nil || *keep <= *seconds(*limit) {
				continue
			}
			name := fields.Path("retention." + field + ".application")
			if r.OnSuccess.Application != nil && r.OnFailure.Application != nil && *r.OnSuccess.Application == *r.OnFailure.Application {
				name = fields.Path("timeToLiveSeconds")
			}
			c.refuse(&spark.ConfError{Field: name, Value: keep.String()}, "at most %d seconds", *limit)
		}
	}
	slices.SortFunc(c.found, func(x, y *spark.ConfError) int { return cmp.Compare(x.Field, y.Field) })
	return c.found
}

// any reports whether there is a limit that Check checks.
func (l Limits) any() bool {
	return len(l.Images)+len(l.ServiceAccounts)+len(l.ForbiddenConf)+len(l.RequiredLabels) > 0 ||
		l.anyOfExposure() || l.Executors != nil || l.ForbidHostAccess ||
		!l.Driver.isZero() || !l.Executor.isZero()
}

func (l RoleLimits) isZero() bool { return l.Cores == "" && l.Memory == "" && len(l.Resources) == 0 }

type checker struct {
	app    spark.Application
	built  spark.Submission
	policy string
	limits Limits
	said   map[string]bool
	found  []*spark.ConfError
}

// refuse adds an objection: "<problem, if there is one>namespace team-a allows <what> (operator policy "small")".
func (c *checker) refuse(e *spark.ConfError, allows string, args ...any) {
	if c.said[e.Key+"/"+e.Field] {
		return
	}
	c.said[e.Key+"/"+e.Field] = true
	if e.Problem != "" {
		e.Problem += "; "
	}
	e.Problem += fmt.Sprintf("namespace %s allows %s (operator policy %q)", c.app.Namespace, fmt.Sprintf(allows, args...), c.policy)
	c.found = append(c.found, e)
}

// value is a property as it will be.
func (c *checker) value(key string) string {
	if v, ok := c.app.OperatorConf[key]; ok {
		return v
	}
	return c.app.Conf[key]
}

// field is a field of the user's.
func (c *checker) field(name string) string { return c.app.Fields.Path(name) }

// at is where a property is set, or the field to set it in.
func (c *checker) at(key, field string) *spark.ConfError {
	if _, set := c.app.Conf[key]; set {
		return &spark.ConfError{Key: key, Value: c.value(key)}
	}
	return &spark.ConfError{Field: c.field(field)}
}

func (c *checker) images() {
	if len(c.limits.Images) == 0 {
		return
	}
	allowed := "the images " + strings.Join(c.limits.Images, ", ")
	sparks := map[string]bool{}
	for _, key := range []string{spark.ConfDriverImage, spark.ConfExecutorImage} {
		if c.value(key) == "" {
			key = spark.ConfImage
		}
		sparks[c.value(key)] = true
		if !matchesAny(c.limits.Images, c.value(key)) {
			c.refuse(c.at(key, "image"), "%s", allowed)
		}
	}
	for _, r := range c.roles() {
		role, pod := r.name, r.pod
		for i, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			ofSpark := sparks[container.Image] || pod == c.built.Executor && i == len(pod.Spec.InitContainers)+c.built.ExecutorContainer
			if !ofSpark && !matchesAny(c.limits.Images, container.Image) {
				problem := "the image of container " + container.Name
				c.refuse(&spark.ConfError{Field: c.field(role), Value: container.Image, Problem: problem}, "%s", allowed)
			}
		}
	}
}

type role struct {
	name   string
	pod    *corev1.Pod
	labels map[string]string
}

func (c *checker) roles() []role {
	return []role{
		{"driver", c.built.Driver, c.built.PodSets.DriverAttributes.Labels}, {"executor", c.built.Executor, c.built.PodSets.ExecutorAttributes.Labels},
	}
}

func (c *checker) accounts() {
	if len(c.limits.ServiceAccounts) == 0 {
		return
	}
	driver := cmp.Or(c.built.Driver.Spec.ServiceAccountName, c.built.Driver.Spec.DeprecatedServiceAccount, "default")
	c.account("driver", spark.ConfDriverServiceAccount, driver)
	for _, name := range c.executorAccounts() {
		if name != driver {
			c.account("executor", spark.ConfExecutorServiceAccount, name)
		}
	}
}

// executorAccounts are the accounts that executors may get: which of a template and a property wins depends on the
// Spark version. Without either it is the driver's property, and the driver's template has no effect.
func (c *checker) executorAccounts() []string {
	template := c.built.Executor.Spec
	named := []string{c.value(spark.ConfExecutorServiceAccount), template.ServiceAccountName, template.DeprecatedServiceAccount}
	named = slices.DeleteFunc(named, func(name string) bool { return name == "" })
	if len(named) == 0 {
		named = []string{cmp.Or(c.value(spark.ConfDriverServiceAccount), "default")}
	}
	return named
}

func (c *checker) account(role, key, name string) {
	if matchesAny(c.limits.ServiceAccounts, name) {
		return
	}
	e := c.at(key, role+".serviceAccount")
	e.Value = name
	c.refuse(e, "the service accounts %s", strings.Join(c.limits.ServiceAccounts, ", "))
}

func (c *checker) sizes() {
	c.size("driver", c.limits.Driver, c.built.PodSets.Driver, spark.ConfDriverCores, spark.ConfDriverMemory)
	c.size("executor", c.limits.Executor, c.built.PodSets.Executor, spark.ConfExecutorCores, spark.ConfExecutorMemory)
}

func (c *checker) size(role string, l RoleLimits, shape spark.PodResources, cores, memory string) {
	for _, b := range []struct {
		limit      Amount
		name       corev1.ResourceName
		key, field string
	}{{l.Cores, corev1.ResourceCPU, cores, "cores"}, {l.Memory, corev1.ResourceMemory, memory, "memory"}} {
		most, limited := b.limit.quantity()
		asked := shape.Requests[b.name]
		if more := shape.Limits[b.name]; more.Cmp(asked) > 0 {
			asked = more
		}
		if !limited || asked.Cmp(most) <= 0 {
			continue
		}
		e := c.at(b.key, role+"."+b.field)
		e.Problem = fmt.Sprintf("the %s pod requests %s of %s in total", role, asked.String(), b.name)
		c.refuse(e, "at most %s", b.limit)
	}
}

func (c *checker) executors() {
	most := c.limits.Executors
	if most == nil || c.built.PodSets.Max <= *most {
		return
	}
	e := c.at(spark.ConfExecutorInstances, "executor.instances")
	if strings.EqualFold(c.value(spark.ConfDynamicAllocation), "true") {
		e = c.at(spark.ConfMaxExecutors, "dynamicAllocation.maxExecutors")
	}
	if c.built.PodSets.Max == math.MaxInt32 {
		e.Problem = "missing, so the number of executors is unlimited"
	} else {
		e.Value = strconv.Itoa(int(c.built.PodSets.Max))
	}
	c.refuse(e, "at most %d executors at a time", *most)
}

// conf checks the keys of sparkConf and hadoopConf; fields have limits of their own.
func (c *checker) conf() {
	for _, key := range slices.Sorted(maps.Keys(c.app.Conf)) {
		if origin, typed := c.app.Origins[key]; typed && !strings.HasPrefix(origin, c.field("hadoopConf")) {
			continue
		}
		if matchesAny(c.limits.ForbiddenConf, key) {
			c.refuse(&spark.ConfError{Key: key}, "no such property")
		}
	}
}

func (c *checker) labels() {
	for _, name := range c.limits.RequiredLabels {
		for _, r := range c.roles() {
			if r.labels[name] == "" {
				e := &spark.ConfError{Field: c.field("labels") + "[" + strconv.Quote(name) + "]"}
				e.Problem = "missing on the " + r.name + " pod; add it to the application; its pods inherit it"
				c.refuse(e, "only applications with this label")
			}
		}
	}
}

func (c *checker) host() {
	if !c.limits.ForbidHostAccess {
		return
	}
	for _, r := range c.roles() {
		role, s := r.name, &r.pod.Spec
		if s.HostNetwork || s.HostPID || s.HostIPC {
			c.refuse(&spark.ConfError{Field: c.field(role + ".hostNetwork"), Problem: "the pod shares its node's network or processes"}, "no access to nodes")
		}
		for i := range s.Volumes {
			if s.Volumes[i].HostPath != nil {
				c.refuse(&spark.ConfError{Field: c.field(role + ".volumes"), Value: s.Volumes[i].Name, Problem: "is a directory of the node (hostPath)"}, "no access to nodes")
			}
		}
		for _, container := range slices.Concat(s.InitContainers, s.Containers) {
			if slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 }) {
				c.refuse(&spark.ConfError{Field: c.field(role + ".template"), Value: container.Name, Problem: "the container uses a port of the node"}, "no access to nodes")
			}
		}
	}
	const executorPaths = spark.ConfExecutorVolumesPrefix + "hostPath."
	for _, key := range slices.Sorted(maps.Keys(c.app.Conf)) {
		if strings.HasPrefix(key, executorPaths) {
			c.refuse(&spark.ConfError{Key: key, Problem: "is a directory of the node"}, "no access to nodes")
		}
	}
}
