// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// conf is the effective Spark configuration, with Spark's ways of reading it.
//
// The readers record the first error in err, and continue with a zero value. Build checks err after each step.
type conf struct {
	values map[string]string
	// keys are the sorted keys of values, for reading keys by prefix; nil until they are needed.
	keys []string
	// env are the submitter's variables, for references such as ${env:HOME}.
	env map[string]string
	// expanded are the properties with their references replaced. spent is the number of bytes read for that; see expand.
	expanded map[string]string
	spent    int
	err      error
}

// newConf returns a configuration that owns values.
func newConf(values, env map[string]string) *conf {
	return &conf{values: values, env: env, expanded: map[string]string{}}
}

// alternatives are older names of keys. Spark reads them if the key itself is unset.
var alternatives = map[string]string{
	ConfDriverMemoryOverhead:   "spark.yarn.driver.memoryOverhead",
	ConfExecutorMemoryOverhead: "spark.yarn.executor.memoryOverhead",
	confKeytab:                 "spark.yarn.keytab",
	confPrincipal:              "spark.yarn.principal",
}

// fallbacks are the keys that Spark reads if a key is unset.
var fallbacks = map[string]string{
	ConfDriverImage:         ConfImage,
	ConfExecutorImage:       ConfImage,
	ConfDriverSchedulerName: ConfSchedulerName,
	confDriverPrivilege:     confPrivilege,
	confExecutorPrivilege:   confPrivilege,
	ConfInitialExecutors:    ConfMinExecutors,
}

// defaults are Spark's defaults. They are the same in every release; the Profile has the differences.
var defaults = map[string]string{
	ConfNamespace:                 "default",
	ConfImagePullPolicy:           "IfNotPresent",
	ConfDriverCores:               "1",
	ConfDriverMemory:              "1g",
	ConfDriverMinMemoryOverhead:   "384m",
	ConfExecutorCores:             "1",
	ConfExecutorMemory:            "1g",
	ConfExecutorMinMemoryOverhead: "384m",
	ConfMemoryOverheadFactor:      "0.1",
	ConfUIPort:                    "4040",
	ConfMinExecutors:              "0",
	ConfMaxExecutors:              strconv.Itoa(math.MaxInt32),
	ConfStreamingMaxExecutors:     strconv.Itoa(math.MaxInt32),
	ConfOffHeapSize:               "0",
	confDriverMaster:              "https://kubernetes.default.svc",
	confIPFamilyPolicy:            "SingleStack",
	confIPFamilies:                "IPv4",
	confMapMaxSize:                "1048576",
}

// fail records an error about the property key, unless an error is already recorded.
func (c *conf) fail(key, value, problem string) {
	c.failAs("", key, value, problem)
}

// failAs records an error of a class other than Invalid, unless an error is already recorded.
func (c *conf) failAs(class field.ErrorType, key, value, problem string) {
	if c.err == nil {
		c.err = &ConfError{Key: key, Value: value, Problem: problem, Type: class}
	}
}

// raw returns the value as set, without replacing references.
func (c *conf) raw(key string) (string, bool) {
	value, ok := c.values[key]
	if !ok {
		if older, has := alternatives[key]; has {
			value, ok = c.values[older]
		}
	}
	return value, ok
}

// has reports whether the key itself is set, even to the empty string.
func (c *conf) has(key string) bool {
	_, ok := c.raw(key)
	return ok
}

// text returns the value of a property with its references replaced: the set value, that of the fallback, or the default.
func (c *conf) text(key string) (string, bool) {
	if value, ok := c.raw(key); ok {
		return c.expand(key, value), true
	}
	if fallback, ok := fallbacks[key]; ok {
		return c.text(fallback)
	}
	value, ok := defaults[key]
	return value, ok
}

// under returns the sorted keys that begin with prefix.
func (c *conf) under(prefix string) []string {
	if c.keys == nil {
		c.keys = slices.Sorted(maps.Keys(c.values))
	}
	from, _ := slices.BinarySearch(c.keys, prefix)
	to := from
	for to < len(c.keys) && strings.HasPrefix(c.keys[to], prefix) {
		to++
	}
	return c.keys[from:to]
}

// family returns the values of keys with a prefix, as set, by the rest of their keys; nil if there are none.
func (c *conf) family(prefix string) map[string]string {
	keys := c.under(prefix)
	if len(keys) == 0 {
		return nil
	}
	family := make(map[string]string, len(keys))
	for _, key := range keys {
		family[key[len(prefix):]] = c.values[key]
	}
	return family
}

// list returns the elements of a comma-separated property.
func (c *conf) list(key string) []string {
	value, _ := c.text(key)
	return splitList(value)
}

// flag returns a boolean property, or preset if it is unset.
func (c *conf) flag(key string, preset bool) bool {
	value, ok := c.text(key)
	if !ok {
		return preset
	}
	switch strings.ToLower(trimJava(value)) {
	case "true":
		return true
	case "false":
		return false
	}
	c.fail(key, value, `not a boolean; write "true" or "false"`)
	return preset
}

// number returns a typed whole number.
func (c *conf) number(key string) int64 {
	value, _ := c.text(key)
	number, err := strconv.ParseInt(trimJava(value), 10, 32)
	if err != nil {
		c.fail(key, value, "not a whole number")
	}
	return number
}

// port returns a port that Spark reads without trimming, or preset if it is unset.
func (c *conf) port(key string, preset int32) int32 {
	value, ok := c.raw(key)
	if !ok {
		return preset
	}
	number, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		c.fail(key, value, `not a port; write a number such as "`+strconv.Itoa(int(preset))+`"`)
	}
	return int32(number)
}

// double returns a floating point number that must be at least min; if strict, more than min.
func (c *conf) double(key string, min float64, strict bool) float64 {
	value, _ := c.text(key)
	number, ok := ParseDouble(value)
	switch {
	case !ok:
		c.fail(key, value, `not a number; write e.g. "0.1"`)
	case math.IsInf(number, 1):
		c.fail(key, value, `infinite; write e.g. "0.1"`)
	case strict && !(number > min):
		c.fail(key, value, `must be greater than 0; write e.g. "0.1"`)
	case !strict && !(number >= min):
		c.fail(key, value, `must not be negative; write e.g. "0.1"`)
	}
	return number
}

// mebibytes returns a size in MiB, rounded down. A number without suffix counts in MiB.
func (c *conf) mebibytes(key string) int64 {
	return c.size(key, mebibyte)
}

// size returns a size in multiples of unit bytes. A number without suffix also counts in them.
func (c *conf) size(key string, unit int64) int64 {
	value, _ := c.text(key)
	// A size may be negative, because spark-submit accepts that for overheads.
	magnitude, negative := strings.CutPrefix(value, "-")
	size, ok := ParseSize(magnitude, unit)
	if !ok {
		c.fail(key, value, `not a size: a whole number with one of the suffixes k, m, g, t and p; write e.g. "2g"`)
	}
	if negative {
		return -size
	}
	return size
}
