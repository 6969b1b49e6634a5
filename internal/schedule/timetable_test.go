// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// at reads a time; a short one is in UTC.
func at(tb testing.TB, text string) time.Time {
	tb.Helper()
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if v, err := time.Parse(layout, text); err == nil {
			return v
		}
	}
	tb.Fatalf("%q is no time", text)
	return time.Time{}
}

func timetable(tb testing.TB, text, zone, created string) *Timetable {
	tb.Helper()
	times, err := Parse(text, zone, time.UTC, at(tb, created))
	if err != nil {
		tb.Fatal(err)
	}
	return times
}

// between lists the times after one and not after another, as a clock on a wall shows them.
func between(tb testing.TB, times *Timetable, after, until string) []string {
	tb.Helper()
	var all []string
	for next := times.Next(at(tb, after)); !next.IsZero() && !next.After(at(tb, until)); next = times.Next(next) {
		all = append(all, next.Format("02 15:04 -07"))
		if len(all) > 200 {
			tb.Fatal("more than 200 times")
		}
	}
	return all
}

func TestTimes(t *testing.T) {
	for name, c := range map[string]struct {
		reason, schedule, zone, after, until string
		want                                 []string
	}{
		"Daily":      {"", "30 2 * * *", "", "2026-01-01", "2026-01-03", []string{"01 02:30 +00", "02 02:30 +00"}},
		"Descriptor": {"", "@weekly", "", "2026-01-01", "2026-01-12", []string{"04 00:00 +00", "11 00:00 +00"}},
		"Field":      {"a zone of its own field", "0 9 * * *", "Asia/Tokyo", "2026-01-01", "2026-01-02", []string{"02 09:00 +09"}},
		"Prefix":     {"the prefix comes first", "CRON_TZ=Asia/Tokyo 0 9 * * *", "Europe/Berlin", "2026-01-01", "2026-01-02", []string{"02 09:00 +09"}},
		"Short":      {"the other prefix", "TZ=Asia/Tokyo   0 9 * * *", "", "2026-01-01", "2026-01-02", []string{"02 09:00 +09"}},
		"Every": {"anchored at the creation, not at when somebody looked", "@every 7h", "", "2026-01-01T01:00", "2026-01-01T20:00",
			[]string{"01 07:00 +00", "01 14:00 +00"}},
		"EveryBefore": {"before its creation, for data intervals", "@every 7h", "", "2025-12-31T10:00", "2026-01-01T01:00", []string{"31 10:00 +00", "31 17:00 +00", "01 00:00 +00"}[1:]},
		"LeapDay":     {"", "0 0 29 2 *", "", "2026-01-01", "2029-01-01", []string{"29 00:00 +00"}},
		"Century":     {"eight years without the day", "0 0 29 2 *", "", "2096-03-01", "2105-01-01", nil},

		"CenturyBerlin":      {"also where the clock changes", "0 0 29 2 *", "Europe/Berlin", "2096-03-01", "2105-01-01", nil},
		"BerlinGap":          {"02:30 does not exist: as long after the last run as ever", "30 2 * * *", "Europe/Berlin", "2026-03-28T00:00", "2026-03-31T00:00", []string{"28 02:30 +01", "29 03:30 +02", "30 02:30 +02"}},
		"BerlinGapBegin":     {"the first moment that does not exist", "0 2 * * *", "Europe/Berlin", "2026-03-28T12:00", "2026-03-30T12:00", []string{"29 03:00 +02", "30 02:00 +02"}},
		"BerlinGapEnd":       {"the first moment that exists", "0 3 * * *", "Europe/Berlin", "2026-03-28T12:00", "2026-03-30T12:00", []string{"29 03:00 +02", "30 03:00 +02"}},
		"BerlinGapBoth":      {"both are the same moment", "30 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00", "2026-03-29T12:00", []string{"29 03:30 +02"}},
		"BerlinGapHourly":    {"an hour apart", "30 * * * *", "Europe/Berlin", "2026-03-29T00:00", "2026-03-29T03:00", []string{"29 01:30 +01", "29 03:30 +02", "29 04:30 +02"}},
		"BerlinGapQuarters":  {"all of the hour that does not exist", "*/20 2 * * *", "Europe/Berlin", "2026-03-28T12:00", "2026-03-29T12:00", []string{"29 03:00 +02", "29 03:20 +02", "29 03:40 +02"}},
		"BerlinBack":         {"02:30 is there twice, and counts once", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", "2026-10-26T12:00", []string{"25 02:30 +02", "26 02:30 +01"}},
		"BerlinBackBegin":    {"the hour's begin", "0 2 * * *", "Europe/Berlin", "2026-10-24T12:00", "2026-10-25T12:00", []string{"25 02:00 +02"}},
		"BerlinBackEnd":      {"the hour's end", "0 3 * * *", "Europe/Berlin", "2026-10-24T12:00", "2026-10-25T12:00", []string{"25 03:00 +01"}},
		"BerlinBackHourly":   {"an hour apart", "30 * * * *", "Europe/Berlin", "2026-10-24T23:00", "2026-10-25T03:00", []string{"25 01:30 +02", "25 02:30 +02", "25 02:30 +01", "25 03:30 +01"}},
		"BerlinBackSomeHour": {"not in every hour: once", "0 */2 * * *", "Europe/Berlin", "2026-10-24T22:30", "2026-10-25T04:00", []string{"25 02:00 +02", "25 04:00 +01"}},
		"BerlinYearly":       {"over changes of the clock", "0 9 1 6 *", "Europe/Berlin", "2026-06-02", "2028-06-02", []string{"01 09:00 +02", "01 09:00 +02"}},

		"NewYorkGap":  {"", "30 2 * * *", "America/New_York", "2026-03-07T12:00", "2026-03-09T12:00", []string{"08 03:30 -04", "09 02:30 -04"}},
		"NewYorkBack": {"", "30 1 * * *", "America/New_York", "2026-10-31T12:00", "2026-11-02T12:00", []string{"01 01:30 -04", "02 01:30 -05"}},

		"LordHoweGap":       {"half an hour is left out", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00", "2026-10-05T00:00", []string{"04 02:45 +11", "05 02:15 +11"}},
		"LordHoweGapTwo":    {"the one that the clock shows comes before the one that it leaves out", "15,40 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00", "2026-10-04T12:00", []string{"04 02:40 +11", "04 02:45 +11"}},
		"LordHoweGapHourly": {"an hour apart, as ever", "15 * * * *", "Australia/Lord_Howe", "2026-10-03T14:00", "2026-10-03T16:30", []string{"04 01:15 +10", "04 02:45 +11", "04 03:15 +11"}},
		"LordHoweBack":      {"half an hour is there twice", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00", "2026-04-06T00:00", []string{"05 01:45 +11", "06 01:45 +10"}},
		"Midnight":          {"a zone in which midnight does not exist", "0 0 * * *", "America/Santiago", "2026-09-05T12:00", "2026-09-07T12:00", []string{"06 01:00 -03", "07 00:00 -03"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := between(t, timetable(t, c.schedule, c.zone, "2026-01-01"), c.after, c.until)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (%s) %s:\n%s", c.schedule, c.zone, c.reason, diff)
			}
		})
	}
}

func TestInvalidSchedules(t *testing.T) {
	for name, c := range map[string]struct{ schedule, zone, want string }{
		"Empty":        {"", "", "empty spec"},
		"Fields":       {"* * *", "", "expected exactly 5 fields"},
		"Seconds":      {"0 0 0 * * *", "", "expected exactly 5 fields"},
		"Word":         {"@often", "", "unrecognized descriptor"},
		"Zone":         {"@daily", "Europe/Atlantis", `unknown time zone: "Europe/Atlantis"`},
		"PrefixZone":   {"TZ=Atlantis @daily", "", `unknown time zone: "Atlantis"`},
		"PrefixAlone":  {"TZ=0", "", "nothing behind the time zone"},
		"OtherPrefix":  {"CRON_TZ=UTC TZ=UTC @daily", "", "two time zones"},
		"TwoPrefixes":  {"TZ=UTC TZ=0", "", "two time zones"},
		"Never":        {"0 0 30 2 *", "", "no date matches"},
		"EveryNothing": {"@every 0s", "", "out of range"},
		"EveryBack":    {"@every -1h", "", "out of range"},
		"EveryWord":    {"@every day", "", "no duration"},
		"EveryLong":    {"@every 2000000h", "", "out of range"},
		"Path":         {"@daily", "../../etc/passwd", "unknown time zone"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(c.schedule, c.zone, time.UTC, time.Time{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: got %v, want %q", c.schedule, err, c.want)
			}
		})
	}
}

func TestLocalZone(t *testing.T) {
	tokyo, _ := time.LoadLocation("Asia/Tokyo")
	for _, zone := range []string{"", "Local"} {
		times, err := Parse("0 9 * * *", zone, tokyo, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if got := times.Next(at(t, "2026-01-01")).Format(time.RFC3339); got != "2026-01-02T09:00:00+09:00" {
			t.Errorf("zone %q: %s", zone, got)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct{ schedule, zone, want string }{
		{"0 9 * * *", "", "0 9 * * *"},
		{"0  9 * * *", "Asia/Tokyo", "CRON_TZ=Asia/Tokyo 0 9 * * *"},
		{"TZ=Asia/Tokyo 0 9 * * *", "Europe/Berlin", "CRON_TZ=Asia/Tokyo 0 9 * * *"},
		{"TZ= @daily", "", "CRON_TZ=UTC @daily"},
		{"TZ=0", "", "TZ=0"},
	} {
		got := Key(c.schedule, c.zone)
		if got != c.want {
			t.Errorf("Key(%q, %q) = %q, want %q", c.schedule, c.zone, got, c.want)
		}
		if Key(got, "") != got {
			t.Errorf("the key %q has another key", got)
		}
	}
}

// Over three years in three zones, Next never goes back or stands still, agrees with Latest and Count, and loses no day.
func TestTimesAgree(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"} {
		for _, text := range []string{"30 2 * * *", "0 3 * * *", "30 1 * * *", "45 1 * * *", "0 0 * * *"} {
			times := timetable(t, text, zone, "2026-01-01")
			from, until := at(t, "2025-12-31T12:00:00Z"), at(t, "2028-12-31T12:00:00Z")
			n, last := 0, from
			for next := times.Next(last); !next.After(until); next = times.Next(last) {
				if gap := next.Sub(last); n > 0 && (gap < 22*time.Hour || gap > 26*time.Hour) {
					t.Fatalf("%s %s: %s follows %s", zone, text, next, last)
				}
				if got := times.Previous(next.Add(time.Nanosecond)); !got.Equal(next) {
					t.Fatalf("%s %s: Latest is %s at %s", zone, text, got, next)
				}
				if got := times.Next(next.Add(-time.Millisecond)); !got.Equal(next) {
					t.Fatalf("%s %s: a moment before %s the next is %s", zone, text, next, got)
				}
				n, last = n+1, next
			}
			if counted, more := times.Count(from, until, 5000); n != 1096 && n != 1097 || counted != n || more {
				t.Errorf("%s %s: %d times, counted %d", zone, text, n, counted)
			}
		}
	}
}

// counted is a schedule that counts how often it is asked.
type counted struct {
	cron.Schedule
	asked int
}

// Next implements cron.Schedule.
func (c *counted) Next(after time.Time) time.Time {
	c.asked++
	return c.Schedule.Next(after)
}

func TestLatestIsFast(t *testing.T) {
	times := timetable(t, "* * * * *", "Europe/Berlin", "2016-01-01")
	wall := &counted{Schedule: times.wall}
	times.wall = wall
	if got := times.Latest(at(t, "2016-01-01"), at(t, "2026-01-01T00:00:30Z")); !got.Equal(at(t, "2026-01-01")) {
		t.Errorf("got %s", got)
	}
	if wall.asked > 100 { // halving ten years gives a second after 29 steps
		t.Errorf("the last of 5 million times took %d steps", wall.asked)
	}
	if n, more := times.Count(at(t, "2016-01-01"), at(t, "2026-01-01"), 1000); n != 1000 || !more {
		t.Errorf("counted %d, more %v", n, more)
	}
}

// The bounds of what can be written are a part of it.
func TestShortestAndLongestIntervals(t *testing.T) {
	for text, want := range map[string]string{"@every 1s": "2026-01-01T00:00:01Z", "@every 39528h": "2030-07-06T00:00:00Z"} {
		if got := timetable(t, text, "", "2026-01-01").Next(at(t, "2026-01-01")).Format(time.RFC3339); got != want {
			t.Errorf("%s: the first time is %s, want %s", text, got, want)
		}
	}
	times := timetable(t, "@every 1s", "", "2026-01-01")
	if got := times.Latest(at(t, "2026-01-01"), at(t, "2026-01-01T00:00:02Z")).Format(time.RFC3339); got != "2026-01-01T00:00:02Z" {
		t.Errorf("the last of two is %s", got)
	}
}

func TestIntervals(t *testing.T) {
	times := timetable(t, "0 6 * * *", "", "2026-01-01")
	show := func(from, to time.Time) string { return from.Format(time.DateTime) + " " + to.Format(time.DateTime) }
	if got := show(times.Interval(at(t, "2026-01-05T06:00"))); got != "2026-01-04 06:00:00 2026-01-05 06:00:00" {
		t.Error("of a time:", got)
	}
	if got := show(times.LastInterval(at(t, "2026-01-05T12:00"))); got != "2026-01-04 06:00:00 2026-01-05 06:00:00" {
		t.Error("of a trigger:", got)
	}
	if got := show(times.LastInterval(at(t, "2026-01-05T06:00"))); got != "2026-01-04 06:00:00 2026-01-05 06:00:00" {
		t.Error("of a trigger at a time of the schedule:", got)
	}
	if got := show(timetable(t, "0 0 29 2 *", "", "2026-01-01").Interval(at(t, "2104-02-29"))); got != "2096-02-29 00:00:00 2104-02-29 00:00:00" {
		t.Error("of a leap day after a year without one:", got)
	}
}

// FuzzParse must neither panic nor run for long.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"* * * * *", "@every 1h", "TZ=0", "CRON_TZ=Europe/Berlin 0 0 29 2 *", "*/0 * * * *", "1-5/2,7 * ? jan mon"} {
		f.Add(seed, "Europe/Berlin", int64(1_700_000_000))
	}
	f.Fuzz(func(t *testing.T, text, zone string, from int64) {
		defer heaptest.Bound(t, len(text)+len(zone))()
		from %= 1 << 33
		times, err := Parse(text, zone, time.UTC, time.Unix(from, 0))
		if err != nil {
			return
		}
		next := times.Next(time.Unix(from, 0))
		if next.IsZero() {
			return
		}
		if !next.After(time.Unix(from, 0)) || next.Nanosecond() != 0 {
			t.Fatalf("%q: %s follows %s", text, next, time.Unix(from, 0))
		}
		if latest := times.Latest(time.Unix(from, 0), next); !latest.Equal(next) {
			t.Fatalf("%q: the last until %s is %s", text, next, latest)
		}
	})
}

// BenchmarkDecide is what a schedule costs that is not due, each time that it is reconciled.
func BenchmarkDecide(b *testing.B) {
	d, r, env := daily()
	d.TimeZone, r.LastTick = "Europe/Berlin", day(4)
	r.Key = Key(d.Schedule, d.TimeZone)
	for b.Loop() {
		p := Decide(d, r, Observation{}, env)
		if o := Settle(p, Result{}, env); o.Requeue == 0 {
			b.Fatal("no timer")
		}
	}
}
