// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"

	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// ScheduledSparkApplication configures schedules.
type ScheduledSparkApplication struct {
	// TimestampPrecision is the unit of the timestamps in the names of runs: nanos, the default, micros, millis, seconds or
	// minutes.
	TimestampPrecision schedule.Precision `json:"timestampPrecision,omitempty"`
}

func (s ScheduledSparkApplication) validate() error {
	if all := schedule.Precisions(); !slices.Contains(all, s.TimestampPrecision) {
		return fmt.Errorf("scheduledSparkApplication.timestampPrecision: %q: must be one of %v", s.TimestampPrecision, all)
	}
	return nil
}
