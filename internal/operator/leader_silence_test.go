// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// checks are those that a manager was given.
type checks map[string]healthz.Checker

func (c checks) AddHealthzCheck(name string, check healthz.Checker) error {
	return c.add("live "+name, check)
}
func (c checks) AddReadyzCheck(name string, check healthz.Checker) error {
	return c.add("ready "+name, check)
}

func (c checks) add(name string, check healthz.Checker) error {
	c[name] = check
	return nil
}

// alive asks as the kubelet does.
func (c checks) alive() bool {
	for name, check := range c {
		if strings.HasPrefix(name, "live") && check(nil) != nil {
			return false
		}
	}
	return true
}

// election is the election of a replica, and the manager's checks.
func (r *replica) election(t *testing.T) (*election, checks) {
	t.Helper()
	leases, _ := r.Client.(*leaseClient)
	e, all := &election{leases: leases, lease: 4 * time.Second}, checks{}
	if err := addChecks(all, e); err != nil {
		t.Fatal(err)
	}
	return e, all
}

// A leader that gets no answer is believed for as long as its lease, goes on while the API server is upgraded, and then ends.
func TestLeaderWithoutAnAnswer(t *testing.T) {
	cases := map[string]struct {
		reason       string
		failure      error
		away         time.Duration
		leads, lives bool
	}{
		"Renewed":  {reason: "it is as always", away: time.Hour, leads: true, lives: true},
		"Moment":   {reason: "no other replica may take the lease yet", failure: errDown, away: 3 * time.Second, leads: true, lives: true},
		"Over":     {reason: "another may lead, so two must not say so", failure: errDown, away: 4 * time.Second, lives: true},
		"Minute":   {reason: "an API server that is restarted ends no operator", failure: errDown, away: time.Minute, lives: true},
		"Upgrade":  {reason: "nor does an upgrade of the control plane", failure: errDown, away: 9 * time.Minute, lives: true},
		"Hour":     {reason: "this process does not get through", failure: errDown, away: time.Hour},
		"Refused":  {reason: "and this one is not known", failure: apierrors.NewUnauthorized("token"), away: time.Hour},
		"NoRights": {reason: "nothing shows that it may still lead", failure: apierrors.NewForbidden(leaseResource, "lock", errors.New("no RBAC policy matched")), away: time.Hour},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakeClock(time.Unix(0, 0))
			s, r := leading(t, now)
			e, all := r.election(t)
			standby, others := s.replica("b", now).election(t)
			s.failure = tc.failure
			for range tc.away / time.Second {
				now.Step(time.Second)
				r.renew(t, true)
			}
			if e.leads() != tc.leads || all.alive() != tc.lives {
				t.Errorf("%s: leads: %t, lives: %t", tc.reason, e.leads(), all.alive())
			}
			if standby.leads() || !others.alive() {
				t.Errorf("%s: a standby leads: %t, lives: %t", tc.reason, standby.leads(), others.alive())
			}
			s.failure = nil
			r.holder(t)
			r.renew(t, true)
			if !e.leads() || !all.alive() {
				t.Errorf("%s: after an answer it leads: %t, lives: %t", tc.reason, e.leads(), all.alive())
			}
		})
	}
}

func TestOnlyTheHolderLeads(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	s, r := leading(t, now)
	e, all := r.election(t)
	thief := s.replica("b", now)
	thief.holder(t)
	thief.renew(t, true)
	if other, _ := thief.election(t); !other.leads() {
		t.Error("who took the lease does not lead")
	}
	now.Step(time.Second)
	r.renew(t, false)
	if e.leads() {
		t.Error("a leader that was replaced says that it leads")
	}
	if now.Step(time.Hour); !all.alive() {
		t.Error("a replica that does not lead has nothing to renew")
	}
}

// A leader that was replaced while it got no answer stops just when the API server answers again. It releases as client-go's elector does, which
// believes its memory: what it reads is the successor's.
func TestReleaseLeavesTheSuccessorAlone(t *testing.T) {
	cases := map[string]struct {
		reason  string
		watches bool
	}{
		"Live":    {reason: "the watch is broken, as the renewals were"},
		"Watched": {reason: "the watch has come first", watches: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakeClock(time.Unix(0, 0))
			s, r := leading(t, now)
			s.failure = errDown
			now.Step(time.Second)
			r.renew(t, true)
			s.failure = nil
			successor := s.replica("b", now)
			successor.holder(t)
			successor.renew(t, true)
			if tc.watches {
				r.seen = s.lease
			}
			r.holder(t)
			if err := r.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
				t.Errorf("%s: there is nothing to release: %v", tc.reason, err)
			}
			if got := holder(s.lease); got != "b" {
				t.Errorf("%s: the lease is held by %q", tc.reason, got)
			}
			now.Step(time.Second)
			successor.renew(t, true)
		})
	}
}
