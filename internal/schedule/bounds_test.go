// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// Whatever a tenant writes into a schedule: what is stored and said of it is short, and does nothing to what shows it.
func TestWhatIsSaidIsBoundedAndPrintable(t *testing.T) {
	const evil = "\x1b]0;owned\a\u202egnp.exe\r\n\x00\u2028"
	size := testrun.Pick(1_000, 10_000, 10_000) // what larger ones cost is measured by landings
	long := strings.Repeat(evil, size)
	for name, change := range map[string]func(*Desired){
		"Schedule":     func(d *Desired) { d.Schedule = long },
		"Zone":         func(d *Desired) { d.TimeZone = long },
		"ZonePrefix":   func(d *Desired) { d.Schedule = "TZ=" + long + " @daily" },
		"NoFields":     func(d *Desired) { d.Schedule = "TZ=" + long },
		"Every":        func(d *Desired) { d.Schedule = "@every " + long },
		"LongSchedule": func(d *Desired) { d.Schedule = strings.Repeat("0,", 10*size) + "0 * * * *" },
		"Blanks":       func(d *Desired) { d.Schedule = "0 6" + strings.Repeat("\n", 10*size) + " * * *" },
		"Name":         func(d *Desired) { d.Name = long },
		"Policies":     func(d *Desired) { d.Concurrency, d.Missed = long, long },
		"Malformed":    func(d *Desired) { *d = Desired{Malformed: long} },
		"Trigger":      func(d *Desired) { d.Trigger = long },
		"Unknown":      func(d *Desired) { d.Unknown = []string{long, long} },
		"Variable":     func(d *Desired) { d.Texts = []Text{{"spec.template.arguments[0]", "$(SCHEDULED_X)" + long}} },
		"LongVariable": func(d *Desired) { d.Texts = []Text{{"a", "$(SCHEDULED_" + strings.Repeat("X", 20*size) + ")"}} },
		"KeyOfText":    func(d *Desired) { d.Texts = []Text{{"spec.template.sparkConf[" + long + "]", "$(SCHEDULED_X)"}} },
		"Variables":    func(d *Desired) { d.Texts = []Text{{"a", strings.Repeat("$(SCHEDULED_)", 3*size/2)}} },
		"Texts": func(d *Desired) {
			for range 3 * size / 2 {
				d.Texts = append(d.Texts, Text{"a", "$(SCHEDULED_)"})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer heaptest.Bound(t, 0)()
			d, r, env := daily()
			change(&d)
			p := Decide(d, r, Observation{Live: true}, env)
			o := Settle(p, Result{}, env)
			said := []string{o.Record.Error, o.Record.Key}
			for _, c := range o.Conditions {
				said = append(said, c.Message)
			}
			for _, e := range Events(d, r, o) {
				said = append(said, e.Message)
			}
			all := d.Validate(time.UTC)
			if e := d.ValidateTrigger(); e != nil {
				all = append(all, e)
			}
			for _, e := range all {
				said = append(said, e.Error())
			}
			if len(all) > 20 {
				t.Errorf("%d errors", len(all))
			}
			for _, text := range said {
				if len(text) > 2<<10 {
					t.Errorf("%d bytes: %.100q", len(text), text)
				}
				if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
					t.Errorf("it has %q: %.200q", text[i:min(len(text), i+4)], text)
				}
			}
		})
	}
}
