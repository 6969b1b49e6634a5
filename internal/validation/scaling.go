// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"math"
	"strconv"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// count reads a property that is a whole number. For other values it returns the preset, and an error.
func count(app spark.Application, key string, preset int64) (int64, *spark.ConfError) {
	value, set := app.Conf[key]
	if !set || strings.Contains(value, "${") {
		return preset, nil
	}
	number, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
	if err != nil {
		return preset, &spark.ConfError{Key: key, Value: value, Problem: `not a whole number; write e.g. "2"`}
	}
	return number, nil
}

func dynamic(app spark.Application) bool {
	return strings.EqualFold(strings.TrimSpace(app.Conf[spark.ConfDynamicAllocation]), "true")
}

// checkScaling checks the number of executors. Spark itself corrects an initial number that is out of bounds.
func checkScaling(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	read := func(key string, preset int64) int64 {
		number, problem := count(app, key, preset)
		if problem != nil {
			found = append(found, problem)
		}
		return number
	}
	refuse := func(key, problem string) {
		found = append(found, &spark.ConfError{Key: key, Value: app.Conf[key], Problem: problem})
	}
	for _, key := range []string{spark.ConfDriverCores, spark.ConfExecutorCores} {
		if read(key, 1) <= 0 {
			refuse(key, `not a number of cores; write a positive whole number such as "1"`)
		}
	}
	if instances := read(spark.ConfExecutorInstances, 1); instances < 0 || instances == 0 && !dynamic(app) && app.Direct == nil {
		refuse(spark.ConfExecutorInstances, `not a number of executors; write a positive whole number such as "2"`)
	}
	if !dynamic(app) {
		return found
	}
	minimum, maximum := read(spark.ConfMinExecutors, 0), read(spark.ConfMaxExecutors, math.MaxInt32)
	read(spark.ConfInitialExecutors, 0)
	switch {
	case minimum < 0:
		refuse(spark.ConfMinExecutors, `must not be negative; write e.g. "0"`)
	case maximum <= 0:
		refuse(spark.ConfMaxExecutors, `must be positive; write e.g. "10"`)
	case minimum > maximum:
		refuse(spark.ConfMaxExecutors, "smaller than the minimum of "+strconv.FormatInt(minimum, 10)+" executors; raise it or lower the minimum")
	}
	return found
}

// warnScaling warns about an initial number of executors that Spark changes.
func warnScaling(app spark.Application) []*spark.ConfError {
	initial, problem := count(app, spark.ConfInitialExecutors, -1)
	value, set := app.Conf[spark.ConfInitialExecutors]
	if !dynamic(app) || !set || problem != nil {
		return nil
	}
	warn := func(text string) []*spark.ConfError {
		return []*spark.ConfError{{Key: spark.ConfInitialExecutors, Value: value, Problem: text}}
	}
	if minimum, _ := count(app, spark.ConfMinExecutors, 0); initial < minimum {
		return warn("smaller than the minimum of " + strconv.FormatInt(minimum, 10) + " executors, with which Spark starts instead")
	}
	if maximum, _ := count(app, spark.ConfMaxExecutors, math.MaxInt32); initial > maximum {
		return warn("greater than the maximum of " + strconv.FormatInt(maximum, 10) + " executors, to which Spark scales down when it can")
	}
	return nil
}
