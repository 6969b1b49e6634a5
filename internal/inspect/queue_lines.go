// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// quotaLines are the lines of quotas with the positions in them.
type quotaLines struct {
	positions map[types.UID][]scheduler.Position
	lines     []scheduler.LineState
	// waiting are the waiting attempts.
	waiting []contender
}

// quotaReasons are the reasons of objects that wait in a line. An object in a scheduler's own queue may have the same reasons.
var quotaReasons = []scheduler.Reason{scheduler.ReasonWaitingForQuota, scheduler.ReasonBehindOthers}

// contender is an attempt that waits for its start.
type contender struct {
	scheduler.Attempt
	// reason is the reason of the wait, from the status.
	reason scheduler.Reason
	seen   scheduler.Snapshot
}

// standings computes the lines of waiting attempts with the operator's rules.
type standings struct {
	operator resolve.Operator
	plugin   scheduler.Plugin
	order    scheduler.Order
	now      time.Time
	reader   observe.Reader
	seen     scheduler.Snapshot
	// hidden is set if the user may not read the quotas of all namespaces. Lines that namespaces share need these quotas.
	hidden bool
}

// linesOf computes the lines of quotas in which the items wait. Statuses have no positions, because each start would change the statuses of all waiting
// objects. doubt explains what is unknown; "" if nothing is.
func (c *Cluster) linesOf(ctx context.Context, operators Installation, items []Object, all bool, now time.Time) (lines quotaLines, doubt string) {
	s, err := c.standings(ctx, operators, now)
	if err != nil {
		return quotaLines{}, fmt.Sprintf("positions in the lines of quotas are unknown: %v", ForPeople(err))
	}
	if s == nil {
		return quotaLines{}, ""
	}
	lines, err = s.compute(ctx, items)
	const unknownShared = "positions in shared lines are unknown: "
	shared := func(l scheduler.Line) bool { return l.Namespace == "" }
	if err == nil && !all && slices.ContainsFunc(lines.lines, func(l scheduler.LineState) bool { return shared(l.Line) }) {
		everywhere, unread := c.ListObjects(ctx, waitingTypes, true, everything)
		if unread != nil { // the lines of the namespace's own quotas are still known
			lines.drop(shared)
			return lines, unknownShared + ForPeople(unread).Error()
		}
		lines, err = s.compute(ctx, everywhere)
	}
	switch {
	case err != nil:
		return quotaLines{}, fmt.Sprintf("positions in the lines of quotas are unknown: %v", ForPeople(err))
	case s.hidden:
		return lines, unknownShared + "you may not list the quotas of all namespaces"
	}
	return lines, ""
}

// standings returns nil if the operator enforces no quota.
func (c *Cluster) standings(ctx context.Context, operators Installation, now time.Time) (*standings, error) {
	configuration, err := operators.configuration(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", operators.named(), err)
	}
	operator, err := operators.Plugins.operatorOf(configuration)
	if err != nil {
		return nil, err
	}
	for _, p := range operator.Registry.Plugins() {
		if d := p.Describe(); d.Quota && d.Supports.Reserves {
			q := configuration.BatchScheduler.Quota
			order := scheduler.OrderNamed(string(q.Order), q.AgingBound.Duration)
			return &standings{operator: operator, plugin: p, order: order, now: now, reader: observe.Reader{Live: c}, seen: scheduler.Snapshot{}}, nil
		}
	}
	return nil, nil
}

// compute asks the operator's quota plugin about all waiting attempts. It begins at the head of the line, so that the ledger knows all attempts ahead when it
// asks about one.
func (s *standings) compute(ctx context.Context, items []Object) (quotaLines, error) {
	var all []contender
	for _, item := range items {
		waits, ok, err := s.contender(item)
		if err != nil {
			return quotaLines{}, err
		}
		if !ok {
			continue
		}
		if err := s.look(ctx, &waits); err != nil {
			return quotaLines{}, err
		}
		all = append(all, waits)
	}
	slices.SortFunc(all, func(x, y contender) int { return s.order.Compare(x.Attempt, y.Attempt, s.now) })
	ledger := scheduler.NewLedger(s.order)
	if s.order.Fair { // with shares, the order is known only after all attempts were asked about once
		all = slices.Concat(all, all)
	}
	for _, w := range all {
		w.Quota = ledger.OutstandingBy(w.Attempt, s.now, func(o scheduler.Outstanding) scheduler.Shares {
			w.Quota = o
			return scheduler.SharesOf(s.plugin, w.Attempt, w.seen)
		})
		answer, err := scheduler.AdmitAttempt(s.plugin, w.Attempt, w.seen)
		if err != nil {
			return quotaLines{}, err
		}
		if answer.Verdict == scheduler.Admit { // the attempt waits for another reason, or is about to start
			answer = scheduler.Admission{Verdict: scheduler.Wait, Reason: w.reason}
		}
		ledger.Record(w.Attempt, answer, s.now)
	}
	out := quotaLines{positions: map[types.UID][]scheduler.Position{}, lines: ledger.Lines(s.now), waiting: all}
	for _, w := range all {
		out.positions[w.App.UID] = ledger.Positions(w.ID, s.now)
	}
	return out, nil
}

// look reads the objects that the plugin needs for an attempt. It reads each object once.
func (s *standings) look(ctx context.Context, w *contender) error {
	reads, err := scheduler.Reads(s.plugin, w.Attempt)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(reads), func(r scheduler.Read) bool { _, has := s.seen[r]; return has })
	found, err := s.reader.Snapshot(ctx, missing)
	if err != nil {
		return err
	}
	for read, object := range found {
		s.seen[read] = object
		if object == nil || object.Object != nil {
			continue
		}
		if read.GroupVersionKind == scheduler.PriorityClassKind { // the class decides the place in the line
			return fmt.Errorf("PriorityClass %s of %s/%s: you may not read it", read.Name, w.App.Namespace, w.App.Name)
		}
		s.hidden = true
	}
	w.seen, w.Priority = s.seen, scheduler.PriorityOf(w.Attempt, s.seen)
	return nil
}

// contender returns the attempt of an object that waits for its start. ok is false if the object does not wait or was never reconciled.
func (s *standings) contender(o Object) (w contender, ok bool, err error) {
	candidate, reason, err := s.candidate(o)
	if err != nil || candidate == nil {
		return w, false, err
	}
	w.Attempt, w.reason = candidate.Attempt(), reason
	return w, true, nil
}

// candidate returns the attempt of an object that waits for its start; nil if it does not wait.
func (s *standings) candidate(o Object) (*admission.Candidate, scheduler.Reason, error) {
	if o.ReadCluster != nil {
		return s.cluster(o)
	}
	return s.application(o)
}

// application returns the waiting attempt of an application. It returns nil if the application does not wait or its answer is final.
func (s *standings) application(o Object) (*admission.Candidate, scheduler.Reason, error) {
	a, err := o.Load(o.Object, s.operator, s.now)
	if err != nil {
		return nil, "", err
	}
	r := a.Record
	waits := r.State.Starting() && r.State != lifecycle.New && !r.QueuedAt.IsZero()
	if !waits || !lifecycle.NeedsAdmission(a.Desired, r, lifecycle.Driver{Presence: lifecycle.Absent}, lifecycle.Env{Now: s.now}) {
		return nil, "", nil
	}
	candidate, _ := admission.NewCandidate(a.Application, s.operator.Registry, nil)
	return candidate, r.Cause.Reason, nil
}

// cluster returns the waiting start of a standalone cluster. It returns nil if the cluster does not wait or its answer is final.
func (s *standings) cluster(o Object) (*admission.Candidate, scheduler.Reason, error) {
	c, err := o.LoadCluster(o.Object, s.operator, s.now)
	if err != nil {
		return nil, "", err
	}
	if !c.Record.State.Starts() || c.Desired.Suspend || c.Desired.Probe || len(c.Conditions) == 0 {
		return nil, "", nil
	}
	candidate, _ := c.Start.Candidate(s.operator, nil)
	return candidate, explain.ClusterCause(c.Conditions).Reason, nil
}

// drop removes the lines that which selects.
func (q *quotaLines) drop(which func(scheduler.Line) bool) {
	q.lines = slices.DeleteFunc(q.lines, func(l scheduler.LineState) bool { return which(l.Line) })
	for uid, positions := range q.positions {
		q.positions[uid] = slices.DeleteFunc(positions, func(p scheduler.Position) bool { return which(p.Line) })
	}
}

// enter sets the positions of waiting objects, and drops lines in which none of them waits. doubt is set if positions may be unknown.
func (q *quotaLines) enter(line []Waiting, doubt bool) {
	shown := map[scheduler.Line]bool{}
	for i := range line {
		line[i].Positions = q.positions[line[i].Object.GetUID()]
		line[i].unknown = doubt && len(line[i].Positions) == 0 && slices.Contains(quotaReasons, line[i].Why.Reason)
		for _, p := range line[i].Positions {
			shown[p.Line] = true
		}
	}
	q.drop(func(l scheduler.Line) bool { return !shown[l] })
}
