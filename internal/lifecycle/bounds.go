// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "unicode/utf8"

// maxCause bounds the sentence of a record's cause, in stored bytes.
const maxCause = 1 << 10

// Beginning returns as much of a text as takes n stored bytes.
func Beginning(text string, n int) string {
	const dots = "..."
	end, whole := 0, 0
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if whole += Stored(r); whole <= n-len(dots) {
			end += size
		}
		rest = rest[size:]
	}
	if whole <= n {
		return text
	}
	return text[:end] + dots
}

// Stored is how many bytes a rune takes in what the API server stores: JSON, in which a line end takes two bytes and, as
// encoding/json spells out what HTML would read, an angle bracket six.
func Stored(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return 2
	case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}
