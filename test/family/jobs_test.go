// SPDX-License-Identifier: Apache-2.0

package family

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/test/domain"
)

var _ resolve.Kind[*Job] = Jobs{}

// What is stored is what is read back, for every record that decisions are made from; and storing it again changes nothing.
func TestRecordsAreReadBack(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	seen := 0
	for _, state := range lifecycle.States() {
		last := ""
		domain.Each(state, func(e *domain.Element) {
			if e.Kind() == last {
				return
			}
			last, seen = e.Kind(), seen+1
			want := e.Record
			want.Attempt = max(1, want.Attempt)
			j, _ := Jobs{}.ToStatus(&Job{}, lifecycle.Outcome{Record: e.Record}, now)
			if diff := cmp.Diff(want, Jobs{}.FromStatus(j), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", e.Kind(), diff)
			}
			if _, changed := (Jobs{}).ToStatus(j, lifecycle.Outcome{Record: Jobs{}.FromStatus(j)}, now.Add(time.Hour)); changed && e.Record.Attempt > 0 {
				t.Errorf("%s: read back and stored again, it has changed", e.Kind())
			}
		})
	}
	if seen < len(lifecycle.States()) {
		t.Errorf("%d records", seen)
	}
}

// Whatever state an application is in, its users have a word for it.
func TestEveryStateHasAWord(t *testing.T) {
	for _, state := range lifecycle.States() {
		if word := family.States[state]; (word == "") != (state == lifecycle.New) {
			t.Errorf("%q is %q", state, word)
		}
	}
}
