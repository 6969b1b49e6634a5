// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"math"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// What dynamic allocation may add is not waited for, but it is said when it will never come.
func TestGrowth(t *testing.T) {
	cases := map[string]struct {
		reason  string
		max     int32
		hard    string
		warning string
	}{
		"Room":    {reason: "all of it fits", max: 9, hard: "{requests.cpu: 40}"},
		"Short":   {reason: "each executor asks for 2 and the driver for 1", max: 20, hard: "{requests.cpu: 40}", warning: "dynamic allocation cannot grow to 20 executors: they exceed ResourceQuota compute: requests.cpu asked 41, limit 40"},
		"Endless": {reason: "no one has said how far", max: math.MaxInt32, hard: "{requests.cpu: 40}"},
		"Static":  {reason: "it does not grow", max: 3, hard: "{requests.cpu: 7}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			a.PodSets.Max = tc.max
			got, err := scheduler.AdmitAttempt(New("Enforce", nil), a, snapshot(objects{resourceQuota(t, "compute", tc.hard, "{}", "")}, nil, nil))
			if err != nil || got.Verdict != scheduler.Admit || got.Warning != tc.warning {
				t.Errorf("%s: %+v, %v; want %q", tc.reason, got, err, tc.warning)
			}
		})
	}
}

// A warning is said again when the attempt is asked about again: the answer before may not have been the last word.
func TestWarningsStay(t *testing.T) {
	a := attempt()
	a.Quota.Held = true
	got, err := scheduler.AdmitAttempt(New("Warn", nil), a, snapshot(objects{resourceQuota(t, "compute", "{requests.cpu: 6}", "{}", "")}, nil, nil))
	if err != nil || got.Verdict != scheduler.Admit || got.Warning == "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestModes(t *testing.T) {
	small := objects{resourceQuota(t, "compute", "{requests.cpu: 6}", "{}", "")}
	two := objects{elasticQuota(t, "team-a", "a", "{}", "{}"), elasticQuota(t, "team-a", "b", "{}", "{}")}
	cases := map[string]struct {
		reason, mode string
		quotas       objects
		message      string
		reads        int
		described    bool
	}{
		"Off":   {reason: "no one looks", mode: "Off", quotas: small},
		"Typo":  {reason: "the configuration is checked elsewhere", mode: "enforce", quotas: small},
		"Warn":  {reason: "it starts and says so", mode: "Warn", quotas: small, reads: 4, described: true, message: "the request exceeds ResourceQuota compute of namespace team-a: requests.cpu asked 7, limit 6; namespace team-a has 2 ElasticQuotas, but the scheduler uses only one: keep one"},
		"Tight": {reason: "it will not run at once", mode: "Warn", quotas: objects{resourceQuota(t, "compute", "{requests.cpu: 8}", "{requests.cpu: 2}", "")}, reads: 4, described: true, message: "no quota in namespace team-a: requests.cpu asked 7, free 6 of 8 (ResourceQuota compute); namespace team-a has 2 ElasticQuotas, but the scheduler uses only one: keep one"},
		"Quiet": {reason: "nothing to warn of", mode: "Warn", reads: 4, described: true, message: "namespace team-a has 2 ElasticQuotas, but the scheduler uses only one: keep one"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, a := New(tc.mode, []string{"batch"}), attempt()
			got, err := scheduler.AdmitAttempt(p, a, snapshot(tc.quotas, nil, two))
			if err != nil || got.Verdict != scheduler.Admit || got.Warning != tc.message {
				t.Errorf("%s: %+v, %v; want %q", tc.reason, got, err, tc.message)
			}
			if n := len(p.Reads(a)); n != tc.reads {
				t.Errorf("%s: %d reads, want %d", tc.reason, n, tc.reads)
			}
			if d := p.Describe(); d.Quota != tc.described || (len(d.Rules) > 0) != tc.described || d.Supports.Reserves {
				t.Errorf("%s: %+v", tc.reason, d)
			}
		})
	}
	a := attempt()
	if a.Quota.Held = true; len(New("Enforce", nil).Reads(a)) != 0 {
		t.Error("who was admitted looks at nothing")
	}
	if d := New("Enforce", nil).Describe(); len(d.Needs) != 0 || !d.Supports.Reserves || !d.Supports.WaitsBeforePods {
		t.Errorf("no ElasticQuota is needed: %+v", d)
	}
}
