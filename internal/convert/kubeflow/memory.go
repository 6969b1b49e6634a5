// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"maps"
	"math"
	"strconv"

	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

const (
	mebibyte = 1 << 20
	// defaultDriverMemory is what Spark takes when nobody says, in MiB (spark.driver.memory).
	defaultDriverMemory = 1024
)

// RaisesMemory reports whether an attempt that ran out of memory is followed by one with more.
func RaisesMemory(o *v1beta2.SparkApplication) bool {
	rule := o.Spec.RestartPolicy.OutOfMemory
	return rule != nil && rule.MemoryFactor != nil
}

// WithRaisedMemory returns the application with the driver's memory, and its overhead if the user has set it, raised as
// often as attempts have run out of it, up to the user's bound.
func WithRaisedMemory(app spark.Application, o *v1beta2.SparkApplication, raises int32) spark.Application {
	if raises == 0 || !RaisesMemory(o) {
		return app
	}
	rule := o.Spec.RestartPolicy.OutOfMemory
	factor, err := strconv.ParseFloat(*rule.MemoryFactor, 64)
	if err != nil || !(factor > minimalMemoryFactor && factor <= excessiveMemoryFactor) {
		return app
	}
	ceiling, bounded := spark.ParseSize(ptr.Deref(rule.MaxMemory, ""), mebibyte)
	factor = math.Pow(factor, float64(raises))
	app.Conf = maps.Clone(app.Conf)
	raise := func(key string, preset int64) {
		now, ok := spark.ParseSize(app.Conf[key], mebibyte)
		if !ok {
			now = preset
		}
		if now == 0 {
			return
		}
		more := int64(math.Min(float64(now)*factor, math.MaxInt32))
		if bounded && key == spark.ConfDriverMemory {
			more = max(now, min(more, ceiling))
		}
		app.Conf[key] = strconv.FormatInt(more, 10) + "m"
	}
	raise(spark.ConfDriverMemory, defaultDriverMemory)
	raise(spark.ConfDriverMemoryOverhead, 0)
	return app
}
