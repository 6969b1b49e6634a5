// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

const simSum = "the min of all ElasticQuotas together"

// linesOf are the lines of all that an application asks for. Whether it asks for a share in what all have together is for the judge to say: it
// does not if it is guaranteed all of it.
func (s *simulation) linesOf(a *simApp, shares bool) []scheduler.Line {
	var lines []scheduler.Line
	for _, r := range []corev1.ResourceName{simCPU, simGPU} {
		if a.asks[r] == 0 {
			continue
		}
		if a.tenant.hard != nil {
			lines = append(lines, scheduler.Line{Namespace: a.tenant.name, Quota: "ResourceQuota compute", Resource: "requests." + r})
		}
		if a.tenant.max != nil {
			lines = append(lines, scheduler.Line{Namespace: a.tenant.name, Quota: "ElasticQuota share", Resource: r})
		}
		if a.tenant.min != nil && shares {
			lines = append(lines, scheduler.Line{Quota: simSum, Resource: r})
		}
	}
	return lines
}

// committed is what those who started use, or will, without one of them.
func (s *simulation) committed(but *simApp, where func(*tenant) bool) amounts {
	sum := amounts{}
	for _, a := range s.apps {
		if a != but && a.phase == simAdmitted && a.ends > s.now && where(a.tenant) {
			sum = sum.plus(a.asks)
		}
	}
	return sum
}

func (s *simulation) guaranteed(a *simApp) bool {
	return a.tenant.min != nil && a.fitsIn(s.committed(a, func(t *tenant) bool { return t == a.tenant }), a.tenant.min)
}

// fitsIn is whether there is room in a limit for what an application asks for.
func (a *simApp) fitsIn(used, limit amounts) bool {
	for r, asked := range a.asks {
		if asked > 0 && used[r]+asked > limit[r] {
			return false
		}
	}
	return true
}

func (s *simulation) overdue(a *simApp) bool { return s.now-a.queued >= s.bound }

// ahead is whether one comes before another in a line.
func (s *simulation) ahead(w, a *simApp, line scheduler.Line) bool {
	share := func(of *simApp) float64 { return s.shares[line][of.tenant.name] }
	switch {
	case s.overdue(w) != s.overdue(a):
		return s.overdue(w)
	case !s.overdue(w) && w.rank != a.rank:
		return w.rank > a.rank
	case !s.overdue(w) && s.fair && line.Namespace == "" && share(w) != share(a):
		return share(w) < share(a)
	default:
		return older(w, a)
	}
}

// judge judges the answer to an attempt before it has an effect.
func (s *simulation) judge(a *simApp, admitted, expects bool) {
	if admitted {
		s.judgeRoom(a)
	}
	guaranteed := s.guaranteed(a) // a report that is late may hide it from the operator, which lets it wait in the line then
	lines := s.linesOf(a, !admitted || !guaranteed)
	var first *simApp // who must not be passed
	for _, w := range s.apps {
		if w == a || w.phase != simWaits || !s.isAhead(w, a, lines, admitted) {
			continue
		}
		if first != nil && !admitted {
			break
		}
		firm := s.overdue(w) || s.strict
		switch fits := !firm && s.fitsAlone(w); {
		case firm || fits:
			if first = w; !admitted {
				break
			}
			s.fail("%s (%v, rank %d, since %d) passes %s (%v, rank %d, since %d), which waits in %v: overdue %t, fits %t", a.ID, a.asks, a.rank, a.queued, w.ID, w.asks, w.rank, w.queued, w.lines, s.overdue(w), fits)
			return
		case admitted:
			s.starts.passed++
		}
	}
	could := !admitted && first == nil && !expects && s.fitsAlone(a)
	switch {
	case could && a.could < 0:
		a.could = s.now // one that is ahead may have to be asked again before it leaves the line
	case could && s.now-a.could > simAsks:
		s.fail("%s (%v) fits and may pass all since %d, and waits", a.ID, a.asks, a.could)
	case !could:
		a.could = -1
	}
	switch {
	case admitted && s.overdue(a):
		s.starts.aged++
	case admitted && a.rank > 0:
		s.starts.priority++
	}
	if admitted && guaranteed {
		s.starts.guaranteed++
		for _, w := range s.apps {
			if w.tenant.min != nil {
				w.first = -1 // what is guaranteed to others is taken in no line, so that no time is promised to those who borrow
			}
		}
	}
}

// isAhead is whether one waits in some lines ahead of another. What it needs to borrow no more it is not passed in, although it leaves the line only
// when it is asked.
func (s *simulation) isAhead(w, a *simApp, lines []scheduler.Line, passed bool) bool {
	return slices.ContainsFunc(w.lines, func(p scheduler.Place) bool {
		return slices.Contains(lines, p.Line) && s.ahead(w, a, p.Line) && (p.Namespace != "" || !passed || !s.guaranteed(w))
	})
}

// fitsAlone is whether the quotas would have room for an attempt as the operator sees them now, if none waited.
func (s *simulation) fitsAlone(a *simApp) bool {
	alone := a.Attempt
	alone.Quota = s.ledger.Outstanding(alone, at(s.now))
	alone.Quota.Ahead, alone.Quota.Expected = nil, false
	answer, err := scheduler.AdmitAttempt(s.plugin, alone, s.snapshot(a))
	return err == nil && answer.Verdict == scheduler.Admit
}

// judgeRoom judges that nothing is given twice: neither a quota's room nor what namespaces borrow of each other.
func (s *simulation) judgeRoom(a *simApp) {
	own, all := s.committed(a, func(t *tenant) bool { return t == a.tenant }), s.committed(a, func(t *tenant) bool { return t.min != nil })
	switch t := a.tenant; {
	case t.hard != nil && !a.fitsIn(own, t.hard):
		s.fail("%s (%v): ResourceQuota %v of %s is overcommitted beside %v", a.ID, a.asks, t.hard, t.name, own)
	case t.max != nil && !a.fitsIn(own, t.max):
		s.fail("%s (%v): the max %v of %s is overcommitted beside %v", a.ID, a.asks, t.max, t.name, own)
	case t.min != nil && !s.guaranteed(a) && !a.fitsIn(all, s.mins()):
		s.fail("%s (%v): the sum %v is overcommitted beside %v", a.ID, a.asks, s.mins(), all)
	}
}

// judgeAge judges that the oldest of its lines starts once what ran before has ended, for each resource that it waits for.
func (s *simulation) judgeAge(waiting []*simApp) {
	for _, a := range waiting {
		if a.phase != simWaits {
			continue
		}
		lines := s.linesOf(a, true)
		oldest := s.overdue(a) && !slices.ContainsFunc(waiting, func(w *simApp) bool {
			return w.phase == simWaits && w != a && older(w, a) && slices.ContainsFunc(s.linesOf(w, true), func(l scheduler.Line) bool { return slices.Contains(lines, l) })
		})
		switch {
		case !oldest:
			a.first = -1
		case a.first < 0:
			a.first = s.now
		case s.now-a.first > len(lines)*(simStarts+simRun+simLags):
			s.fail("%s (%v) of %s is the oldest since %d and has not started: %v", a.ID, a.asks, a.tenant.name, a.first, a.lines)
		}
	}
}

// Whatever arrives, ends, is reported late or crashes: no room is given twice, none is passed that must not be, who may start does, and
// the oldest starts.
func TestQuotaHistories(t *testing.T) {
	const parts = 4 // run side by side
	histories, begin := testrun.Pick(uint64(60), 100, 20000), testrun.Seed()
	var found [parts]covered
	t.Run("all", func(t *testing.T) {
		for part := range uint64(parts) {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for i := part; i < histories; i += parts {
					seed := i
					if i >= histories/3 {
						seed = begin + i
					}
					s := live(seed, mutant{strict: seed%5 == 0, fair: seed%5 == 1})
					if s.broken != nil {
						t.Fatalf("seed %d: %v", seed, s.broken)
					}
					found[part].add(s.starts)
				}
			})
		}
	})
	var total covered
	for _, c := range found {
		total.add(c)
	}
	for name, n := range map[string]int{"passed others": total.passed, "started with priority": total.priority, "started after the bound": total.aged, "had a guarantee": total.guaranteed, "waited in a crash": total.crashed} {
		if n < int(histories) && !t.Failed() {
			t.Errorf("%d %s in %d histories", n, name, histories)
		}
	}
	t.Logf("%+v", total)
}

// Operators that are broken on purpose are found.
func TestQuotaHistoriesFindMutants(t *testing.T) {
	lines := func(change func(*scheduler.Ahead)) func(*scheduler.Attempt) {
		return func(a *scheduler.Attempt) {
			for name, h := range a.Quota.Ahead {
				change(&h)
				a.Quota.Ahead[name] = h
			}
		}
	}
	const own = "only of "
	mutants := map[string]mutant{
		"HeadOfLine": {reason: "may pass all", from: 40, asks: lines(func(h *scheduler.Ahead) { h.Fixed = h.Count })},
		"NoAging":    {reason: "overdue true", asks: lines(func(h *scheduler.Ahead) { h.Fixed = 0 })},
		"NoPriority": {reason: "fits true", asks: func(a *scheduler.Attempt) { a.Priority = 0 }},
		"NoOrder":    {reason: "passes", asks: func(a *scheduler.Attempt) { a.Quota.Ahead = nil }},
		"SumByNamespace": {
			reason: "passes",
			asks: func(a *scheduler.Attempt) {
				for name, h := range a.Quota.Ahead {
					if name.Namespace == "" {
						delete(a.Quota.Ahead, name)
					} else if quota, was := strings.CutPrefix(name.Quota, own); was {
						a.Quota.Ahead[scheduler.Line{Quota: quota, Resource: name.Resource}] = h
					}
				}
			},
			places: func(a *scheduler.Attempt, places []scheduler.Place) {
				for i := range places {
					if places[i].Namespace == "" {
						places[i].Namespace, places[i].Quota = a.App.Namespace, own+places[i].Quota
					}
				}
			},
		},
		"ByQuota": {
			reason: "may pass all", from: 43,
			asks: func(a *scheduler.Attempt) {
				for name, h := range a.Quota.Ahead {
					for _, r := range []string{"cpu", "nvidia.com/gpu"} {
						if strings.HasPrefix(string(name.Resource), "requests.") {
							r = "requests." + r
						}
						other := name
						other.Resource = corev1.ResourceName(r)
						if _, there := a.Quota.Ahead[other]; !there {
							a.Quota.Ahead[other] = h
						}
					}
				}
			},
		},
		"Twice":    {reason: "committed", asks: func(a *scheduler.Attempt) { a.Quota.Others = nil }},
		"NoShares": {reason: "passes", fair: true, shareless: true},
		"Forgets":  {reason: "passes", forgets: true},
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 400
			for i := range uint64(most) {
				seed := m.from + i
				if s := live(seed, m); s.broken != nil {
					if !strings.Contains(s.broken.Error(), m.reason) {
						t.Errorf("seed %d: found by another judge than %q: %v", seed, m.reason, s.broken)
					}
					t.Logf("seed %d: %v", seed, s.broken)
					return
				}
			}
			t.Errorf("not found in %d histories", most)
		})
	}
}
