// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"slices"
	"strconv"
)

// SubmitErrors returns spark-submit's errors about sizes that apply to any application.
func SubmitErrors(conf map[string]string) []*ConfError {
	return slices.Concat(memoryErrors(conf), countErrors(conf, ConfDriverCores, ConfExecutorCores))
}

// memoryErrors returns spark-submit's errors about the memory of both roles.
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

// countErrors returns spark-submit's errors about numbers.
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
