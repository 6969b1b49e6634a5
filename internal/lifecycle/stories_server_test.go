// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// server is an application whose driver accepts clients.
func server(a *lifecycle.Application) {
	rule := lifecycle.RetryPolicy{Initial: 10 * time.Second, Max: 5 * time.Minute, Linear: true}
	a.Policies = lifecycle.Policies{Restart: lifecycle.Restart{Type: lifecycle.Always, Failures: rule, Submissions: rule, Evictions: rule, ResetAfter: 10 * time.Minute}}
	a.Endures, a.Drain = true, 10*time.Minute
}

func idleAfter(d time.Duration) func(*lifecycle.Application) {
	return func(a *lifecycle.Application) { a.IdleTimeout = d }
}

func wake(at time.Time) func(*lifecycle.Application) {
	return func(a *lifecycle.Application) { a.WakeAt = at }
}

func rerunAt(a *lifecycle.Application) { a.SpecHash += ".7"; a.Rerun.At = time.Unix(7, 0) }

func ready(attempt string) lifecycle.Driver {
	d := running(attempt)
	d.Ready, d.PodIP = true, "10.0.0.1"
	return d
}

var unasked = lifecycle.Sessions{Problem: "Spark's UI on port 4040 accepts no connections"}

func sessionsOf(open, executing int32, last time.Time) lifecycle.Sessions {
	return lifecycle.Sessions{Known: true, Open: open, Executing: executing, LastExecution: last}
}

// takesClients brings an attempt to a server that is ready, and stopped from there to none.
func takesClients(attempt string) []step {
	return []step{
		{says: "nothing holds it back", seen: absent},
		{says: "its container runs, and nobody listens yet", seen: running(attempt), sessions: unasked},
		{says: "its pod is ready", seen: ready(attempt), sessions: sessionsOf(0, 0, time.Time{})},
	}
}

func isStopped(attempt string) []step {
	return []step{
		{says: "stop it", after: 2 * time.Second, seen: ready(attempt)}, {says: "it is stopping", after: 2 * time.Second, seen: leaving(running(attempt))},
		{says: "it is gone", after: 2 * time.Second, seen: absent}, {says: "nothing new", after: 5 * time.Minute, seen: absent},
	}
}

func next(attempt string) []step {
	return []step{{says: "the name is free", after: 2 * time.Second, seen: absent}, {says: "the new server is ready", seen: ready(attempt)}}
}

// servers are what happens to drivers that take clients.
func servers() map[string]story {
	never := time.Time{}
	used := storyStart.Add(time.Minute)
	open := func(says string, after time.Duration) step {
		return step{says: says, after: after, seen: ready("1"), sessions: sessionsOf(1, 0, used)}
	}
	edited := open("the spec is edited while somebody uses it", time.Minute)
	edited.app = edit
	rolls := func(says string, change func(*lifecycle.Application), seen lifecycle.Driver, s lifecycle.Sessions) []step {
		return concat([]step{{says: says, seen: seen, sessions: s, app: change}, {says: "look again", after: 2 * time.Second, seen: ready("1")}, {says: "the old one has to go", after: 2 * time.Second, seen: ready("1")}, {says: "it is going", after: 2 * time.Second, seen: leaving(running("1"))}}, next("2"))
	}
	idle := []step{
		{says: "a query runs", after: 20 * time.Minute, seen: ready("1"), sessions: sessionsOf(1, 1, used)},
		{says: "it has ended", after: 3 * time.Minute, seen: ready("1"), sessions: sessionsOf(1, 0, storyStart.Add(22*time.Minute))},
		{says: "the half of an hour is not over", after: 28 * time.Minute, seen: ready("1"), sessions: sessionsOf(1, 0, storyStart.Add(22*time.Minute))},
		{says: "it is", after: 2 * time.Minute, seen: ready("1"), sessions: sessionsOf(1, 0, storyStart.Add(22*time.Minute))},
	}
	stopped := concat(takesClients("1"), idle, isStopped("1"))
	late := storyStart.Add(time.Hour)
	return map[string]story{
		"server-replaced":      {app: server, steps: concat(takesClients("1"), fail(exited("1", 1), 10*time.Second), next("2"))},
		"server-ends-well":     {app: server, steps: concat(takesClients("1"), fail(completed("1"), 10*time.Second), next("2"))},
		"server-not-ready":     {app: server, steps: concat(takesClients("1"), []step{{says: "its pod is not ready", seen: running("1")}, {says: "it is again", seen: ready("1")}, {says: "the API server does not say", seen: unknownDriver}})},
		"drain-ends":           {app: server, steps: concat(takesClients("1"), []step{edited, open("it still does", 0), {says: "nobody could be asked", seen: ready("1"), sessions: unasked}}, rolls("the sessions have ended", nil, ready("1"), sessionsOf(0, 0, used)))},
		"drain-over":           {app: server, steps: concat(takesClients("1"), []step{edited, open("it still does", 9*time.Minute)}, rolls("the drain is over", func(*lifecycle.Application) {}, ready("1"), sessionsOf(1, 1, used))[:1], []step{open("ten minutes", time.Minute)})},
		"drain-undone":         {app: server, steps: concat(takesClients("1"), []step{edited, {says: "the edit is undone", seen: ready("1"), sessions: sessionsOf(1, 0, used), app: func(a *lifecycle.Application) { a.Generation++; a.SpecHash = "spec-1" }}})},
		"drain-cut-short":      {app: server, steps: concat(takesClients("1"), []step{edited}, rolls("somebody asks for another run", rerunAt, ready("1"), sessionsOf(1, 0, used)))},
		"drain-suspended":      {app: server, steps: concat(takesClients("1"), []step{edited, {says: "suspend: true", seen: ready("1"), app: suspend}}, isStopped("1"))},
		"drain-of-nobody":      {app: server, steps: concat(takesClients("1")[:2], rolls("the spec is edited before anybody could connect", edit, running("1"), unasked))},
		"drain-and-crash":      {app: server, steps: concat(takesClients("1"), []step{edited, {says: "the server ends", seen: exited("1", 1)}, {says: "its successor is of the new spec", after: 2 * time.Second, seen: exited("1", 1)}})},
		"idle-and-woken":       {app: all(server, idleAfter(30*time.Minute)), steps: concat(stopped, []step{{says: "somebody wants it", seen: absent, app: wake(late)}}, next("2"), []step{{says: "that counts as use", after: 29 * time.Minute, seen: ready("2"), sessions: sessionsOf(0, 0, never)}})},
		"idle-and-edited":      {app: all(server, idleAfter(30*time.Minute)), steps: concat(stopped, []step{{says: "an edit wakes nobody", seen: absent, app: edit}, {says: "an old request neither", seen: absent, app: wake(used)}, {says: "a request to run again does", seen: absent, app: rerunAt}}, next("2"))},
		"idle-and-suspended":   {app: all(server, idleAfter(30*time.Minute)), steps: concat(stopped, []step{{says: "suspend: true", seen: absent, app: suspend}, {says: "suspend: false", seen: absent, app: unsuspend}}, next("2"))},
		"idle-woken-at-once":   {app: all(server, idleAfter(30*time.Minute)), steps: concat(takesClients("1"), idle, []step{isStopped("1")[0], {says: "somebody wants it while it is stopping", seen: leaving(running("1")), app: wake(late)}, {says: "it is gone", after: 2 * time.Second, seen: absent}, {says: "look again", after: 2 * time.Second, seen: absent}}, next("2"))},
		"idle-cannot-be-known": {app: all(server, idleAfter(30*time.Minute)), steps: concat(takesClients("1"), []step{{says: "its UI does not answer", after: time.Hour, seen: ready("1"), sessions: unasked}, {says: "it does", after: time.Minute, seen: ready("1"), sessions: sessionsOf(0, 0, never)}})},
		"idle-request-no-time": {app: all(server, idleAfter(30*time.Minute)), steps: concat(takesClients("1"), []step{{says: "somebody asks at no time", seen: ready("1"), sessions: sessionsOf(0, 0, never), app: func(a *lifecycle.Application) { a.WakeIgnored = "now" }}})},
		"idle-stopped-slowly":  {app: all(server, idleAfter(30*time.Minute)), steps: concat(takesClients("1"), idle, []step{isStopped("1")[0], {says: "it is stopping", seen: leaving(running("1"))}, {says: "its node does not answer", after: 5 * time.Minute, seen: leaving(running("1"))}})},
	}
}
