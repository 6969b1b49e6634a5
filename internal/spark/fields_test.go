// SPDX-License-Identifier: Apache-2.0

package spark

import "testing"

func TestFields(t *testing.T) {
	fields := Fields{"": "spec", "scheduler": "spec.batchScheduler", "driver": "spec.driverSpec", "driver.image": "spec.runtime.image"}
	cases := map[string]struct {
		reason string
		fields Fields
		name   string
		want   string
	}{
		"Listed":       {"it has a path of its own", fields, "scheduler", "spec.batchScheduler"},
		"Part":         {"it lies below one that is listed", fields, "driver.memory", "spec.driverSpec.memory"},
		"LongerPart":   {"the longest part counts", fields, "driver.image.tag", "spec.runtime.image.tag"},
		"NotAPart":     {"a part ends at a dot", fields, "drivers", "spec.drivers"},
		"Unlisted":     {"what is not listed is named alike", fields, "deadlines.run", "spec.deadlines.run"},
		"Root":         {"the whole", fields, "", "spec"},
		"NoRoot":       {"a family that lists nothing of it", Fields{"queue": "spec.q"}, "deadlines.run", "deadlines.run"},
		"NoFamily":     {"there may be no family", nil, "deadlines.run", "deadlines.run"},
		"NoFamilyRoot": {"there may be no family", nil, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.fields.Path(tc.name); got != tc.want {
				t.Errorf("%s: %q is %q, want %q", tc.reason, tc.name, got, tc.want)
			}
		})
	}
	const message = "raise {driver.memory} or {deadlines.run}; {{$appName}} and {0} stay"
	if got, want := fields.Text(message), "raise spec.driverSpec.memory or spec.deadlines.run; {{$appName}} and {0} stay"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
