// SPDX-License-Identifier: Apache-2.0

package quota

// What quotas leave, by arithmetic that shares nothing with the plugin and the ledger: what they report, and what of those who were admitted the
// operator has not seen for long enough.

// Seconds after which pods that were seen are in all reports.
const (
	simExist = 1
	simRuns  = 3
)

// rest is what of an application's room no report has for certain: of its pods that exist, or of those that run.
func (s *simulation) rest(a *simApp, running bool) amounts {
	sum, since, lag := amounts{}, a.created, simExist
	if running {
		since, lag = a.running, simRuns
	}
	certain := func(i int) bool {
		if i >= len(since) {
			return false
		}
		seen := max(since[i], a.since)
		return seen < a.ends && seen+lag <= s.now
	}
	for i := int(a.PodSets.Initial); i >= 0 && !certain(i); i-- { // they come one after the other
		sum = sum.plus(a.pod(i))
	}
	if !running && !certain(0) {
		return sum.plus(a.beside())
	}
	return sum
}

// beside is what placeholders take at most beside the pods that replace them.
func (a *simApp) beside() amounts {
	n := int(a.PodSets.Initial)
	if len(a.Placeholders) == 0 {
		return amounts{}
	}
	return amounts{cpu: a.driver}.most(amounts{a.shape.cpu * n, a.shape.gpu * n})
}

// openings are where there is room for an application.
type openings struct {
	// own are the limits of its namespace, least is the min of that, and shared the sum of all mins.
	own, least, shared bool
}

// roomFor is where there would be room for an attempt as the operator sees it now, if none waited.
func (s *simulation) roomFor(a *simApp) openings { return s.roomSeenBy(a, a.tenant) }

// roomSeenBy is so by what is read for an attempt of a namespace: what others use may be older there.
func (s *simulation) roomSeenBy(a *simApp, reads *tenant) openings {
	t, v := a.tenant, s.view(reads)
	exist, run, all := v.exist, v.run[t], amounts{}
	for _, used := range v.run {
		all = all.plus(used)
	}
	for _, o := range s.apps {
		if o == a || o.phase != simAdmitted {
			continue
		}
		if o.tenant == t {
			exist = exist.plus(s.rest(o, false))
		}
		if t.min == nil || o.tenant.min == nil {
			continue
		}
		rest := s.rest(o, true)
		if all = all.plus(rest); o.tenant == t {
			run = run.plus(rest)
		}
	}
	return openings{
		own:    (t.hard == nil || a.asks.plus(a.beside()).fits(exist, *t.hard)) && (t.max == nil || a.asks.fits(run, *t.max)),
		least:  t.min != nil && a.asks.fits(run, *t.min),
		shared: t.min == nil || a.asks.fits(all, s.mins()),
	}
}

// fits is whether there would be room in all quotas.
func (s *simulation) fits(a *simApp) bool {
	r := s.roomFor(a)
	return r.own && (r.least || r.shared)
}

// fitsLeast is whether there would be room within the min of its namespace.
func (s *simulation) fitsLeast(a *simApp) bool {
	r := s.roomFor(a)
	return r.own && r.least
}
