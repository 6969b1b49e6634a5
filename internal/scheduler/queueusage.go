// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"time"
)

// QueueReporter is a plugin whose scheduler reports in the Kubernetes API what its queues have. The numbers are for people: nothing is
// decided by them.
type QueueReporter interface {
	// QueueReads names what QueueUsage wants to see. It is less than Reads: a user may not read all that the operator may.
	QueueReads(Attempt) []Read
	// QueueUsage says of the queue in which the attempt waits for its start, and of those above it, what they have of each resource that
	// they limit or guarantee, or that the attempt asks for. The lines have no namespace, and Quota is the queue's kind and name. A queue
	// that does not exist has none.
	QueueUsage(Attempt, Snapshot) ([]Usage, error)
}

// QueueReads asks the plugin what QueueUsage must show it.
func QueueReads(p Plugin, a Attempt) ([]Read, error) {
	reporter, ok := can[QueueReporter](p)
	if !ok {
		return nil, nil
	}
	return call(p, "QueueReads", func() ([]Read, error) { return reporter.QueueReads(a), nil })
}

// QueueUsage asks the plugin what the queues have that hold the attempt. One whose scheduler does not report it says nothing.
func QueueUsage(p Plugin, a Attempt, s Snapshot) ([]Usage, error) {
	reporter, ok := can[QueueReporter](p)
	if !ok {
		return nil, nil
	}
	return call(p, "QueueUsage", func() ([]Usage, error) { return reporter.QueueUsage(a, s) })
}

// QueueReport is an attempt that waits with what the queues report that hold it.
type QueueReport struct {
	Attempt Attempt
	Usage   []Usage
}

// queueWaiters are those who wait in a queue.
type queueWaiters struct {
	count   int
	longest time.Duration
}

// QueueLines adds up those who wait in the same queues. All of them wait in the line of each resource of their queue, also those that ask
// for none of it: a scheduler's queue has one order.
func QueueLines(reports []QueueReport) []LineState {
	lines, queues := map[Line]LineState{}, map[string]queueWaiters{}
	for _, r := range reports {
		total, entered := r.Attempt.Total(), map[string]bool{}
		for _, u := range r.Usage {
			line := lines[u.Line]
			line.Usage = u
			line.Asked.Add(total[u.Resource])
			lines[u.Line] = line
			if entered[u.Quota] {
				continue
			}
			entered[u.Quota] = true
			waiters := queues[u.Quota]
			queues[u.Quota] = queueWaiters{waiters.count + 1, max(waiters.longest, r.Attempt.Now.Sub(r.Attempt.QueuedAt))}
		}
	}
	var out []LineState
	for _, line := range lines {
		waiters := queues[line.Quota]
		line.Waiting, line.Longest = waiters.count, waiters.longest
		out = append(out, line)
	}
	slices.SortFunc(out, func(x, y LineState) int { return compareLines(x.Line, y.Line) })
	return out
}
