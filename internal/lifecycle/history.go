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
	// maxMessage bounds one attempt's message, maxLogs all log tails together, in bytes. The newest go first.
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

// closed writes the end of the current attempt into the history and stamps the record. An attempt that has ended keeps
// its end, and one that never had a driver has no history.
func closed(r Record, class FailureClass, c Cause, env Env) Record {
	if a := r.Current(); a != nil && a.EndedAt.IsZero() {
		a.EndedAt, a.Class, a.Cause = env.Now, class, Cause{c.Reason, head(c.Message, maxMessage)}
	}
	if r.TerminatedAt.IsZero() {
		r.TerminatedAt = env.Now
	}
	return r
}

// boundAttempts keeps the newest attempts, and of their logs as much as there is room for.
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

// head returns the beginning of a message in one line, of at most n bytes. Whatever a tenant or a program has put into it is harmless.
func head(message string, n int) string { return beginning(text.Line(message), n) }

// beginning returns the beginning of a text, of at most n bytes.
func beginning(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n-3], "") + "..."
	}
	return strings.ToValidUTF8(s, "")
}

// tail returns the last whole lines of a text, of at most n bytes; of a longer line its end.
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

// maxCause bounds the sentence of a record's cause, in stored bytes.
const maxCause = 1 << 10

// maxName bounds what is stored of the name of a scheduler or a queue, which may be one that there is not, in stored bytes.
const maxName = 1 << 10

// Stored is what a status says of a choice: names in it are users', who may write anything.
func Stored(c scheduler.Choice) scheduler.Choice {
	c.Scheduler, c.Queue = Truncate(text.Printable(c.Scheduler), maxName), Truncate(text.Printable(c.Queue), maxName)
	return c
}

// Truncate returns as much of a text as takes n stored bytes.
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

// StoredSize is how many bytes a rune takes in what the API server stores: JSON, in which a line end takes two bytes and, as
// encoding/json spells out what HTML would read, an angle bracket six.
func StoredSize(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return 2
	case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}
