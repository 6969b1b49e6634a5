// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// queueReader reads the reported usage of schedulers' queues. It reads each object and list once.
type queueReader struct {
	standings
	// failed are the errors of failed reads, which are not repeated.
	failed map[scheduler.Read]error
}

// queuesOf returns the usage of the queues in which listed objects wait for their start. doubts explains what is unknown.
func (c *Cluster) queuesOf(ctx context.Context, operators Installation, listed []Waiting, now time.Time) (lines []scheduler.LineState, doubts []string) {
	if !slices.ContainsFunc(listed, func(w Waiting) bool { return w.Queue != "" }) {
		return nil, nil
	}
	note := func(doubt string) {
		if !slices.Contains(doubts, doubt) { // a missing permission applies to all objects
			doubts = append(doubts, doubt)
		}
	}
	const unknown = "the usage of queues is unknown: "
	operator, unread, err := operators.operator(ctx, c)
	if err != nil {
		return nil, []string{unknown + ForPeople(err).Error()}
	}
	queues := queueReader{standings{operator: operator, now: now, reader: observe.Reader{Live: c}, seen: scheduler.Snapshot{}}, map[scheduler.Read]error{}}
	var reports []scheduler.QueueReport
	for i := range listed {
		report, err := queues.report(ctx, listed[i].Object)
		if err != nil {
			note(unknown + ForPeople(err).Error())
		}
		reports = append(reports, report)
	}
	if lines = scheduler.QueueLines(reports); len(lines) > 0 && unread != "" { // policies may change the size of pods
		note(fmt.Sprintf("the requests in queues may differ: %s", unread))
	}
	return lines, doubts
}

// report asks the scheduler about the queue of an object that waits for its start.
func (q *queueReader) report(ctx context.Context, o Object) (scheduler.QueueReport, error) {
	candidate, _, err := q.candidate(o)
	if err != nil || candidate == nil {
		return scheduler.QueueReport{}, err
	}
	plugin, attempt := candidate.Plugin(), candidate.Attempt()
	reads, err := scheduler.QueueReads(plugin, attempt)
	if err != nil {
		return scheduler.QueueReport{}, err
	}
	for _, read := range reads {
		if err := q.see(ctx, read); err != nil {
			return scheduler.QueueReport{}, err
		}
	}
	usage, err := scheduler.QueueUsage(plugin, attempt, q.seen)
	return scheduler.QueueReport{Attempt: attempt, Usage: usage}, err
}

// see reads an object or list unless it was read before.
func (q *queueReader) see(ctx context.Context, read scheduler.Read) error {
	if _, has := q.seen[read]; has || q.failed[read] != nil {
		return q.failed[read]
	}
	found, err := q.reader.Snapshot(ctx, []scheduler.Read{read})
	if err != nil {
		q.failed[read] = err
		return err
	}
	q.seen[read] = found[read]
	return nil
}
