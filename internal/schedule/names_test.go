// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNames(t *testing.T) {
	hour := time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)
	half := hour.Add(30 * time.Second)
	for _, c := range []struct {
		reason string
		at     time.Time
		p      Precision
		want   string
	}{
		{"nineteen digits", hour, Nanos, "job-1767247200000000000"},
		{"sixteen", hour, Micros, "job-1767247200000000"},
		{"thirteen", hour, Millis, "job-1767247200000"},
		{"ten", hour, Seconds, "job-1767247200"},
		{"eight", hour, Minutes, "job-29454120"},
		{"the default", hour, "", "job-1767247200000000000"},
		{"not whole in minutes: the next finer", half, Minutes, "job-1767247230"},
		{"nor in seconds", half.Add(time.Millisecond), Minutes, "job-1767247230001"},
		{"nor in milliseconds", half.Add(time.Microsecond), Seconds, "job-1767247230000001"},
		{"nor in microseconds", half.Add(time.Nanosecond), Millis, "job-1767247230000000001"},
		{"the zone does not matter", hour.In(time.FixedZone("x", 3600)), Seconds, "job-1767247200"},
	} {
		if got := Name("job", c.at, c.p); got != c.want {
			t.Errorf("%s: got %s, want %s", c.reason, got, c.want)
		}
	}
}

func TestLongNames(t *testing.T) {
	hour := time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)
	for _, p := range Precisions() {
		seen := map[string]string{}
		for n := 1; n <= 63; n++ {
			for _, schedule := range []string{strings.Repeat("a", n), strings.Repeat("b-", n)[:n-1] + "c"} {
				for k := range 3 {
					at := hour.Add(time.Duration(k) * time.Minute)
					name, what := Name(schedule, at, p), fmt.Sprint(schedule, k)
					if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
						t.Fatalf("%s: %s: %v", what, name, problems)
					}
					if other, taken := seen[name]; taken && other != what {
						t.Fatalf("%s and %s have the name %s", what, other, name)
					}
					seen[name] = what
				}
			}
		}
	}
	for schedule, want := range map[string]string{
		strings.Repeat("long-name-", 6) + "x": "long-name-long-name-long-name-long-14cfa45a-1767247200000000000",
		strings.Repeat("a", 43):               strings.Repeat("a", 43) + "-1767247200000000000",
		strings.Repeat("a", 44):               strings.Repeat("a", 34) + "-36c68f50-1767247200000000000",
	} {
		if got := Name(schedule, hour, Nanos); got != want {
			t.Errorf("%s: got %s, want %s", schedule, got, want)
		}
	}
}

func TestVariables(t *testing.T) {
	berlin, _ := time.LoadLocation("Europe/Berlin")
	run := Start{
		Tick: time.Date(2026, 1, 2, 3, 0, 0, 0, berlin), From: time.Date(2026, 1, 1, 3, 0, 0, 0, berlin), To: time.Date(2026, 1, 2, 3, 0, 0, 0, berlin),
	}
	for text, want := range map[string]string{
		"nothing":                          "nothing",
		"$(SCHEDULED_TIME)":                "2026-01-02T03:00:00+01:00",
		"$(SCHEDULED_TIME_DATE)":           "2026-01-02",
		"$(SCHEDULED_TIME_UNIX)":           "1767319200",
		"a$(DATA_INTERVAL_START)b":         "a2026-01-01T03:00:00+01:00b",
		"$(DATA_INTERVAL_START_DATE)/x":    "2026-01-01/x",
		"$(DATA_INTERVAL_END)":             "2026-01-02T03:00:00+01:00",
		"$(DATA_INTERVAL_END_UNIX)":        "1767319200",
		"$$(SCHEDULED_TIME)":               "$(SCHEDULED_TIME)",
		"$$$(SCHEDULED_TIME)":              "$$(SCHEDULED_TIME)",
		"$(HOME) $$(HOME) $(date)":         "$(HOME) $$(HOME) $(date)",
		"$SCHEDULED_TIME $(SCHEDULED_TIME": "$SCHEDULED_TIME $(SCHEDULED_TIME",
	} {
		if got := run.Expand(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		if unknown := UnknownVariables(text); unknown != nil {
			t.Errorf("%s: unknown %v", text, unknown)
		}
	}
	if got := (Start{Tick: run.Tick}).Expand("[$(DATA_INTERVAL_START)]"); got != "[]" {
		t.Errorf("a run without an interval: %s", got)
	}
	if got := run.Expand("$(SCHEDULED_DAY)"); got != "$(SCHEDULED_DAY)" {
		t.Errorf("what is unknown, and is refused, is left as it is: %s", got)
	}
	got := UnknownVariables("$(SCHEDULED_DATE) $(DATA_INTERVAL_BEGIN) $(SCHEDULED_TIME_WEEK) $$(SCHEDULED_X) $(OTHER)")
	if diff := cmp.Diff([]string{"$(SCHEDULED_DATE)", "$(DATA_INTERVAL_BEGIN)", "$(SCHEDULED_TIME_WEEK)"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDelays(t *testing.T) {
	seen := map[time.Duration]bool{}
	for i := range 100 {
		d := Desired{UID: fmt.Sprint("uid-", i), Jitter: 10 * time.Second}
		if d.Delay() < 0 || d.Delay() > 10*time.Second || d.Delay() != d.Delay().Truncate(time.Second) {
			t.Errorf("delay %s", d.Delay())
		}
		seen[d.Delay()] = true
	}
	if len(seen) != 11 {
		t.Errorf("%d delays of a hundred schedules, want all of 0 s to 10 s", len(seen))
	}
	if a, b := (Desired{UID: "uid-0", Jitter: time.Second}).Delay(), (Desired{UID: "uid-1", Jitter: time.Second}).Delay(); a+b != time.Second {
		t.Errorf("delays of a second at most: %s and %s, want both that there are", a, b)
	}
	if (Desired{UID: "x"}).Delay() != 0 {
		t.Error("a delay without jitter")
	}
}
