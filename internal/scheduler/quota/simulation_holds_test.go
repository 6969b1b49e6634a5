// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// simHold is room in a line that the operator says it keeps for an application.
type simHold struct {
	*simApp
	until int
	// spare is what was free in truth when the judges heard of it, without what has started since.
	spare int
}

// endHolds ends those that are over, when the operator is asked about an application of that namespace.
func (s *simulation) endHolds(a *simApp) {
	for line, h := range s.holds {
		switch {
		case h.phase != simWaits:
			delete(s.holds, line)
		case (line.Namespace == "" || line.Namespace == a.tenant.name) && h.until <= s.now:
			h.turned = s.now
			delete(s.holds, line)
		}
	}
}

// leave ends what is kept for an application in lines that it has left.
func (s *simulation) leave(a *simApp) {
	if len(a.lines) == 0 {
		a.turned = 0
	}
	maps.DeleteFunc(s.holds, func(l scheduler.Line, h simHold) bool {
		return h.simApp == a && !slices.ContainsFunc(a.lines, func(p scheduler.Place) bool { return p.Line == l })
	})
}

// hear notes what the operator says about kept room, and judges it.
func (s *simulation) hear(a *simApp, o scheduler.Outstanding) {
	s.endHolds(a)
	own := false
	for line, h := range o.Ahead {
		if h.Hold == nil {
			continue
		}
		i := slices.IndexFunc(s.apps, func(w *simApp) bool { return w.App.Key() == h.Hold.App && w.phase == simWaits })
		if i < 0 {
			s.fail("%v is kept for %v, which does not wait", line, h.Hold.App)
			return
		}
		w, until := s.apps[i], int(h.Hold.Until.Sub(at(0)).Seconds())
		switch {
		case !s.overdue(w):
			s.fail("%v is kept for %s, which has not waited for long", line, w.ID)
		case !slices.ContainsFunc(w.lines, func(p scheduler.Place) bool { return p.Line == line }):
			s.fail("%v is kept for %s, which does not wait there", line, w.ID)
		}
		if last, known := s.holds[line]; !known || last.simApp != w || last.until != until {
			left, asks := s.left(line, w)
			s.holds[line] = simHold{simApp: w, until: until, spare: useless(left, asks)}
		}
		own = own || h.Own
	}
	s.judgeHolder(a, own)
}

// useless is the most of some room that is too little for a request, or beyond it, if less may have been reported.
func useless(left, asks int) int {
	if left >= asks {
		left = max(left-asks, asks-1)
	}
	return max(0, left)
}

// left is the room of a line in truth, and what an application asks of it.
func (s *simulation) left(line scheduler.Line, a *simApp) (left, asks int) {
	all := func(t *tenant) bool { return t.name == line.Namespace }
	var limit, used, wants amounts
	t := s.tenants[max(0, slices.IndexFunc(s.tenants, all))]
	switch {
	case line.Quota == simSum:
		limit, used, wants = s.mins(), s.committed(nil, borrows), a.asks
	case line.Quota == simMin:
		limit, used, wants = *t.min, s.committed(nil, all), a.asks
	case strings.HasPrefix(line.Quota, "Elastic"):
		limit, used, wants = *t.max, s.committed(nil, all), a.asks
	default:
		limit, used, wants = *t.hard, s.existing(&simApp{tenant: t}), a.takes(s.now)
	}
	if strings.HasSuffix(string(line.Resource), string(simCPU)) {
		return limit.cpu - used.cpu, wants.cpu
	}
	return limit.gpu - used.gpu, wants.gpu
}

// judgeKept judges that one that starts takes nothing that is kept for another one ahead of it.
func (s *simulation) judgeKept(a *simApp, o scheduler.Outstanding) {
	lines, room := s.linesOf(a), s.roomFor(a)
	var taken []string
	kept := func(all []scheduler.Line) bool {
		return slices.ContainsFunc(all, func(line scheduler.Line) bool {
			h, held := s.holds[line]
			if !held || h.simApp == a || o.Ahead[line].Hold == nil {
				return false
			}
			left, wants := s.left(line, a)
			_, asks := s.left(line, h.simApp)
			if wants > max(h.spare, left-asks) {
				taken = append(taken, fmt.Sprintf("%d of %v, kept until %d for %s (%v): spare %d, left %d", wants, line, h.until, h.ID, h.asks, h.spare, left))
				return true
			}
			return false
		})
	}
	least := !room.least && !s.guaranteed(a) || kept(lines.least) // reports may be older than the truth
	shared := !room.shared && !a.asks.fits(s.committed(a, borrows), s.mins()) || kept(lines.shared)
	if kept(lines.own) || a.tenant.min != nil && least && shared && len(taken) > 0 {
		s.fail("%s (%v) takes room that is kept for another one: %s", a.ID, a.asks, strings.Join(taken, "; "))
	}
	for _, line := range lines.all() {
		h, held := s.holds[line]
		if held && h.simApp == a {
			s.starts.held++
		}
		if _, wants := s.left(line, a); held {
			if s.ahead(a, h.simApp, line) {
				h.holds = -1
			}
			h.spare = max(0, h.spare-wants)
			s.holds[line] = h
		}
	}
}

// heldBack is whether room is kept for another one in a line of an application.
func (s *simulation) heldBack(a *simApp) bool {
	return slices.ContainsFunc(s.linesOf(a).all(), func(l scheduler.Line) bool {
		h, held := s.holds[l]
		return held && h.simApp != a && s.ahead(h.simApp, a, l)
	})
}

// judgeHolder judges that one for which room is kept in all lines in which it waits starts once all has ended that ran before.
func (s *simulation) judgeHolder(a *simApp, own bool) {
	all := own && !slices.ContainsFunc(a.lines, func(p scheduler.Place) bool { return s.holds[p.Line].simApp != a })
	switch {
	case !all || s.longRuns() || s.fair:
		a.holds = -1
	case a.holds < 0:
		a.holds = s.now
	case s.now-a.holds > simAsks+len(s.linesOf(a).all())*(simStarts+simRun+simLags):
		s.fail("room is kept for %s (%v) of %s in all its lines since %d, and it has not started: %v", a.ID, a.asks, a.tenant.name, a.holds, a.lines)
	}
}

// longRuns is whether a stream runs.
func (s *simulation) longRuns() bool {
	return slices.ContainsFunc(s.apps, func(a *simApp) bool { return a.phase == simAdmitted && a.ends > s.now+2*simRun })
}

// judgeIdle judges that no room lies idle for longer than the bound while one of its line fits into it.
func (s *simulation) judgeIdle(waiting []*simApp) {
	if s.strict || s.now%10 > 0 {
		return
	}
	for _, a := range waiting {
		if a.phase != simWaits || len(a.lines) == 0 || !s.fits(a) {
			a.idle = -1
			continue
		}
		if a.idle < 0 {
			a.idle = s.now
		}
		since := a.idle
		for _, line := range s.linesOf(a).all() {
			since = max(since, s.began[line])
		}
		// a hold of its namespace may follow one of those that namespaces share
		if s.now-since > 2*8*s.bound+simAsks+simLags {
			s.fail("%s (%v) fits since %d, and none has started in its lines since %d: the room lies idle", a.ID, a.asks, a.idle, since)
		}
	}
}
