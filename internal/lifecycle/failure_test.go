// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func TestFailureOf(t *testing.T) {
	exited := func(code int32, reason string) Driver {
		d := driver(Current, DriverFailed)
		d.Exit = Exit{Code: code, Reason: reason}
		return d
	}
	disrupted := func(d Driver, reason Reason) Driver {
		d.Disruption = Cause{reason, "the cluster's words"}
		return d
	}
	cases := map[string]struct {
		reason string
		driver Driver
		class  FailureClass
		cause  Reason
	}{
		"Exit":          {reason: "the application's own fault", driver: exited(1, "Error"), class: ApplicationExit, cause: ReasonDriverFailed},
		"OOM":           {reason: "more memory may help", driver: exited(137, "OOMKilled"), class: OutOfMemory, cause: ReasonDriverOutOfMemory},
		"Killed":        {reason: "137 alone is any SIGKILL", driver: exited(137, "Error"), class: ApplicationExit, cause: ReasonDriverFailed},
		"Evicted":       {reason: "the node's fault, whatever the container said while it was stopped", driver: disrupted(exited(143, "Error"), "TerminationByKubelet"), class: Infrastructure, cause: ReasonDriverEvicted},
		"Preempted":     {reason: "another pod's fault", driver: disrupted(exited(-1, ""), "PreemptionByScheduler"), class: Infrastructure, cause: ReasonDriverEvicted},
		"EvictedByOOM":  {reason: "the node was out of memory, not the container", driver: disrupted(exited(137, "OOMKilled"), "TerminationByKubelet"), class: Infrastructure, cause: ReasonDriverEvicted},
		"NoStatus":      {reason: "a pod that failed without a word of its container", driver: exited(-1, "NodeShutdown"), class: Infrastructure, cause: ReasonDriverEvicted},
		"DeletedByHand": {reason: "a user stopped it", driver: deleting(exited(143, "Error")), class: Infrastructure, cause: ReasonDriverNotFound},
		"DeletedOOM":    {reason: "it had run out of memory before", driver: deleting(exited(137, "OOMKilled")), class: OutOfMemory, cause: ReasonDriverOutOfMemory},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			class, cause := failureOf(tc.driver)
			if class != tc.class || cause.Reason != tc.cause || cause.Message == "" {
				t.Errorf("%s: %s %+v, want %s %s", tc.reason, class, cause, tc.class, tc.cause)
			}
			a := Decide(testApp(), ran(Running), Observation{Driver: tc.driver}, scheduler.Admission{}, Env{Now: later}).Record.Current()
			if code := tc.driver.Exit.Code; (a.ExitCode != nil) != (code >= 0) || a.ExitCode != nil && *a.ExitCode != code {
				t.Errorf("%s: exit code %v in the history", tc.reason, a.ExitCode)
			}
		})
	}
}

// The kubelet says the same in the pod's status and as the reason of its end: people read it once.
func TestEvictionIsToldOnce(t *testing.T) {
	d := driver(Current, DriverFailed)
	d.Exit = Exit{Code: -1, Reason: "Evicted", Message: "low on memory"}
	d.Disruption = Cause{"Evicted", "low on memory"}
	if _, c := failureOf(d); strings.Count(c.Message, "low on memory") != 1 {
		t.Errorf("message %q", c.Message)
	}
}
