// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// nonJVMOverheadFactor is for Python and R, which use memory outside of the JVM.
	nonJVMOverheadFactor = 0.4
	// minOverheadMiB is the minimum memory overhead in releases without a property for it.
	minOverheadMiB = 384
)

// overheadFactor returns the share of the memory that is added as overhead, unless a role has its own factor. Property: spark.kubernetes.memoryOverheadFactor.
func overheadFactor(c *conf, language Language) float64 {
	if language != LanguageJava && !c.has(ConfMemoryOverheadFactor) {
		return nonJVMOverheadFactor
	}
	return c.double(ConfMemoryOverheadFactor, 0, false)
}

// roleMemory has the properties from which one role's memory is computed.
type roleMemory struct {
	memory, overhead, factor, minimum string
}

var (
	driverMemory = roleMemory{
		ConfDriverMemory, ConfDriverMemoryOverhead, ConfDriverMemoryOverheadFactor, ConfDriverMinMemoryOverhead,
	}
	executorMemory = roleMemory{
		ConfExecutorMemory, ConfExecutorMemoryOverhead, ConfExecutorMemoryOverheadFactor, ConfExecutorMinMemoryOverhead,
	}
)

// total returns the JVM's memory and its overhead, in MiB.
func (m roleMemory) total(c *conf, language Language, profile Profile) int64 {
	base := c.mebibytes(m.memory)
	factor := overheadFactor(c, language)
	if c.has(m.factor) {
		factor = c.double(m.factor, 0, true)
	}
	minimum := int64(minOverheadMiB)
	if profile.MinOverheadConf {
		minimum = c.mebibytes(m.minimum)
	}
	if c.has(m.overhead) {
		return base + c.mebibytes(m.overhead)
	}
	return base + max(truncate(factor*float64(base)), minimum)
}

// quantityOfMiB returns a size in MiB as a quantity.
func (c *conf) quantityOfMiB(key string, mib int64) resource.Quantity {
	if mib <= 0 || mib > math.MaxInt64/mebibyte {
		value, _ := c.text(key)
		c.fail(key, value, "the pod's memory is out of range")
		return resource.Quantity{}
	}
	return *resource.NewQuantity(mib*mebibyte, resource.BinarySI)
}

// quantity returns the value of a property that Spark passes to Kubernetes unchanged.
func (c *conf) quantity(key string) resource.Quantity {
	value, _ := c.text(key)
	quantity, err := ParseQuantity(value)
	if err != nil {
		c.fail(key, value, `not a quantity of Kubernetes; write e.g. "500m" or "2"`)
	}
	return quantity
}

// sizeDriver sets the resources of the driver's container. Other resources in a template stay.
func (b *builder) sizeDriver() {
	request := ConfDriverCores
	if b.conf.has(ConfDriverRequestCores) {
		request = ConfDriverRequestCores
	} else {
		b.conf.number(ConfDriverCores)
	}
	memory := b.conf.quantityOfMiB(ConfDriverMemory, driverMemory.total(b.conf, b.language, b.profile))
	setResources(&b.container.Resources, b.conf.quantity(request), memory)
	if b.conf.has(ConfDriverLimitCores) {
		b.container.Resources.Limits[corev1.ResourceCPU] = b.conf.quantity(ConfDriverLimitCores)
	}
	b.conf.customResources(ConfDriverResourcePrefix, b.container.Resources.Limits)
}

// Resources returns the resources of Spark's containers by role, according to the configuration without templates. It is nil if the configuration is invalid.
func Resources(app Application) map[string]corev1.ResourceRequirements {
	profile, err := ProfileOf(app)
	if err != nil {
		return nil
	}
	b := &builder{app: &app, profile: profile, conf: newConf(mergeConf(&app), app.Submitter.Env), language: languageOf(&app), mode: modeOf(&app)}
	executor := corev1.Container{}
	b.sizeDriver()
	b.sizeExecutor(&executor)
	if b.conf.err != nil {
		return nil
	}
	return map[string]corev1.ResourceRequirements{RoleDriver: b.container.Resources, RoleExecutor: executor.Resources}
}

// setResources sets the request for CPU, and the request and the limit for memory.
func setResources(resources *corev1.ResourceRequirements, cpu, memory resource.Quantity) {
	if resources.Requests == nil {
		resources.Requests = corev1.ResourceList{}
	}
	if resources.Limits == nil {
		resources.Limits = corev1.ResourceList{}
	}
	resources.Requests[corev1.ResourceCPU] = cpu
	resources.Requests[corev1.ResourceMemory] = memory
	resources.Limits[corev1.ResourceMemory] = memory
}

// customResources adds the limits for GPUs and the like: spark.<role>.resource.<name>.amount and .vendor.
func (c *conf) customResources(prefix string, limits corev1.ResourceList) {
	last := ""
	for _, key := range c.under(prefix) {
		name, _, found := strings.Cut(key[len(prefix):], ".")
		if !found || name == last {
			continue
		}
		last = name
		amountKey := prefix + name + ".amount"
		if !c.has(amountKey) {
			c.failAs(field.ErrorTypeRequired, amountKey, "", "missing; write how many of the resource "+name+" each pod needs")
			return
		}
		count := c.number(amountKey)
		if count <= 0 {
			continue
		}
		vendor, ok := c.raw(prefix + name + ".vendor")
		if !ok {
			c.failAs(field.ErrorTypeRequired, prefix+name+".vendor", "", `missing; write the domain of the resource `+name+`, e.g. "nvidia.com"`)
			return
		}
		limits[corev1.ResourceName(vendor+"/"+name)] = *resource.NewQuantity(count, resource.DecimalSI)
	}
}
