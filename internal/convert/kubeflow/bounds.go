// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"strings"
	"unicode/utf8"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Bounds of what a status says, in bytes as they are stored (lifecycle.StoredSize). The object stays below 20 KiB
// besides its live executors; executorState is an atomic map, so that managedFields does not repeat the names in it.
const (
	maxAttemptMessage = 200
	// maxScheduler is for the name of a scheduler, which may be one that there is not.
	maxScheduler = 100
	// maxLogTails is for the log tails of all attempts together, maxLogTail for one. The newest go first.
	maxLogTails = 3 << 10
	maxLogTail  = 1536
)

// lastLines returns as many of a text's last lines as take n bytes; of a longer line its end.
func lastLines(text string, n int) string {
	start := len(text)
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if n -= lifecycle.StoredSize(r); n < 0 {
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

// boundLogs keeps of the attempts' logs what there is room for.
func boundLogs(all []v1beta2.AttemptStatus) {
	room := maxLogTails
	for i := len(all) - 1; i >= 0; i-- {
		all[i].LogTail = lastLines(all[i].LogTail, min(maxLogTail, room))
		for _, r := range all[i].LogTail {
			room -= lifecycle.StoredSize(r)
		}
	}
}
