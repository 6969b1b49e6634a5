// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func TestTail(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		n            int
		want         string
	}{
		"Short":       {reason: "all of it", text: "a\nb\n", n: 10, want: "a\nb"},
		"Exact":       {reason: "there is just room for all lines", text: "a\nb\n", n: 3, want: "a\nb"},
		"WholeLines":  {reason: "half a line is useless", text: "first line\nsecond\nthird\n", n: 14, want: "second\nthird"},
		"OneLongLine": {reason: "the end of a long line is better than nothing", text: strings.Repeat("x", 20) + "\n", n: 5, want: "xxxxx"},
		"Runes":       {reason: "a letter is not cut in half", text: "ääää", n: 3, want: "ä"},
		"NotText":     {reason: "the API server takes UTF-8 only", text: "a\xffb", n: 10, want: "ab"},
		"NoRoom":      {reason: "nothing is left for the oldest", text: "abc", n: 0, want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tail(tc.text, tc.n); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestHead(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		n            int
		want         string
	}{
		"Short":   {reason: "all of it", text: "abc", n: 3, want: "abc"},
		"Long":    {reason: "it shows that there is more", text: "abcdefgh", n: 6, want: "abc..."},
		"Runes":   {reason: "a letter is not cut in half", text: "ääääää", n: 8, want: "ää..."},
		"NotText": {reason: "the API server takes UTF-8 only; what is no text is escaped", text: "a\xffb", n: 10, want: `a\xffb`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := head(tc.text, tc.n); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// Ten attempts, and 4 KiB of logs, of which the newest have the most; whatever the logs are made of.
func TestHistoryIsBounded(t *testing.T) {
	for name, line := range map[string]string{"ascii": "a line of a log\n", "umlauts": "äöüäöüäöü", "noise": "\xff\xfe\x80", "long": strings.Repeat("x", 500) + "\n"} {
		var all []Attempt
		for i := range int32(25) {
			all = appendAttempt(all, Attempt{Number: i + 1, LogTail: strings.Repeat(line, 1000)})
		}
		logs := 0
		for i, a := range all {
			logs += len(a.LogTail)
			if !utf8.ValidString(a.LogTail) {
				t.Errorf("%s: attempt %d has a log that is no text", name, a.Number)
			}
			if want := int32(16 + i); a.Number != want {
				t.Errorf("%s: attempt %d kept, want %d", name, a.Number, want)
			}
		}
		if len(all) != maxAttempts || logs > maxLogs {
			t.Errorf("%s: %d attempts with %d bytes of logs kept", name, len(all), logs)
		}
		if newest := all[len(all)-1]; name != "noise" && len(newest.LogTail) < maxLog/2 {
			t.Errorf("%s: of the newest log only %d bytes are kept", name, len(newest.LogTail))
		}
	}
}

// The log of the only attempt is bounded like all others.
func TestOnlyLogIsBounded(t *testing.T) {
	if all := boundAttempts([]Attempt{{Number: 1, LogTail: strings.Repeat("x", 2*maxLog)}}); len(all[0].LogTail) != maxLog {
		t.Errorf("%d bytes are kept, want %d", len(all[0].LogTail), maxLog)
	}
}

// What the API server stores of a text is JSON: its size there is what is counted.
func TestStoredSize(t *testing.T) {
	for _, r := range "aä€𝄞\"\\\n\r\t\b\f\x00\x1b\x7f<>&\u2028\u2029" {
		text, err := json.Marshal(string(r))
		if want := len(text) - len(`""`); err != nil || StoredSize(r) != want {
			t.Errorf("%q takes %d bytes, want %d: %v", r, StoredSize(r), want, err)
		}
	}
}

// The names in a choice are users'.
func TestStoredChoice(t *testing.T) {
	long := strings.Repeat("x", 2*maxName)
	got := Stored(scheduler.Choice{Scheduler: "a\x1bb", Queue: long})
	if strings.ContainsRune(got.Scheduler, '\x1b') || !strings.HasPrefix(got.Scheduler, "a") || len(got.Queue) != maxName {
		t.Errorf("scheduler %q, queue with %d bytes", got.Scheduler, len(got.Queue))
	}
}

func TestRememberedReplacesItsOwn(t *testing.T) {
	all := appendAttempt([]Attempt{{Number: 1}, {Number: 2, SubmissionID: "old"}}, Attempt{Number: 2, SubmissionID: "new"})
	if len(all) != 2 || all[1].SubmissionID != "new" {
		t.Errorf("an attempt is told twice: %+v", all)
	}
}

// An attempt keeps its first end: what follows (a clean-up, a change of the spec) is no other outcome.
func TestClosedKeepsTheFirstEnd(t *testing.T) {
	rec := ran(Failing)
	first := rec.Attempts[0]
	got := closed(rec, "", Cause{ReasonSpecChanged, "the spec was changed"}, Env{Now: later})
	if fmt.Sprint(got.Attempts[0]) != fmt.Sprint(first) || !got.TerminatedAt.Equal(now) {
		t.Errorf("the end was moved: %+v", got.Attempts[0])
	}
	long := closed(ran(Running), ApplicationExit, Cause{ReasonDriverFailed, strings.Repeat("x", 4096)}, Env{Now: later})
	if n := len(long.Attempts[0].Cause.Message); n > maxMessage {
		t.Errorf("a message of %d bytes is kept", n)
	}
}

// An attempt that was suspended, or timed out, before it got a driver never was: the next has its number.
func TestAttemptWithoutADriverIsNoHistory(t *testing.T) {
	stopped := Decide(with(isSuspended), again(Suspending), Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record
	if stopped.State != Suspended || len(stopped.Attempts) != 1 {
		t.Fatalf("%s: history tells of %d attempts, and there was one: %+v", stopped.State, len(stopped.Attempts), stopped.Attempts)
	}
	resumed := Decide(testApp(), stopped, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later}).Record
	if resumed.State != Resuming || resumed.Attempt != 2 {
		t.Errorf("%s attempt %d, want attempt 2, which never had a driver", resumed.State, resumed.Attempt)
	}
	timedOut := again(Failed)
	timedOut.Cause = Cause{ReasonQueueTimeout, "waited too long"}
	if got := applySpecChanges(with(edited), timedOut, Env{Now: later}); len(got.Attempts) != 1 {
		t.Errorf("an attempt that timed out in the queue became history: %+v", got.Attempts)
	}
}

// The exit code and the log of somebody else's pod are not our driver's.
func TestNotOwnedPodSaysNothingAboutOurDriver(t *testing.T) {
	for _, o := range []Ownership{NotOwned, Previous} {
		d := driver(o, DriverFailed)
		d.Exit, d.LogTail, d.StartedAt = Exit{Code: 3, Reason: "Error"}, "secret", later
		rec := ran(Running)
		rec.Attempts[0].StartedAt = time.Time{}
		a := Decide(testApp(), rec, Observation{Driver: d}, scheduler.Admission{}, Env{Now: later}).Record.Current()
		if a.ExitCode != nil || a.LogTail != "" || !a.StartedAt.IsZero() {
			t.Errorf("%s: the attempt's history is that of another pod: %+v", o, a)
		}
	}
}

func TestBeginning(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Short":   {reason: "nothing to cut", text: "0123456789", want: "0123456789"},
		"Long":    {reason: "dots say that there was more", text: "0123456789a", want: "0123456..."},
		"Escaped": {reason: "a bracket takes six bytes", text: "<init>", want: "<i..."},
		"Runes":   {reason: "a rune is not split", text: "äöüäöü", want: "äöü..."},
		"NoText":  {reason: "a broken byte takes six", text: "\xff\xffx", want: "\xff..."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Truncate(tc.text, 10); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
