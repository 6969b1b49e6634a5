// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"math"

	corev1 "k8s.io/api/core/v1"
)

// Counted is what another program's quota counts of an application. The program reads the user's object, so it may count less than what runs.
type Counted struct {
	// By is the program's name in messages, and Why the part of the object that makes it count the application.
	By, Why string
	// Executors is the number of executors that it counts, and ExecutorsField the only field that it reads them from.
	Executors      int32
	ExecutorsField Field
	// Driver and Executor are the requests that it counts of one pod: CPU in cores, memory in bytes. SizeFields are the only fields of a role that
	// it reads them from, as messages list them.
	Driver, Executor corev1.ResourceList
	SizeFields       string
}

// fixExecutors writes down Spark's defaults of what sets the number of executors. Otherwise an option of the driver's JVM, such as
// -Dspark.dynamicAllocation.enabled=true, could set it, which Build does not read. What is written down wins over such options.
func fixExecutors(values map[string]string) {
	setDefault(values, ConfDynamicAllocation, "false")
	setDefault(values, ConfStreamingAllocation, "false")
	setDefault(values, ConfMinExecutors, defaults[ConfMinExecutors])
	setDefault(values, ConfInitialExecutors, values[ConfMinExecutors])
}

// RequestsOf returns the requests of a pod: the sum over its containers, or those of its init containers if they are more. A missing request is the
// limit, as the API server fills it in.
func RequestsOf(pod *corev1.PodSpec) corev1.ResourceList { return resourcesOf(pod).Requests }

// ExecutorsKey returns the property that lets the application have so many executors at a time: PodSets.Max.
func (r Reader) ExecutorsKey(most int32) string {
	enabled, keys := ConfDynamicAllocation, []string{ConfMaxExecutors, ConfInitialExecutors}
	if !r.conf.flag(enabled, false) {
		enabled, keys = ConfStreamingAllocation, []string{ConfStreamingMaxExecutors}
	}
	if !r.conf.flag(enabled, false) {
		return ConfExecutorInstances
	}
	for _, key := range keys {
		if r.conf.has(key) && int32(r.conf.number(key)) == most {
			return key
		}
	}
	if most == math.MaxInt32 {
		return enabled
	}
	return ConfExecutorInstances
}
