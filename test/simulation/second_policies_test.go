// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"k8s.io/utils/ptr"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

var restartPolicies = []sparkv1.RestartPolicy{sparkv1.RestartNever, sparkv1.RestartAlways, sparkv1.RestartOnFailure, sparkv1.RestartOnInfrastructureFailure}

// drawRestart draws when an application of the second family runs again.
func (h *history) drawRestart() *sparkv1.RestartConfig {
	return &sparkv1.RestartConfig{
		RestartPolicy: restartPolicies[h.rng.IntN(len(restartPolicies))], MaxRestartAttempts: new(h.rng.Int64N(3)), RestartBackoffMillis: new(h.rng.Int64N(20_000)),
	}
}

func (h *history) drawInstances() *sparkv1.InstanceConfig {
	return &sparkv1.InstanceConfig{InitExecutors: h.rng.Int32N(3), MinExecutors: h.rng.Int32N(3), MaxExecutors: 2}
}

func (h *history) drawTimeouts() *sparkv1.ApplicationTimeoutConfig {
	return &sparkv1.ApplicationTimeoutConfig{ForceTerminationGracePeriodMillis: new(h.rng.Int64N(60_000))}
}

// drawRetainPolicy draws what is kept after the end, and for how long.
func (h *history) drawRetainPolicy(t *sparkv1.ApplicationTolerations) {
	t.ResourceRetainPolicy, t.ResourceRetainDurationMillis = sparkv1.RetainAlways, new(h.rng.Int64N(3)*5_000-1)
}

// restartsOf is how many restarts a policy allows.
func restartsOf(t *sparkv1.ApplicationTolerations) int {
	if t.RestartConfig.RestartPolicy == sparkv1.RestartNever {
		return 0
	}
	return int(*t.RestartConfig.MaxRestartAttempts)
}

// isProbe reports whether an application is a health probe: it was labeled before anything was told of it.
func isProbe(o *sparkv1.SparkApplication) bool {
	return o.Labels[sparkv1.LabelSentinel] == "true" && o.Status.CurrentState == nil && o.Status.Details == nil
}

// waits reports whether the application waits for its user, and says so.
func (s *second) waits(o *sparkv1.SparkApplication) bool {
	reason, names := waitsFor(askedBySecond(&o.Spec))
	return reason != "" && !o.Spec.Suspend && !secondOver(o) && sayWhy(o.Status.Conditions, reason, names)
}

// decided judges that what follows an attempt is what the policy of the last spec says: statuses are written only over the version that was
// decided from.
func (s *second) decided(by *operator, before, after *sparkv1.SparkApplication) {
	was, is := apache.FromStatus(before), apache.FromStatus(after)
	s.apps[after.UID].stands.learn(was, is, by.decidesSecond)
	class := lifecycle.FailureClass("")
	switch a := was.Current(); {
	case was.State == lifecycle.SubmissionFailed:
		class = lifecycle.Submission
	case was.State != lifecycle.Failing && was.State != lifecycle.Succeeding:
		return
	case a != nil:
		class = a.Class
	}
	if class == lifecycle.Evicted || class == "" && was.State != lifecycle.Succeeding {
		return // a rule of its own
	}
	c := by.decidesSecond.Spec.ApplicationTolerations.RestartConfig
	again := runsAgain(c.RestartPolicy, class) && was.Retries.Counters.Restarts < ptr.Deref(c.MaxRestartAttempts, 0)
	switch {
	case is.State.Final() && again:
		s.h.fail("the second ends after %q and %d restarts, but its policy is %s, %d times", class, was.Retries.Counters.Restarts, c.RestartPolicy, *c.MaxRestartAttempts)
	case is.State == lifecycle.Rerunning && !again:
		s.h.fail("the second runs again after %q and %d restarts, but its policy is %s, %d times", class, was.Retries.Counters.Restarts, c.RestartPolicy, *c.MaxRestartAttempts)
	}
}

// runsAgain reports whether a policy lets an attempt follow one that has failed so, or has succeeded ("").
func runsAgain(policy sparkv1.RestartPolicy, class lifecycle.FailureClass) bool {
	switch policy {
	case sparkv1.RestartAlways:
		return true
	case sparkv1.RestartOnFailure:
		return class != ""
	case sparkv1.RestartOnInfrastructureFailure:
		return class == lifecycle.StartTimeout || class == lifecycle.Submission
	case sparkv1.RestartNever:
	}
	return false
}
