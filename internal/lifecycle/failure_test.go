// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
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
		"Zero":          {reason: "a pod may fail although its container did not", driver: exited(0, "Completed"), class: ApplicationExit, cause: ReasonDriverFailed},
		"OOM":           {reason: "more memory may help", driver: exited(137, "OOMKilled"), class: OutOfMemory, cause: ReasonDriverOutOfMemory},
		"Killed":        {reason: "137 alone is any SIGKILL", driver: exited(137, "Error"), class: ApplicationExit, cause: ReasonDriverFailed},
		"Evicted":       {reason: "the node's fault, whatever the container said while it was stopped", driver: disrupted(exited(143, "Error"), "TerminationByKubelet"), class: Infrastructure, cause: ReasonDriverEvicted},
		"Preempted":     {reason: "another pod's fault", driver: disrupted(exited(-1, ""), "PreemptionByScheduler"), class: Infrastructure, cause: ReasonDriverEvicted},
		"EvictedByOOM":  {reason: "the node was out of memory, not the container", driver: disrupted(exited(137, "OOMKilled"), "TerminationByKubelet"), class: Infrastructure, cause: ReasonDriverEvicted},
		"NoStatus":      {reason: "a pod that failed without a word of its container", driver: exited(-1, "NodeShutdown"), class: Infrastructure, cause: ReasonDriverEvicted},
		"DeletedByHand": {reason: "a user stopped it", driver: deleting(exited(143, "Error")), class: Infrastructure, cause: ReasonDriverNotFound},
		"Restarted":     {reason: "its first end is the application's", driver: restarted(driver(Current, DriverRunning), Exit{Code: 1, Reason: "Error"}), class: ApplicationExit, cause: ReasonDriverRestarted},
		"RestartedOK":   {reason: "the program ran twice", driver: restarted(driver(Current, DriverRunning), Exit{Reason: "Completed"}), class: ApplicationExit, cause: ReasonDriverRestarted},
		"RestartedLost": {reason: "the kubelet has forgotten its first end", driver: restarted(driver(Current, DriverPending), Exit{Code: -1}), class: ApplicationExit, cause: ReasonDriverRestarted},
		"RestartedOOM":  {reason: "more memory may help", driver: restarted(driver(Current, DriverRunning), Exit{Code: 137, Reason: "OOMKilled"}), class: OutOfMemory, cause: ReasonDriverOutOfMemory},
		"RestartGoes":   {reason: "a user who deletes it then does not undo its end", driver: deleting(restarted(driver(Current, DriverRunning), Exit{Code: 1})), class: ApplicationExit, cause: ReasonDriverRestarted},
		"DeletedOOM":    {reason: "it had run out of memory before", driver: deleting(exited(137, "OOMKilled")), class: OutOfMemory, cause: ReasonDriverOutOfMemory},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			class, cause := failureOf(testApp(), tc.driver)
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

// The sentence of Kubeflow's operator comes first; what led to the end follows where it is known, and only for what the
// application itself did.
func TestFailureHasItsCause(t *testing.T) {
	const log = "Exception in thread \"main\" a.B: b\n\tat x\n"
	exited := func(code int32, reason, log string, limit int64) Driver {
		d := driver(Current, DriverFailed)
		d.Exit, d.LogTail, d.MemoryLimit = Exit{Code: code, Reason: reason}, log, limit
		return d
	}
	evicted := exited(1, "Error", log, 896<<20)
	evicted.Disruption = Cause{"TerminationByKubelet", "the cluster's words"}
	cases := map[string]struct {
		reason string
		driver Driver
		want   string
	}{
		"Log":       {reason: "the line of the log", driver: exited(1, "Error", log, 896<<20), want: "driver container failed with ExitCode: 1, Reason: Error, Cause: a.B: b"},
		"NoLog":     {reason: "logs may not be read", driver: exited(1, "Error", "", 896<<20), want: "driver container failed with ExitCode: 1, Reason: Error"},
		"Silent":    {reason: "a log may say nothing of it", driver: exited(3, "Error", "done\n", 0), want: "driver container failed with ExitCode: 3, Reason: Error"},
		"OOM":       {reason: "the sizes, and not what was logged before", driver: exited(137, "OOMKilled", log, 896<<20), want: "driver container failed with ExitCode: 137, Reason: OOMKilled, Cause: it used more memory than its limit of 896Mi (heap 512Mi, overhead 384Mi)"},
		"Elsewhere": {reason: "the limit may have been set by others", driver: exited(137, "OOMKilled", log, 2<<30), want: "driver container failed with ExitCode: 137, Reason: OOMKilled, Cause: it used more memory than its limit of 2Gi"},
		"Unlimited": {reason: "a pod of another operator", driver: exited(137, "OOMKilled", log, 0), want: "driver container failed with ExitCode: 137, Reason: OOMKilled"},
		"Evicted":   {reason: "the cluster did it", driver: evicted, want: "driver container failed with ExitCode: 1, Reason: Error: TerminationByKubelet: the cluster's words"},
		"Stopped":   {reason: "a user did it", driver: deleting(exited(143, "Error", log, 0)), want: "driver container failed with ExitCode: 143, Reason: Error; the driver pod was being deleted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := testApp()
			app.Model = &spark.Application{SparkVersion: "4.1.0", Conf: map[string]string{spark.ConfDriverMemory: "512m"}}
			p := Decide(app, ran(Running), Observation{Driver: tc.driver}, scheduler.Admission{}, Env{Now: later})
			o := Settle(p, nil, Env{Now: later})
			if got := o.Record.Cause.Message; got != tc.want {
				t.Errorf("%s:\n got %s\nwant %s", tc.reason, got, tc.want)
			}
			for _, c := range o.Conditions {
				if c.Type == ConditionSucceeded && c.Message != tc.want {
					t.Errorf("%s: condition %s: %s", tc.reason, c.Type, c.Message)
				}
			}
			if all := Events("SparkApplication", "pi", p.Before, o.Record); len(all) != 1 || !strings.HasSuffix(all[0].Message, tc.want) {
				t.Errorf("%s: events %+v", tc.reason, all)
			}
		})
	}
}

// The kubelet says the same in the pod's status and as the reason of its end: people read it once.
func TestEvictionIsToldOnce(t *testing.T) {
	d := driver(Current, DriverFailed)
	d.Exit = Exit{Code: -1, Reason: "Evicted", Message: "low on memory"}
	d.Disruption = Cause{"Evicted", "low on memory"}
	if class, c := failureOf(testApp(), d); strings.Count(c.Message, "low on memory") != 1 || class != Infrastructure {
		t.Errorf("%s, message %q", class, c.Message)
	}
}

// What the memory was made up of is not always told; how much there was is.
func TestMemoryWithoutAModel(t *testing.T) {
	d := driver(Current, DriverFailed)
	d.Exit, d.MemoryLimit = Exit{Code: 137, Reason: "OOMKilled"}, 896<<20
	const want = "driver container failed with ExitCode: 137, Reason: OOMKilled, Cause: it used more memory than its limit of 896Mi"
	if _, c := failureOf(testApp(), d); c.Message != want {
		t.Errorf("%q, want %q", c.Message, want)
	}
}
