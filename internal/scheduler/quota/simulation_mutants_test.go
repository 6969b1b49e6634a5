// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// Whatever arrives, ends, is preempted, waits for its scheduler, is reported late or crashes: no room is given twice, none is passed that must not be, who
// may start does, at once if it is guaranteed, and the oldest starts.
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
	for name, n := range map[string]int{"passed others": total.passed, "started with priority": total.priority, "started after the bound": total.aged, "had a guarantee": total.guaranteed, "waited in a crash": total.crashed, "were preempted": total.preempted, "started in kept room": total.held, "had placeholders": total.beside} {
		if n < int(histories)/4 && !t.Failed() {
			t.Errorf("%d %s in %d histories", n, name, histories)
		}
	}
	t.Logf("%+v", total)
}

// aheadOf changes what the lines say of an attempt.
func aheadOf(change func(name scheduler.Line, h scheduler.Ahead, all map[scheduler.Line]scheduler.Ahead)) func(*scheduler.Attempt) {
	return func(a *scheduler.Attempt) {
		for name, h := range a.Quota.Ahead {
			change(name, h, a.Quota.Ahead)
		}
	}
}

// withoutMin hides what is guaranteed to the namespace of an attempt.
func withoutMin(a *scheduler.Attempt, s scheduler.Snapshot) {
	own := s.List(elasticQuotasIn(a.App.Namespace))
	for i := range own {
		own[i] = own[i].DeepCopy()
		unstructured.RemoveNestedField(own[i].Object, "spec", "min")
	}
	s[elasticQuotasIn(a.App.Namespace)] = scheduler.NewList(own...)
}

// mutants are operators that are broken on purpose: each without the fix of something that was found.
func mutants() map[string]mutant {
	const own = "only of "
	type all = map[scheduler.Line]scheduler.Ahead
	return map[string]mutant{
		"HeadOfLine": {reason: "may pass all", asks: aheadOf(func(name scheduler.Line, h scheduler.Ahead, lines all) { h.Fixed = h.Count; lines[name] = h })},
		"NoHolds":    {reason: "is kept for", asks: aheadOf(func(name scheduler.Line, h scheduler.Ahead, lines all) { h.Hold, h.Own = nil, false; lines[name] = h })},
		"NoPriority": {reason: "fits true", asks: func(a *scheduler.Attempt) { a.Priority = 0 }},
		"NoOrder":    {reason: "passes", asks: func(a *scheduler.Attempt) { a.Quota.Ahead = nil }},
		"SumByNamespace": {
			reason: "passes",
			asks: aheadOf(func(name scheduler.Line, h scheduler.Ahead, lines all) {
				if name.Namespace == "" {
					delete(lines, name)
				} else if quota, was := strings.CutPrefix(name.Quota, own); was {
					lines[scheduler.Line{Quota: quota, Resource: name.Resource}] = h
				}
			}),
			places: func(a *scheduler.Attempt, places []scheduler.Place) {
				for i := range places {
					if places[i].Namespace == "" {
						places[i].Namespace, places[i].Quota = a.App.Namespace, own+places[i].Quota
					}
				}
			},
		},
		"ByQuota": {
			reason: "waits",
			asks: aheadOf(func(name scheduler.Line, h scheduler.Ahead, lines all) {
				for _, r := range []corev1.ResourceName{simCPU, simGPU} {
					if strings.HasPrefix(string(name.Resource), "requests.") {
						r = "requests." + r
					}
					other := name
					other.Resource = r
					if _, there := lines[other]; !there {
						lines[other] = h
					}
				}
			}),
		},
		"Twice":       {reason: "committed", asks: func(a *scheduler.Attempt) { a.Quota.Others = nil }},
		"NoShares":    {reason: "passes", from: 32, fair: true, shareless: true},
		"Forgets":     {reason: "passes", forgets: true},
		"NoGuarantee": {reason: "is within the min", sees: withoutMin},
		"NoLineForMin": {reason: "takes room", asks: aheadOf(func(name scheduler.Line, _ scheduler.Ahead, lines all) {
			if name.Quota == simMin {
				delete(lines, name)
			}
		})},
		"Lends": {reason: "is owed", records: func(a *scheduler.Admission) {
			if slices.ContainsFunc(a.Lines, func(p scheduler.Place) bool { return p.Quota == simMin }) {
				a.RetryAfter = retryBehind
			}
		}},
		"NoPlaceholders": {reason: "ResourceQuota", from: 20, asks: func(a *scheduler.Attempt) { a.Placeholders = nil }},
	}
}

// Operators that are broken on purpose are found.
func TestQuotaHistoriesFindMutants(t *testing.T) {
	for name, m := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 400
			for i := range uint64(most) {
				seed := m.from + i
				if s := live(seed, m); s.broken != nil {
					if !strings.Contains(s.broken.Error(), m.reason) {
						t.Errorf("seed %d: found by another judge than %q: %v", seed, m.reason, s.broken)
					}
					t.Logf("seed %d, history %d: %v", seed, i+1, s.broken)
					return
				}
			}
			t.Errorf("not found in %d histories", most)
		})
	}
}
