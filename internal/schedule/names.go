// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Precision is the unit of the timestamp in the names of runs.
type Precision string

// Precisions, the finest first.
const (
	Nanos   Precision = "nanos"
	Micros  Precision = "micros"
	Millis  Precision = "millis"
	Seconds Precision = "seconds"
	Minutes Precision = "minutes"
)

// Precisions lists them, the finest first.
func Precisions() []Precision { return []Precision{Nanos, Micros, Millis, Seconds, Minutes} }

// Unit returns the duration of one unit; a nanosecond for an unknown precision.
func (p Precision) Unit() time.Duration {
	switch p {
	case Micros:
		return time.Microsecond
	case Millis:
		return time.Millisecond
	case Seconds:
		return time.Second
	case Minutes:
		return time.Minute
	case Nanos:
	}
	return time.Nanosecond
}

// Name returns the name of the run for a schedule's time. It depends only on both, so that each run has one name. A time that is not a multiple of the unit
// uses a finer unit, so that two runs have two names.
func Name(schedule string, at time.Time, p Precision) string {
	all := Precisions()
	i := max(0, slices.Index(all, p))
	for i > 0 && at.UnixNano()%int64(all[i].Unit()) != 0 {
		i--
	}
	stamp := strconv.FormatInt(at.UnixNano()/int64(all[i].Unit()), 10)
	name := schedule + "-" + stamp
	if len(name) <= validation.DNS1035LabelMaxLength {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	tail := fmt.Sprintf("-%08x-%s", h.Sum32(), stamp)
	return strings.TrimRight(schedule[:min(len(schedule), validation.DNS1035LabelMaxLength-len(tail))], "-.") + tail
}
