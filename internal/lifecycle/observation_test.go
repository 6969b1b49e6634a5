// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDriverIsOverdue(t *testing.T) {
	cases := map[string]struct {
		reason string
		driver Driver
		want   bool
	}{
		"Late":    {reason: "it should have gone", driver: Driver{Presence: Present, Deleting: true, GoneAt: later.Add(-lostGrace - 1)}, want: true},
		"Grace":   {reason: "a kubelet needs a few seconds", driver: Driver{Presence: Present, Deleting: true, GoneAt: later.Add(-lostGrace)}},
		"Stays":   {reason: "nobody deletes it", driver: Driver{Presence: Present, GoneAt: now.Add(-time.Hour)}},
		"NoTime":  {reason: "nothing says by when", driver: Driver{Presence: Present, Deleting: true}},
		"Unknown": {reason: "it may be gone", driver: Driver{Presence: Unknown, Deleting: true, GoneAt: now.Add(-time.Hour)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.driver.overdue(later); got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
}

func TestDriverIsUnclaimed(t *testing.T) {
	pending := func(change func(*Driver)) Driver {
		d := driver(Current, DriverPending)
		d.CreatedAt = later.Add(-claimGrace)
		change(&d)
		return d
	}
	cases := map[string]struct {
		reason string
		driver Driver
		want   bool
	}{
		"Waits":     {reason: "no scheduler has said anything in its time", driver: pending(func(*Driver) {}), want: true},
		"New":       {reason: "a scheduler may still come", driver: pending(func(d *Driver) { d.CreatedAt = d.CreatedAt.Add(1) })},
		"Explained": {reason: "a scheduler has said why", driver: pending(func(d *Driver) { d.Waiting.Reason = ReasonUnschedulable })},
		"Scheduled": {reason: "it has a node", driver: pending(func(d *Driver) { d.ScheduledAt = now })},
		"Runs":      {reason: "it runs", driver: pending(func(d *Driver) { d.Phase = DriverRunning })},
		"Unknown":   {reason: "nothing is known of it", driver: pending(func(d *Driver) { d.Presence = Unknown })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.driver.unclaimed(later); got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
}

// A driver that was started again is told with its first end.
func TestRestartSentences(t *testing.T) {
	const again = "the driver container was restarted in its pod, but a program must run only once"
	for want, exit := range map[string]Exit{
		again + "; it had ended with ExitCode: 0: Completed": {Reason: "Completed"},
		again + "; it had ended with ExitCode: 1: Error: no": {Code: 1, Reason: "Error", Message: "no"},
		again + "; its first exit is unknown":                {Code: -1, Reason: "NodeShutdown", Message: "bye"},
	} {
		if _, c := failureOf(testApp(), restarted(driver(Current, DriverRunning), exit)); c.Message != want {
			t.Errorf("%+v: %q, want %q", exit, c.Message, want)
		}
	}
}

// Details follow what identifies a wait; without any there is nothing to separate.
func TestWaitIsDetailed(t *testing.T) {
	of := func(message, details string) string {
		return Wait{Cause{ReasonImagePull, message}, details}.Detailed().Message
	}
	want := []string{"container x: Back-off", "container x", "Back-off", ""}
	if diff := cmp.Diff(want, []string{of("container x", "Back-off"), of("container x", ""), of("", "Back-off"), of("", "")}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
