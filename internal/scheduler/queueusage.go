// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"time"
)

// QueueReporter is a plugin whose scheduler reports the usage of its queues in the Kubernetes API. The numbers are only shown to users; no decision depends
// on them.
type QueueReporter interface {
	// QueueReads lists the objects that QueueUsage needs. They are fewer than the objects of Reads, because users may read less than the operator.
	QueueReads(Attempt) []Read
	// QueueUsage reports the usage of the attempt's queue and its parents, for each resource that they limit or guarantee or that the attempt requests. The
	// lines have no namespace, and Quota is the queue's kind and name. A missing queue reports nothing.
	QueueUsage(Attempt, Snapshot) ([]Usage, error)
}

// QueueReads returns the objects that QueueUsage needs.
func QueueReads(p Plugin, a Attempt) ([]Read, error) {
	reporter, ok := can[QueueReporter](p)
	if !ok {
		return nil, nil
	}
	return call(p, "QueueReads", func() ([]Read, error) { return reporter.QueueReads(a), nil })
}

// QueueUsage returns the usage of the queues of the attempt; nothing if its scheduler reports none.
func QueueUsage(p Plugin, a Attempt, s Snapshot) ([]Usage, error) {
	reporter, ok := can[QueueReporter](p)
	if !ok {
		return nil, nil
	}
	return call(p, "QueueUsage", func() ([]Usage, error) { return reporter.QueueUsage(a, s) })
}

// QueueReport is a waiting attempt with the usage of its queues.
type QueueReport struct {
	Attempt Attempt
	Usage   []Usage
}

// queueWaiters sums the attempts that wait in one queue.
type queueWaiters struct {
	count   int
	longest time.Duration
}

// QueueLines sums the attempts that wait in the same queues. An attempt is in the line of each resource of its queue, even of one that it does not request,
// because a scheduler's queue has one order.
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
