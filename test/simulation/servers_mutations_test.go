// SPDX-License-Identifier: Apache-2.0

//go:build mutation

package simulation

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// mistaken breaks what the operators of a server believe.
func mistaken(b breakage) func(*history) {
	return func(h *history) {
		withServer(h)
		h.server.broken = &b
	}
}

// Each way of breaking the operator of servers must be found.
func TestMutationsOfServersAreFound(t *testing.T) {
	both := func(wrap func(client.Client) client.Client) func(*history) {
		return func(h *history) {
			withServer(h)
			wrapped(wrap)(h)
		}
	}
	tests := map[string]struct {
		reason string
		change func(*history)
	}{
		"sessions do not hold back an edit": {
			"clients lose their work",
			mistaken(breakage{desired: func(a *lifecycle.Application) { a.Drain = 0 }}),
		},
		"drains have no end": {
			"a client that never leaves keeps the old spec",
			mistaken(breakage{record: func(r *lifecycle.Record) { r.DrainSince = time.Time{} }}),
		},
		"servers that cannot be asked have no sessions": {
			"clients lose their work",
			mistaken(breakage{sessions: func(s *lifecycle.Sessions) { s.Known = true }}),
		},
		"what runs is not seen": {
			"a server is stopped that works",
			mistaken(breakage{sessions: func(s *lifecycle.Sessions) { s.Executing = 0 }}),
		},
		"streaming queries are not seen": {
			"finding 2: a server is stopped under one",
			mistaken(breakage{sessions: func(s *lifecycle.Sessions) { s.Streams = 0 }}),
		},
		"the ends of streaming queries are not stored": {
			"finding 2: a server is stopped at once when one has ended",
			mistaken(breakage{record: func(r *lifecycle.Record) { r.Idle.Streaming = false }}),
		},
		"the last execution is not seen": {
			"a server is stopped that has just been used",
			mistaken(breakage{sessions: func(s *lifecycle.Sessions) { s.LastExecution = time.Time{} }}),
		},
		"the start counts as nothing": {
			"a server is stopped before anybody could use it",
			mistaken(breakage{record: func(r *lifecycle.Record) {
				if !r.Idle.Since.IsZero() {
					r.Idle.Since = time.Unix(1, 0)
				}
			}}),
		},
		"idleness is forgotten": {
			"a server that was stopped comes back, though nobody wants it",
			mistaken(breakage{record: func(r *lifecycle.Record) { r.Idle.StoppedAt = time.Time{} }}),
		},
		"nobody is woken": {
			"a client waits for a server that never comes",
			mistaken(breakage{family: func(f *lifecycle.Family) { f.WakeAt = "" }}),
		},
		"idle servers run on": {
			"they cost money",
			mistaken(breakage{desired: func(a *lifecycle.Application) { a.IdleTimeout = 0 }}),
		},
		"servers are like applications": {
			"their Service goes with each of them, and clients must learn a new address",
			mistaken(breakage{desired: func(a *lifecycle.Application) { a.Endures = false }}),
		},
		"failures are repeated at once": {
			"a server that cannot start would start all the time",
			mistaken(breakage{desired: func(a *lifecycle.Application) {
				a.Policies.Restart.Failures.Initial, a.Policies.Restart.Failures.Max = 0, 0
			}}),
		},
		"servers are not replaced": {
			"clients have none",
			mistaken(breakage{desired: func(a *lifecycle.Application) { a.Policies.Restart = lifecycle.Restart{Type: lifecycle.Never} }}),
		},
		"tokens are forgotten": {
			"clients know that of the first server",
			mistaken(breakage{server: func(s *spark.Server) { s.TokenMade = false }}),
		},
		"tokens are believed to be made": {
			"another user's Secret is taken, or there is none", // the operator makes it, under a name that can be guessed
			mistaken(breakage{server: func(s *spark.Server) { s.TokenMade = true }}),
		},
		"suspension is not heeded": {
			"the user wants no server",
			mistaken(breakage{desired: func(a *lifecycle.Application) { a.Suspend = false }}),
		},
		"edits are not seen": {
			"the old spec runs for ever",
			mistaken(breakage{desired: func(a *lifecycle.Application) { a.SpecHash = "always" }}),
		},
		"status patches ignore the resourceVersion": {
			"a decision from an old status overwrites a newer one",
			both(func(c client.Client) client.Client { return heedlessPatch{c} }),
		},
		"deletes ignore the UID": {
			"the pod that has the name by now may be somebody else's",
			both(func(c client.Client) client.Client { return heedlessDelete{c} }),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			stats, found := many(1, enoughForMutations, 1, tc.change)
			if len(found) == 0 {
				t.Fatalf("survived %d histories although %s", stats.Histories, tc.reason)
			}
			t.Logf("found after %d histories, by seed %d: %s", stats.Histories, found[0], lived(found[0], false, tc.change).broken)
		})
	}
}
