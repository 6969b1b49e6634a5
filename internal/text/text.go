// SPDX-License-Identifier: Apache-2.0

// Package text makes texts of tenants and their programs safe to display, suggests names for misspelled ones, and matches administrators' patterns. It is pure.
package text

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Printable returns a text that is safe for a page, a log or a terminal. It escapes line ends, control characters, escape sequences,
// bidirectional marks, invisible characters and invalid UTF-8: "\n", "\x1b", "\u202e". Tabs stay.
func Printable(text string) string { return spelledOut(text, false) }

// Lines is like Printable, and keeps line ends.
func Lines(text string) string { return spelledOut(text, true) }

func spelledOut(text string, lines bool) string {
	plain := func(r rune) bool {
		return r >= ' ' && r <= '~' || r == '\t' || r == '\n' && lines || unicode.IsGraphic(r) // fast path for ASCII
	}
	var out strings.Builder
	from := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		invalid := r == utf8.RuneError && size == 1
		if invalid || !plain(r) {
			out.WriteString(text[from:i])
			out.WriteString(spelling(text[i:i+size], r, invalid))
			from = i + size
		}
		i += size
	}
	if from == 0 {
		return text
	}
	out.WriteString(text[from:])
	return out.String()
}

// spelling returns a rune as an escape sequence of Go.
func spelling(bytes string, r rune, invalid bool) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case invalid, r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, bytes[0])
	case r > '\uffff':
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Line is like Printable, and joins the lines of a message with spaces.
func Line(text string) string {
	if strings.Contains(text, "\n") {
		text = folded.Replace(text)
	}
	return Printable(text)
}

var folded = strings.NewReplacer("\r\n", " ", "\n", " ")

// Writer is the writer of a log. It writes Lines of each text.
type Writer struct{ io.Writer }

// Write implements io.Writer. It returns the length of text if all of the printable text was written.
func (w Writer) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, Lines(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// DidYouMean suggests the known name nearest to the last name of a path: "did you mean cores?". It is "" if none is near.
func DidYouMean(path string, known []string) string {
	best := Nearest(path[strings.LastIndex(path, ".")+1:], known)
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// Nearest returns the known name nearest to a name; "" if none is near.
func Nearest(name string, known []string) string {
	most := max(1, min(2, len(name)/3)) // longer names may have more slips
	best, distance := "", most+1
	for _, k := range known {
		if n := Slips(strings.ToLower(name), strings.ToLower(k)); n < distance && n < len(name) {
			best, distance = k, n
		}
	}
	return best
}

// Slips returns the number of different letters in two names. Two swapped letters are one slip.
func Slips(a, b string) int {
	n := levenshtein.ComputeDistance(a, b)
	if n == 2 && string(slices.Sorted(slices.Values([]byte(a)))) == string(slices.Sorted(slices.Values([]byte(b)))) {
		return 1
	}
	return n
}

// Some joins up to three names, and counts the others.
func Some(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// MatchesAny reports whether a text matches one of the patterns.
func MatchesAny(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return Matches(pattern, text) })
}

// Matches reports whether a text matches a pattern. An asterisk matches any text, including slashes.
func Matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return text == pattern
	}
	if !strings.HasPrefix(text, first) || len(text) < len(first)+len(last) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}
