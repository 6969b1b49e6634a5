// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"testing"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// gang places pods with placeholders for the driver and for all executors.
type gang struct{ placement }

func (gang) Placeholders(a scheduler.Attempt) []scheduler.Placeholder {
	return []scheduler.Placeholder{
		{Role: spark.RoleDriver, PodResources: limited(a.PodSets.Driver), Count: 1},
		{Role: spark.RoleExecutor, PodResources: limited(a.PodSets.Executor), Count: a.PodSets.Initial},
	}
}

func limited(p spark.PodResources) spark.PodResources {
	return spark.PodResources{Requests: p.Requests, Limits: p.Requests}
}

// A scheduler's placeholders exist beside the pods that replace them, and the API server counts both.
func TestPlaceholders(t *testing.T) {
	const beside = "ResourceQuota compute of namespace team-a is too small for the placeholder pods of the scheduler together with the pods that replace them: requests.cpu asked 13, limit 10; pods are refused until the placeholders are gone"
	promised := func(p scheduler.Progress) func(*scheduler.Attempt) {
		return func(a *scheduler.Attempt) {
			r := other("team-a", p)
			r.Placeholders = gang{}.Placeholders(*a)
			a.Quota.Others = []scheduler.Reservation{r}
		}
	}
	cases := map[string]struct {
		reason           string
		change           func(*scheduler.Attempt)
		hard, used, more string
		verdict          scheduler.Verdict
		message          string
	}{
		"Room":   {reason: "driver, 3 executors, 3 placeholders of executors", hard: "{requests.cpu: 13, pods: 7}", used: "{}", verdict: scheduler.Admit},
		"Full":   {reason: "the executors would be refused beside their placeholders", hard: "{requests.cpu: 20}", used: "{requests.cpu: 8}", verdict: scheduler.Wait, message: "waiting for quota in namespace team-a: requests.cpu asked 13, free 12 of 20 (ResourceQuota compute, with placeholder pods)"},
		"Pods":   {reason: "placeholders are pods", hard: "{pods: 10}", used: "{pods: 4}", verdict: scheduler.Wait, message: "waiting for quota in namespace team-a: pods asked 7, free 6 of 10 (ResourceQuota compute, with placeholder pods)"},
		"Limits": {reason: "their limits count, too", hard: "{limits.memory: 26Gi}", used: "{limits.memory: 1Gi}", verdict: scheduler.Wait, message: "waiting for quota in namespace team-a: limits.memory asked 26Gi, free 25Gi of 26Gi (ResourceQuota compute, with placeholder pods)"},
		"Beside": {reason: "it runs, late: its own pods fit", hard: "{requests.cpu: 10}", used: "{}", verdict: scheduler.Admit, message: beside},
		"Own":    {reason: "its own pods must fit, for nothing more can", hard: "{requests.cpu: 10}", used: "{requests.cpu: 4}", verdict: scheduler.Wait, message: "waiting for quota in namespace team-a: requests.cpu asked 7, free 6 of 10 (ResourceQuota compute)"},
		"TooBig": {reason: "its own pods never fit", hard: "{requests.cpu: 6}", used: "{}", verdict: scheduler.Reject, message: "the request exceeds ResourceQuota compute of namespace team-a: requests.cpu asked 7, limit 6"},
		"Driver": {reason: "the driver's placeholder is more than those of all executors", change: func(a *scheduler.Attempt) {
			a.PodSets.Driver, a.PodSets.Initial = schedulertest.PodResources("9", "2Gi"), 1
			a.Placeholders = gang{}.Placeholders(*a)
		}, hard: "{requests.cpu: 20}", used: "{requests.cpu: 1}", verdict: scheduler.Wait, message: "waiting for quota in namespace team-a: requests.cpu asked 20, free 19 of 20 (ResourceQuota compute, with placeholder pods)"},
		"Class": {reason: "placeholders have a class of their own", change: func(a *scheduler.Attempt) {
			a.Placeholders[1].PriorityClass = "low"
		}, hard: "{requests.cpu: 6}", used: "{requests.cpu: 1}", more: ", scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [low]}]}", verdict: scheduler.Wait, message: "waiting for quota in namespace team-a: requests.cpu asked 6, free 5 of 6 (ResourceQuota compute, with placeholder pods)"},
		"Promised": {reason: "those of others are still to come", change: promised(scheduler.Progress{}), hard: "{requests.cpu: 20}", used: "{}", verdict: scheduler.Wait, message: "waiting for quota in namespace team-a: requests.cpu asked 13, free 20 of 20, reserved 13 for others (ResourceQuota compute, with placeholder pods)"},
		"Created":  {reason: "those of others exist, the quota counts them", change: promised(scheduler.Progress{DriverCreated: true}), hard: "{requests.cpu: 26}", used: "{requests.cpu: 8}", verdict: scheduler.Wait, message: "waiting for quota in namespace team-a: requests.cpu asked 13, free 18 of 26, reserved 6 for others (ResourceQuota compute, with placeholder pods)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			a.Placeholders = gang{}.Placeholders(a)
			if tc.change != nil {
				tc.change(&a)
			}
			got, err := scheduler.AdmitAttempt(New("Enforce", nil), a, snapshot(objects{resourceQuota(t, "compute", tc.hard, tc.used, tc.more)}, nil, nil))
			if err != nil || got.Verdict != tc.verdict || got.Message+got.Warning != tc.message {
				t.Errorf("%s: %+v, %v; want %s and %q", tc.reason, got, err, tc.verdict, tc.message)
			}
		})
	}
}

// Two applications with gangs and room for the pods of both, but not for their placeholders, too: one after the other.
func TestStoryOfPlaceholders(t *testing.T) {
	c := schedulertest.NewCluster(t, scheduler.Chain(New("Enforce", nil), gang{}), resourceQuota(t, "compute", "{requests.cpu: 20}", "{requests.cpu: 0}", ""))
	first, second := named(1), named(2)
	want := func(step string, a scheduler.Attempt, reason scheduler.Reason) {
		t.Helper()
		if got := c.Admit(a); got.Reason != reason {
			t.Errorf("%s: %s: %+v, want %s", step, a.ID, got, reason)
		}
	}
	want("7 of its own and 6 of placeholders", first, scheduler.ReasonAdmitted)
	want("13 of 20 are reserved", second, scheduler.ReasonWaitingForQuota)
	c.Status(quotaRef, "8", "used", "requests.cpu") // two drivers' room, and 6 of placeholders, of which one was replaced
	c.Observe(first, pods(0))
	c.Pass(4e9)
	want("executors are to come beside their placeholders", second, scheduler.ReasonWaitingForQuota)
	c.Status(quotaRef, "7", "used", "requests.cpu")
	c.Observe(first, pods(3))
	c.Pass(4e9)
	want("all placeholders are replaced", second, scheduler.ReasonAdmitted)
}
