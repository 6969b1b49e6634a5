// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

func TestLastLines(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Short":   {reason: "nothing to cut", text: "a\nb", want: "a\nb"},
		"Lines":   {reason: "whole lines only", text: "first line\nsecond\nx", want: "second\nx"},
		"Fits":    {reason: "a line that just fits is kept", text: "long\n0123456789", want: "0123456789"},
		"OneLine": {reason: "the end of a line that is too long", text: "abcdefghijklmn", want: "efghijklmn"},
		"Escaped": {reason: "a bracket takes six bytes", text: "abc<def", want: "c<def"},
		"Empty":   {reason: "nothing", text: "", want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := lastLines(tc.text, 10); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// Whatever the text, it takes no more of the stored object than it may, and cutting twice is cutting once: otherwise each
// reconcile would change the status.
func FuzzBounds(f *testing.F) {
	for _, text := range []string{"", "a\nb", "<init>\t\"x\"", "\x00\x1b[31m", "\xff\xfe", "ä\u2028ö", strings.Repeat("line\n", 40)} {
		f.Add(text, 40)
	}
	f.Add(strings.Repeat("\x00ä", 300_000), 9999)
	f.Fuzz(func(t *testing.T, text string, n int) {
		defer heaptest.Bound(t, len(text))()
		if n < 3 || n > 10000 {
			return // no bound that anybody sets
		}
		for name, cut := range map[string]func(string, int) string{"Beginning": lifecycle.Truncate, "lastLines": lastLines} {
			got := cut(text, n)
			wrote, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if len(wrote)-len(`""`) > n {
				t.Errorf("%s of %q is %s: %d bytes, want %d at most", name, text, wrote, len(wrote)-2, n)
			}
			if utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Errorf("%s of %q splits a rune: %q", name, text, got)
			}
			if again := cut(got, n); again != got {
				t.Errorf("%s of %q is %q, of which it is %q", name, text, got, again)
			}
		}
	})
}

// Names that users choose do nothing to what shows them, and are short: the status of an application of any family has them.
func TestNamesAreBoundedAndPrintable(t *testing.T) {
	evil := strings.Repeat("\x1b]0;owned\a\u202e\r\n", 10_000)
	var r lifecycle.Record
	r.Scheduling.Choice = scheduler.Choice{Scheduler: evil, Queue: evil}
	s := ToStatus(&v1beta2.SparkApplicationStatus{}, lifecycle.Outcome{Record: r}, now).Scheduling
	for _, text := range []string{s.Scheduler, s.Queue} {
		if len(text) > 1<<10 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("the status has %d bytes: %.100q", len(text), text)
		}
	}
}

// The newest log matters most.
func TestLogsShareTheirRoom(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	var r lifecycle.Record
	for n := range int32(4) {
		r.Attempts = append(r.Attempts, lifecycle.Attempt{Number: n + 1, LogTail: strings.Repeat(line, 40)})
	}
	var got []int
	for _, a := range ToStatus(&v1beta2.SparkApplicationStatus{}, lifecycle.Outcome{Record: r}, now).Attempts {
		got = append(got, strings.Count(a.LogTail, "\n"))
	}
	if diff := cmp.Diff([]int{0, 0, 15, 15}, got); diff != "" {
		t.Errorf("lines of each attempt (-want +got):\n%s", diff)
	}
}
