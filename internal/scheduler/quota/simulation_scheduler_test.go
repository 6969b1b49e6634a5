// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// simQueue places attempts by a queue, as Volcano does: an attempt has a group there, and may start once the queue has room for that. Who gives the
// group up loses its place.
type simQueue struct{ placement }

// placed is the field of a group for which there is room.
const placed = "placed"

func groupOf(a scheduler.Attempt) scheduler.Ref {
	return scheduler.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Group"}, Namespace: a.App.Namespace, Name: a.ID}
}

func (simQueue) Release(a scheduler.Attempt) []scheduler.Ref { return []scheduler.Ref{groupOf(a)} }

func (simQueue) Admit(a scheduler.Attempt, s scheduler.Snapshot) (scheduler.Admission, error) {
	answer := scheduler.Admission{Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForCapacity, Apply: []*unstructured.Unstructured{{}}}
	if group := s[groupOf(a).Read()]; group != nil && group.Object[placed] == true {
		answer.Verdict, answer.Reason = scheduler.Admit, scheduler.ReasonAdmitted
	}
	return answer, nil
}

// apply creates or deletes the group of an attempt.
func (s *simulation) apply(a *simApp, answer scheduler.Admission) {
	switch {
	case len(answer.Delete) > 0:
		a.group, a.placed = 0, false
	case a.group == 0 && len(answer.Apply) > 0:
		s.groups++
		a.group = s.groups
	}
}

// place gives groups their room in the queue, one after the other.
func (s *simulation) place() {
	if s.queue == 0 {
		return
	}
	left := s.queue
	var groups []*simApp
	for _, a := range s.apps {
		switch {
		case a.phase == simAdmitted && a.ends > s.now || a.phase == simWaits && a.placed:
			left -= a.asks.cpu
		case a.phase == simWaits && a.group > 0:
			groups = append(groups, a)
		}
	}
	slices.SortFunc(groups, func(x, y *simApp) int { return cmp.Compare(x.group, y.group) })
	for _, a := range groups {
		if left -= a.asks.cpu; left < 0 {
			return
		}
		a.placed, a.askAt = true, s.now
	}
}

// borrows is whether a namespace has a part in what ElasticQuotas share.
func borrows(t *tenant) bool { return t.min != nil }

// started is what those of a namespace take who have started, or with nil all of those who share.
func (s *simulation) started(t *tenant) amounts {
	sum := amounts{}
	for _, a := range s.apps {
		if a.phase == simAdmitted && a.ends > s.now && a.tenant.min != nil && (t == nil || a.tenant == t) {
			sum = sum.plus(a.asks)
		}
	}
	return sum
}

// reclaim preempts who has borrowed, the latest first, once there are pods of those who are guaranteed the room.
func (s *simulation) reclaim() {
	for _, owner := range s.apps {
		if !owner.claims || owner.created[0] > s.now {
			continue
		}
		owner.claims = false
		for used := s.started(nil); !used.fits(amounts{}, s.mins()); used = s.started(nil) {
			a := s.borrower(used)
			if a == nil {
				s.fail("nobody has borrowed what %s of %s claims", owner.ID, owner.tenant.name)
				return
			}
			a.ends, a.preempted = s.now, true
			s.starts.preempted++
		}
	}
}

// borrower is the last that was started beyond the min of its namespace.
func (s *simulation) borrower(used amounts) *simApp {
	var last *simApp
	mins := s.mins()
	for _, a := range s.apps {
		if a.phase != simAdmitted || a.ends <= s.now || a.tenant.min == nil || last != nil && a.created[0] <= last.created[0] {
			continue
		}
		own := s.started(a.tenant)
		if used.cpu > mins.cpu && a.asks.cpu > 0 && own.cpu > a.tenant.min.cpu || used.gpu > mins.gpu && a.asks.gpu > 0 && own.gpu > a.tenant.min.gpu {
			last = a
		}
	}
	return last
}

// resubmit lets an application wait again that was preempted.
func (s *simulation) resubmit(a *simApp) {
	if a.preempted {
		again := &simApp{Attempt: a.Attempt, tenant: a.tenant, rank: a.rank, asks: a.asks, driver: a.driver, shape: a.shape}
		s.submit(again)
	}
}
