// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// SizeErrors returns what is wrong with the sizes of an application. Spark reads more of them than spark-submit checks.
func SizeErrors(conf map[string]string) []*ConfError {
	return slices.Concat(heapErrors(conf), sizeErrors(conf), factorErrors(conf), quantityErrors(conf))
}

// DefaultErrors returns what is wrong with properties that are to hold for any application: its sizes, and what spark-submit checks of them.
func DefaultErrors(conf map[string]string) []*ConfError {
	found := SizeErrors(conf)
	for _, e := range slices.Concat(memoryErrors(conf), countErrors(conf, ConfDriverCores, ConfExecutorCores)) {
		if !slices.ContainsFunc(found, func(f *ConfError) bool { return f.Key == e.Key }) {
			found = append(found, e)
		}
	}
	return found
}

// memoryErrors are those of spark-submit about the memory of both roles.
func memoryErrors(conf map[string]string) []*ConfError {
	var found []*ConfError
	for _, key := range []string{ConfDriverMemory, ConfExecutorMemory} {
		value, set := conf[key]
		if size, valid := ParseSize(value, 1); set && (!valid || size <= 0) {
			found = append(found, &ConfError{Key: key, Value: value, Problem: "not a size: a positive whole number with one of " +
				`the suffixes k, m, g, t and p; write e.g. "2g"`})
		}
	}
	return found
}

// countErrors are those of spark-submit about numbers.
func countErrors(conf map[string]string, keys ...string) []*ConfError {
	var found []*ConfError
	for _, key := range keys {
		value, set := conf[key]
		if count, err := strconv.ParseInt(value, 10, 32); set && (err != nil || count <= 0) {
			found = append(found, &ConfError{Key: key, Value: value, Problem: `not a positive whole number; write e.g. "2"`})
		}
	}
	return found
}

// heap is what a JVM takes after -Xmx. Spark itself reads more ("2gb", "2048", "2g "), but the driver's launcher hands
// spark.driver.memory to the JVM unchanged, which then does not start.
var heap = regexp.MustCompile(`^[0-9]+[kKmMgGtT]$`)

func heapErrors(conf map[string]string) []*ConfError {
	value, set := conf[ConfDriverMemory]
	if !set || heap.MatchString(value) {
		return nil
	}
	return []*ConfError{{
		Key: ConfDriverMemory, Value: value,
		Problem: `not a heap size that a JVM takes; write a whole number and one of k, m, g, t, such as "512m" or "2g"`,
	}}
}

// sizeKeys are the properties that Spark reads as sizes, besides the driver's heap. A number without a unit counts in
// MiB, but for the size outside of the heap, where it counts in bytes.
var sizeKeys = []string{
	ConfDriverMemoryOverhead, ConfDriverMinMemoryOverhead,
	ConfExecutorMemory, ConfExecutorMemoryOverhead, ConfExecutorMinMemoryOverhead,
	ConfExecutorPySparkMemory, ConfOffHeapSize,
}

func sizeErrors(conf map[string]string) []*ConfError {
	var found []*ConfError
	for _, key := range sizeKeys {
		value, set := conf[key]
		// Spark computes with a negative overhead, too.
		if _, ok := ParseSize(strings.TrimPrefix(value, "-"), 1); ok || !set || strings.Contains(value, "${") {
			continue
		}
		problem := `not a size; write a whole number and one of k, m, g, t, such as "512m" or "2g"`
		if _, err := ParseQuantity(value); err == nil && strings.HasSuffix(value, "i") {
			problem = `a Kubernetes quantity, where Spark expects its own size format; write "` + strings.ToLower(strings.TrimSuffix(value, "i")) + `"`
		}
		found = append(found, &ConfError{Key: key, Value: value, Problem: problem})
	}
	return found
}

// factorErrors checks the parts of the memory that are added to it.
func factorErrors(conf map[string]string) []*ConfError {
	var found []*ConfError
	for _, key := range []string{ConfMemoryOverheadFactor, ConfDriverMemoryOverheadFactor, ConfExecutorMemoryOverheadFactor} {
		value, set := conf[key]
		if factor, ok := ParseDouble(value); set && !strings.Contains(value, "${") && (!ok || !(factor >= 0)) {
			found = append(found, &ConfError{Key: key, Value: value, Problem: `not a factor; write a number that is not negative, such as "0.1"`})
		}
	}
	return found
}

// quantityKeys are Spark properties that Kubernetes reads as quantities.
var quantityKeys = []string{
	ConfDriverRequestCores, ConfDriverLimitCores, ConfExecutorRequestCores, ConfExecutorLimitCores,
}

func quantityErrors(conf map[string]string) []*ConfError {
	var found []*ConfError
	for _, key := range quantityKeys {
		value, set := conf[key]
		if !set {
			continue
		}
		if q, err := ParseQuantity(value); err != nil || q.Sign() <= 0 {
			found = append(found, &ConfError{
				Key: key, Value: value,
				Problem: `not a number of cores; write a positive Kubernetes quantity such as "500m" or "2"`,
			})
		}
	}
	return found
}
