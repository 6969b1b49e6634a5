// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"strings"
	"unicode/utf8"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// Bounds of what a status says, in bytes as the API server stores them: JSON, in which a line end takes two bytes and an
// angle bracket six. The stored object stays below 20 KiB beside its live executors; executorState is an atomic map, so
// that managedFields does not repeat the names in it.
const (
	maxErrorMessage   = 1 << 10
	maxAttemptMessage = 200
	// maxScheduler is for the name of a scheduler, which may be one that there is not.
	maxScheduler = 100
	// maxLogTails is for the log tails of all attempts together, maxLogTail for one. The newest go first.
	maxLogTails = 3 << 10
	maxLogTail  = 1536
)

// beginning returns as much of a text as takes n bytes.
func beginning(text string, n int) string {
	const dots = "..."
	end, whole := 0, 0
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if whole += stored(r); whole <= n-len(dots) {
			end += size
		}
		rest = rest[size:]
	}
	if whole <= n {
		return text
	}
	return text[:end] + dots
}

// lastLines returns as many of a text's last lines as take n bytes; of a longer line its end.
func lastLines(text string, n int) string {
	start := len(text)
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if n -= stored(r); n < 0 {
			break
		}
		start -= size
	}
	if start == 0 || text[start-1] == '\n' {
		return text[start:]
	}
	if _, rest, ok := strings.Cut(text[start:], "\n"); ok {
		return rest
	}
	return text[start:]
}

// stored is how many bytes a rune takes in a JSON string (encoding/json, which spells out what HTML would read).
func stored(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return 2
	case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}

// boundLogs keeps of the attempts' logs what there is room for.
func boundLogs(all []v1beta2.AttemptStatus) {
	room := maxLogTails
	for i := len(all) - 1; i >= 0; i-- {
		all[i].LogTail = lastLines(all[i].LogTail, min(maxLogTail, room))
		for _, r := range all[i].LogTail {
			room -= stored(r)
		}
	}
}
