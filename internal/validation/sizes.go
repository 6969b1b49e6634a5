// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// checkSizes refuses invalid sizes, also those that spark-submit does not check.
func checkSizes(app spark.Application) []*spark.ConfError { return sizesOf(app.Conf) }

func sizesOf(conf map[string]string) []*spark.ConfError {
	return slices.Concat(heapErrors(conf), sizeErrors(conf), factorErrors(conf), quantityErrors(conf))
}

// Defaults returns the errors in default properties that do not depend on an application: invalid sizes, and the errors of spark-submit.
func Defaults(conf map[string]string) []*spark.ConfError {
	found := sizesOf(conf)
	for _, e := range spark.SubmitErrors(conf) {
		if !slices.ContainsFunc(found, func(f *spark.ConfError) bool { return f.Key == e.Key }) {
			found = append(found, e)
		}
	}
	return found
}

// heap matches the sizes that a JVM accepts after -Xmx. Spark itself accepts more ("2gb", "2048", "2g "), but the driver's launcher passes spark.driver.memory
// to the JVM unchanged. The JVM then does not start.
var heap = regexp.MustCompile(`^[0-9]+[kKmMgGtT]$`)

func heapErrors(conf map[string]string) []*spark.ConfError {
	value, set := conf[spark.ConfDriverMemory]
	if !set || heap.MatchString(value) {
		return nil
	}
	return []*spark.ConfError{{
		Key: spark.ConfDriverMemory, Value: value,
		Problem: `not a heap size that a JVM takes; write a whole number and one of k, m, g, t, such as "512m" or "2g"`,
	}}
}

// sizeKeys are the properties that Spark reads as sizes, except the driver's heap. Without a unit, a number is in MiB, but the off-heap size in bytes.
var sizeKeys = []string{
	spark.ConfDriverMemoryOverhead, spark.ConfDriverMinMemoryOverhead,
	spark.ConfExecutorMemory, spark.ConfExecutorMemoryOverhead, spark.ConfExecutorMinMemoryOverhead,
	spark.ConfExecutorPySparkMemory, spark.ConfOffHeapSize,
}

func sizeErrors(conf map[string]string) []*spark.ConfError {
	var found []*spark.ConfError
	for _, key := range sizeKeys {
		value, set := conf[key]
		// Spark also accepts a negative overhead.
		if _, ok := spark.ParseSize(strings.TrimPrefix(value, "-"), 1); ok || !set || strings.Contains(value, "${") {
			continue
		}
		problem := `not a size; write a whole number and one of k, m, g, t, such as "512m" or "2g"`
		if _, err := spark.ParseQuantity(value); err == nil && strings.HasSuffix(value, "i") {
			problem = `a Kubernetes quantity, where Spark expects its own size format; write "` + strings.ToLower(strings.TrimSuffix(value, "i")) + `"`
		}
		found = append(found, &spark.ConfError{Key: key, Value: value, Problem: problem})
	}
	return found
}

// factorErrors checks the overhead factors, which are fractions of the memory.
func factorErrors(conf map[string]string) []*spark.ConfError {
	var found []*spark.ConfError
	for _, key := range []string{spark.ConfMemoryOverheadFactor, spark.ConfDriverMemoryOverheadFactor, spark.ConfExecutorMemoryOverheadFactor} {
		value, set := conf[key]
		if factor, ok := spark.ParseDouble(value); set && !strings.Contains(value, "${") && (!ok || !(factor >= 0)) {
			found = append(found, &spark.ConfError{Key: key, Value: value, Problem: `not a factor; write a number that is not negative, such as "0.1"`})
		}
	}
	return found
}

// quantityKeys are Spark properties that Kubernetes parses as quantities. It accepts 0, and refuses a limit below the request.
var quantityKeys = []string{
	spark.ConfDriverRequestCores, spark.ConfDriverLimitCores, spark.ConfExecutorRequestCores, spark.ConfExecutorLimitCores,
}

func quantityErrors(conf map[string]string) []*spark.ConfError {
	var found []*spark.ConfError
	for _, key := range quantityKeys {
		value, set := conf[key]
		if !set {
			continue
		}
		if q, err := spark.ParseQuantity(value); err != nil || q.Sign() < 0 {
			found = append(found, &spark.ConfError{
				Key: key, Value: value,
				Problem: `not a number of cores; write a Kubernetes quantity that is not negative, such as "500m" or "2"`,
			})
		}
	}
	return found
}
