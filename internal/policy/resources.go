// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/text"
)

func (c *checker) sizes() {
	c.size(driverRole, c.limits.Driver, c.built.PodSets.Driver, spark.ConfDriverCores, spark.ConfDriverMemory)
	c.size(executorRole, c.limits.Executor, c.built.PodSets.Executor, spark.ConfExecutorCores, spark.ConfExecutorMemory)
	most, limited := c.limits.Executor.Memory.quantity()
	if asked := c.raised(); limited && asked.Cmp(most) > 0 {
		c.tooLarge(&spark.ConfError{Field: "executor.memoryLimit"}, executorRole, asked, corev1.ResourceMemory, c.limits.Executor.Memory)
	}
}

func (c *checker) tooLarge(e *spark.ConfError, role string, asked resource.Quantity, name corev1.ResourceName, limit Amount) {
	e.Problem = fmt.Sprintf("the %s pod requests %s of %s in total", role, asked.String(), name)
	c.refuse(e, "at most %s", limit)
}

func (c *checker) size(role string, l RoleLimits, shape spark.PodResources, cores, memory string) {
	for _, b := range []struct {
		limit      Amount
		name       corev1.ResourceName
		key, field string
	}{{l.Cores, corev1.ResourceCPU, cores, "cores"}, {l.Memory, corev1.ResourceMemory, memory, "memory"}} {
		most, limited := b.limit.quantity()
		if asked := larger(shape, b.name); limited && asked.Cmp(most) > 0 {
			c.tooLarge(c.at(b.key, spark.Field(role+"."+b.field)), role, asked, b.name, b.limit)
		}
	}
}

// writtenSizes refuses a container that omits a limited size. Without a memory limit a container can use all memory of the node, and a missing CPU request
// counts in no sum. Sizes of the pod as a whole do not replace it, because older versions of Kubernetes drop them.
func (c *checker) writtenSizes(s subject) {
	l := c.limits.role(s.role)
	for _, list := range [][]corev1.Container{s.pod.Spec.InitContainers, s.pod.Spec.Containers} {
		for i := range list {
			limits, requests := list[i].Resources.Limits, list[i].Resources.Requests
			_, bound := limits[corev1.ResourceMemory]
			c.unwritten(s, list[i].Name, l.Memory, bound, "memory", "has no limit of memory; write resources.limits.memory")
			_, limited := limits[corev1.ResourceCPU]
			_, requested := requests[corev1.ResourceCPU]
			c.unwritten(s, list[i].Name, l.Cores, limited || requested, "cores", "requests no cpu; write resources.requests.cpu")
		}
	}
}

func (c *checker) unwritten(s subject, container string, limit Amount, written bool, field spark.Field, problem string) {
	if limit != "" && !written {
		c.refuse(&spark.ConfError{Field: spark.Field(s.role+".") + field, Problem: "the container " + container + " " + problem}, "at most %s", limit)
	}
}

// raised returns the executor pod's memory after an admission policy has applied the memory limit that an annotation requests; 0 without the annotation.
func (c *checker) raised() resource.Quantity {
	sum, err := spark.ParseQuantity(c.built.PodSets.ExecutorAttributes.Annotations[spark.AnnotationMemoryLimit])
	if err != nil {
		return resource.Quantity{} // an admission policy ignores an invalid value
	}
	for i := range c.built.Executor.Spec.Containers {
		if i != c.built.ExecutorContainer {
			r := c.built.Executor.Spec.Containers[i].Resources
			sum.Add(larger(spark.PodResources{Requests: r.Requests, Limits: r.Limits}, corev1.ResourceMemory))
		}
	}
	return sum
}

// larger returns the larger one of a pod's request and limit of a resource.
func larger(shape spark.PodResources, name corev1.ResourceName) resource.Quantity {
	asked := shape.Requests[name]
	if more := shape.Limits[name]; more.Cmp(asked) > 0 {
		return more
	}
	return asked
}

// devices is the name of the limit on devices that a pod claims.
const devices = "resourceclaims"

// resources checks all resources except CPU and memory.
func (c *checker) resources(s subject) {
	limits, prefix := c.limits.role(s.role).Resources, spark.ConfDriverResourcePrefix
	if s.role == executorRole {
		prefix = spark.ConfExecutorResourcePrefix
	}
	if len(limits) == 0 {
		return
	}
	asked := map[corev1.ResourceName]resource.Quantity{}
	for _, list := range []corev1.ResourceList{s.sizes.Requests, s.sizes.Limits} {
		for name := range list {
			asked[name] = larger(s.sizes, name)
		}
	}
	if n := len(s.pod.Spec.ResourceClaims); n > 0 {
		asked[devices] = *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	delete(asked, corev1.ResourceCPU)
	delete(asked, corev1.ResourceMemory)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		quantity := asked[name]
		most, limited := mostOf(limits, string(name))
		if allowed, _ := most.quantity(); !limited || quantity.Cmp(allowed) <= 0 {
			continue
		}
		c.tooLarge(c.resourceAt(s.role, prefix, string(name)), s.role, quantity, name, most)
	}
}

// mostOf returns the limit of a resource from the longest matching pattern.
func mostOf(limits map[string]Amount, name string) (most Amount, limited bool) {
	longest := ""
	for _, pattern := range slices.Sorted(maps.Keys(limits)) {
		if text.Matches(pattern, name) && len(pattern) > len(longest) {
			longest, most, limited = pattern, limits[pattern], true
		}
	}
	return most, limited
}

// resourceAt returns the source of a resource request: Spark's property for its amount, or else the role's field.
func (c *checker) resourceAt(role, prefix, name string) *spark.ConfError {
	vendor, short, _ := strings.Cut(name, "/")
	if short != "" && c.value(prefix+short+".vendor") == vendor {
		return c.at(prefix+short+".amount", spark.Field(role))
	}
	return &spark.ConfError{Field: spark.Field(role), Value: name}
}

// group limits what a gang scheduler is asked for beyond the pods.
func (c *checker) group() {
	asked := c.app.Scheduling.Resources
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		quantity := asked[name]
		most, limited := c.limits.Group.of(name)
		if allowed, _ := most.quantity(); limited && quantity.Cmp(allowed) > 0 {
			e := &spark.ConfError{Field: spark.FieldGroupResources.Key(string(name)), Value: quantity.String()}
			c.refuse(e, "at most %s of %s for the group", most, name)
		}
	}
}

// of returns the limit of a resource.
func (l RoleLimits) of(name corev1.ResourceName) (most Amount, limited bool) {
	switch name {
	case corev1.ResourceCPU:
		return l.Cores, l.Cores != ""
	case corev1.ResourceMemory:
		return l.Memory, l.Memory != ""
	default:
		return mostOf(l.Resources, string(name))
	}
}

func (c *checker) executors() {
	most := c.limits.Executors
	if most == nil || c.built.PodSets.Max <= *most {
		return
	}
	e := c.at(c.read.ExecutorsKey(c.built.PodSets.Max), "executor.instances")
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
