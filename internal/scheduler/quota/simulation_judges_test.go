// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

const (
	simSum = "the min of all ElasticQuotas together"
	simMin = "the min of ElasticQuota share"
)

// simLines are the lines of all that an application asks for: those of the limits of its namespace, of the min of that if it fits into it alone, and
// of the sum of all mins.
type simLines struct{ own, least, shared []scheduler.Line }

func (l simLines) all() []scheduler.Line { return slices.Concat(l.own, l.least, l.shared) }

func (s *simulation) linesOf(a *simApp) simLines {
	if a.mayWait != nil {
		return *a.mayWait
	}
	var l simLines
	t := a.tenant
	for _, r := range []corev1.ResourceName{simCPU, simGPU} {
		if r == simCPU && a.asks.cpu == 0 || r == simGPU && a.asks.gpu == 0 {
			continue
		}
		if t.hard != nil {
			l.own = append(l.own, scheduler.Line{Namespace: t.name, Quota: "ResourceQuota compute", Resource: "requests." + r})
		}
		if t.max != nil {
			l.own = append(l.own, scheduler.Line{Namespace: t.name, Quota: "ElasticQuota share", Resource: r})
		}
		if t.min != nil {
			l.shared = append(l.shared, scheduler.Line{Quota: simSum, Resource: r})
		}
		if s.ownsAll(a) {
			l.least = append(l.least, scheduler.Line{Namespace: t.name, Quota: simMin, Resource: r})
		}
	}
	a.mayWait = &l
	return l
}

// ownsAll is whether the min of its namespace is enough for an application.
func (s *simulation) ownsAll(a *simApp) bool {
	return a.tenant.min != nil && a.asks.fits(amounts{}, *a.tenant.min)
}

// takesRoom is whether an application has started and not ended.
func (s *simulation) takesRoom(a *simApp) bool { return a.phase == simAdmitted && a.ends > s.now }

// committed is what those who started use, or will, without one of them.
func (s *simulation) committed(but *simApp, where func(*tenant) bool) amounts {
	sum := amounts{}
	for _, a := range s.apps {
		if a != but && s.takesRoom(a) && where(a.tenant) {
			sum = sum.plus(a.asks)
		}
	}
	return sum
}

// guaranteed is whether an application is within the min of its namespace, whether all reports say so or not.
func (s *simulation) guaranteed(a *simApp) bool {
	return s.ownsAll(a) && a.asks.fits(s.committed(a, func(t *tenant) bool { return t == a.tenant }), *a.tenant.min)
}

func (s *simulation) overdue(a *simApp) bool { return s.now-a.queued >= s.bound }

// older is whether one has waited longer than another.
func older(w, a *simApp) bool {
	return cmp.Or(cmp.Compare(w.queued, a.queued), cmp.Compare(w.ID, a.ID)) < 0
}

// ahead is whether one comes before another in a line.
func (s *simulation) ahead(w, a *simApp, line scheduler.Line) bool {
	share := func(of *simApp) float64 { return s.shares[line][of.tenant.name] }
	switch {
	case s.fair && line.Namespace == "" && share(w) != share(a):
		return share(w) < share(a)
	case s.overdue(w) != s.overdue(a):
		return s.overdue(w)
	case !s.overdue(w) && w.rank != a.rank:
		return w.rank > a.rank
	case s.overdue(w):
		return cmp.Or(cmp.Compare(max(w.queued, w.turned-s.bound), max(a.queued, a.turned-s.bound)), cmp.Compare(w.ID, a.ID)) < 0
	default:
		return older(w, a)
	}
}

// judge judges the answer to an attempt before it has an effect.
func (s *simulation) judge(a *simApp, o scheduler.Outstanding, starts, elsewhere, expects bool) {
	switch {
	case starts:
		s.judgeRoom(a)
		s.judgePassing(a, o)
		s.judgeKept(a, o)
		a.could = -1
	case elsewhere: // it waits for its scheduler's queue
		a.could = -1
	default:
		s.judgeWait(a, o, expects)
	}
}

// judgePassing judges that one that starts passes nobody whom it must not pass.
func (s *simulation) judgePassing(a *simApp, o scheduler.Outstanding) {
	lines, passed := s.linesOf(a), false
	guaranteed := s.guaranteed(a)
	first := s.inWay(a, lines.own, s.fits, &passed)
	if first == nil && a.tenant.min != nil {
		least := first
		if guaranteed {
			least = s.inWay(a, lines.least, s.fitsLeast, &passed)
		}
		if !guaranteed || least != nil { // it borrows
			first = s.inWay(a, lines.shared, func(w *simApp) bool {
				seen := s.roomSeenBy(w, a.tenant) // one that does not fit by what is read for this attempt may be passed
				return s.fits(w) && (seen.least || seen.shared) && !s.guaranteed(w)
			}, &passed)
		}
	}
	if first != nil {
		s.fail("%s (%v, rank %d, since %d) passes %s (%v, rank %d, since %d), which waits in %v: overdue %t, fits %t",
			a.ID, a.asks, a.rank, a.queued, first.ID, first.asks, first.rank, first.queued, first.lines, s.overdue(first), s.fits(first))
		return
	}
	if passed {
		s.starts.passed++
	}
	switch {
	case s.overdue(a):
		s.starts.aged++
	case a.rank > 0:
		s.starts.priority++
	}
	if !guaranteed {
		return
	}
	s.starts.guaranteed++
	for _, w := range s.apps {
		if w.tenant.min != nil && !s.ownsAll(w) {
			w.holds = -1 // what is guaranteed to others is taken in no line, so that no time is promised to those who must borrow
		}
	}
}

// inWay is one that waits ahead in one of some lines and must not be passed. There may be others that are passed.
func (s *simulation) inWay(a *simApp, lines []scheduler.Line, fits func(*simApp) bool, passed *bool) *simApp {
	for _, w := range s.apps {
		if w == a || w.phase != simWaits || !s.isAhead(w, a, lines) {
			continue
		}
		if s.strict || fits(w) && !s.heldBack(w) {
			return w
		}
		*passed = true
	}
	return nil
}

// isAhead is whether one waits in some lines ahead of another.
func (s *simulation) isAhead(w, a *simApp, lines []scheduler.Line) bool {
	return slices.ContainsFunc(w.lines, func(p scheduler.Place) bool {
		return slices.Contains(lines, p.Line) && s.holds[p.Line].simApp != w && s.ahead(w, a, p.Line) // who holds room is passed by those who leave it
	})
}

// judgeWait judges that one that waits has to: who is within the min of its namespace waits for nobody else's, and at once.
func (s *simulation) judgeWait(a *simApp, o scheduler.Outstanding, expects bool) {
	room, lines, passed := s.roomFor(a), s.linesOf(a), false
	held := slices.ContainsFunc(slices.Collect(maps.Values(o.Ahead)), func(h scheduler.Ahead) bool { return h.Hold != nil && !h.Own })
	if expects || held || !room.own || !room.least && !room.shared {
		a.could = -1
		return
	}
	all := func(*simApp) bool { return true }
	if room.least && s.inWay(a, slices.Concat(lines.own, lines.least), all, &passed) == nil {
		s.fail("%s (%v) is within the min %v of its own namespace, none of that is ahead of it, and it waits", a.ID, a.asks, *a.tenant.min)
		return
	}
	mayStart := s.inWay(a, lines.own, s.fits, &passed) == nil &&
		(room.least && s.inWay(a, lines.least, s.fitsLeast, &passed) == nil || room.shared && s.inWay(a, lines.shared, s.fits, &passed) == nil)
	switch {
	case !mayStart:
		a.could = -1
	case a.could < 0:
		a.could = s.now // those ahead may have to be asked again before they leave the line, one after the other
	case s.now-a.could > 2*simAsks:
		s.fail("%s (%v) fits and may pass all since %d, and waits", a.ID, a.asks, a.could)
	}
}

// judgeRoom judges that nothing is given twice: neither a quota's room nor what namespaces borrow of each other.
func (s *simulation) judgeRoom(a *simApp) {
	ofOwn := func(t *tenant) bool { return t == a.tenant }
	own, all, exist := s.committed(a, ofOwn), s.committed(a, borrows), s.existing(a)
	fail := func(what string, limit, beside amounts) {
		s.fail("%s (%v): %s %v of %s is overcommitted beside %v", a.ID, a.asks, what, limit, a.tenant.name, beside)
	}
	switch t := a.tenant; {
	case t.hard != nil && !a.takes(s.now).fits(exist, *t.hard):
		fail("the ResourceQuota", *t.hard, exist)
	case t.max != nil && !a.asks.fits(own, *t.max):
		fail("the max", *t.max, own)
	case t.min != nil && !s.guaranteed(a) && !a.asks.fits(all, s.mins()):
		fail("the sum", s.mins(), all)
	}
	if len(a.Placeholders) > 0 {
		s.starts.beside++
	}
}

// existing is what pods of a namespace will take at most, with their placeholders, without those of one application.
func (s *simulation) existing(but *simApp) amounts {
	sum := amounts{}
	for _, a := range s.apps {
		if a != but && a.tenant == but.tenant && s.takesRoom(a) {
			sum = sum.plus(a.takes(s.now))
		}
	}
	return sum
}

// judgePods judges that the API server refuses no pod.
func (s *simulation) judgePods() {
	for _, t := range s.tenants {
		if t.hard == nil {
			continue
		}
		if used := s.used(t, 0, false); !used.fits(amounts{}, *t.hard) {
			s.fail("pods of %s are refused: ResourceQuota %v, used %v", t.name, *t.hard, used)
		}
	}
}

// judgeOwed judges that the first of a namespace starts soon that fits into what its quotas and the min of the namespace leave: what others have
// borrowed of that returns.
func (s *simulation) judgeOwed(waiting []*simApp) {
	for _, t := range s.tenants {
		if t.min == nil {
			continue
		}
		var first *simApp
		for _, a := range waiting {
			if a.tenant == t && a.phase == simWaits && (first == nil || s.ahead(a, first, scheduler.Line{Namespace: t.name})) {
				first = a
			}
		}
		if first == nil || first.group > 0 || !s.guaranteed(first) || t.max != nil && !first.asks.fits(s.committed(first, func(of *tenant) bool { return of == t }), *t.max) ||
			t.hard != nil && !first.takes(s.now).fits(s.existing(first), *t.hard) {
			t.owed = nil
			continue
		}
		if t.owed != first {
			t.owed, t.since = first, s.now
		}
		if s.now-t.since > simAsks+simLags {
			s.fail("%s (%v) of %s is owed room within its min %v since %d, and waits: %v", first.ID, first.asks, t.name, *t.min, t.since, first.lines)
		}
	}
}
