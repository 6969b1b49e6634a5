// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"unicode/utf8"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/text"
)

const (
	// maxAttempts bounds the history.
	maxAttempts = 10
	// maxMessage bounds the message of an attempt, in bytes. maxLogs bounds the log tails of all attempts together; the oldest attempts lose theirs first.
	maxMessage = 300
	maxLogs    = 4 << 10
	// maxLog bounds one log tail, in bytes.
	maxLog = 2 << 10
)

// appendAttempt appends an attempt, or replaces the entry of the same number.
func appendAttempt(all []Attempt, a Attempt) []Attempt {
	if n := len(all); n > 0 && all[n-1].Number == a.Number {
		all = all[:n-1]
	}
	return boundAttempts(append(all, a))
}

// closed stores the end of the current attempt in the history and in the record, unless an end is stored. An attempt without a driver has no history.
func closed(r Record, class FailureClass, c Cause, env Env) Record {
	if a := r.Current(); a != nil && a.EndedAt.IsZero() {
		a.EndedAt, a.Class, a.Cause = env.Now, class, Cause{c.Reason, head(c.Message, maxMessage)}
	}
	if r.TerminatedAt.IsZero() {
		r.TerminatedAt = env.Now
	}
	return r
}

// boundAttempts keeps the newest attempts, and as many of their logs as fit.
func boundAttempts(all []Attempt) []Attempt {
	if n := len(all); n > maxAttempts {
		all = all[n-maxAttempts:]
	}
	room := maxLogs
	for i := len(all) - 1; i >= 0; i-- {
		all[i].LogTail = tail(all[i].LogTail, min(maxLog, room))
		room -= len(all[i].LogTail)
	}
	return all
}

// head returns the first n bytes of a message, on one line and without control characters.
func head(message string, n int) string { return beginning(text.Line(message), n) }

// beginning returns the beginning of a text, of at most n bytes.
func beginning(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n-3], "") + "..."
	}
	return strings.ToValidUTF8(s, "")
}

// tail returns the last whole lines of a text, at most n bytes. A longer last line loses its beginning.
func tail(s string, n int) string {
	s = strings.TrimRight(s, "\n")
	if len(s) > n {
		s = s[len(s)-n:]
		if _, rest, ok := strings.Cut(s, "\n"); ok {
			s = rest
		}
	}
	return strings.ToValidUTF8(s, "")
}

// maxCause bounds the stored bytes of a record's cause.
const maxCause = 1 << 10

// maxName bounds the name of a scheduler or queue, in stored bytes. Users can write names that do not exist.
const maxName = 1 << 10

// Stored returns the part of a choice that fits into a status. Users can write any name, so names are bounded.
func Stored(c scheduler.Choice) scheduler.Choice {
	c.Scheduler, c.Queue = Truncate(text.Printable(c.Scheduler), maxName), Truncate(text.Printable(c.Queue), maxName)
	return c
}

// Truncate shortens a text to n stored bytes.
func Truncate(s string, n int) string {
	const dots = "..."
	end, whole := 0, 0
	for rest := s; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if whole += StoredSize(r); whole <= n-len(dots) {
			end += size
		}
		rest = rest[size:]
	}
	if whole <= n {
		return s
	}
	return s[:end] + dots
}

// StoredSize returns the size of a rune in stored JSON, in bytes. A line end takes two. An angle bracket takes six, because encoding/json escapes the special
// characters of HTML.
func StoredSize(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return 2
	case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}
