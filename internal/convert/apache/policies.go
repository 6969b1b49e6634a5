// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"strings"
	"time"

	"k8s.io/utils/ptr"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Defaults of Apache's operator.
const (
	defaultRestarts = 3
	defaultBackoff  = 30 * time.Second
	defaultTimeout  = 5 * time.Minute
	century         = 100 * 365 * 24 * time.Hour
)

// Limits for drivers that a batch scheduler evicts. Apache's operator has no such rule.
const (
	evictions         = 3
	evictionBackoff   = 10 * time.Second
	longestEvictionBy = 10 * time.Minute
)

// millis converts milliseconds to a duration, without overflow: a huge number must not become 0.
func millis(n int64) time.Duration {
	return time.Duration(min(max(0, n), int64(century/time.Millisecond))) * time.Millisecond
}

// positive converts an optional number of milliseconds; nil for a negative number.
func positive(n *int64) *time.Duration {
	if n == nil || *n < 0 {
		return nil
	}
	return ptr.To(millis(*n))
}

// anyMillis converts an optional number of milliseconds.
func anyMillis(n *int64) *time.Duration {
	if n == nil {
		return nil
	}
	return ptr.To(millis(*n))
}

func tolerations(s *v1.SparkApplicationSpec) v1.ApplicationTolerations {
	return ptr.Deref(s.ApplicationTolerations, v1.ApplicationTolerations{})
}

func policies(s *v1.SparkApplicationSpec) lifecycle.Policies {
	return lifecycle.Policies{Restart: restart(s), Retention: retention(s)}
}

// failures are all classes of failures; infrastructure are the classes that OnInfrastructureFailure restarts.
var (
	failures = []lifecycle.FailureClass{
		lifecycle.Infrastructure, lifecycle.OutOfMemory, lifecycle.ApplicationExit, lifecycle.Deadline, lifecycle.StartTimeout, lifecycle.Submission,
	}
	infrastructure = []lifecycle.FailureClass{lifecycle.StartTimeout, lifecycle.Submission}
)

func restart(s *v1.SparkApplicationSpec) lifecycle.Restart {
	c := ptr.Deref(tolerations(s).RestartConfig, v1.RestartConfig{})
	counted := &lifecycle.Counted{
		Restarts: ptr.Deref(c.MaxRestartAttempts, defaultRestarts), Failures: c.MaxRestartOnFailure, Submissions: c.MaxRestartOnSchedulingFailure,
		Wait:        ptr.Deref(anyMillis(c.RestartBackoffMillis), defaultBackoff),
		FailureWait: anyMillis(c.RestartBackoffMillisForFailure), SubmissionWait: anyMillis(c.RestartBackoffMillisForSchedulingFailure),
		ResetAfter: positive(c.RestartCounterResetMillis),
	}
	out := lifecycle.Restart{
		Type: lifecycle.OnFailure, Counted: counted,
		Evictions: lifecycle.RetryPolicy{Retries: evictions, Initial: evictionBackoff, Max: longestEvictionBy},
	}
	switch restartPolicy(s) {
	case v1.RestartAlways:
		out.Type, counted.Success, counted.After = lifecycle.Always, true, failures
	case v1.RestartOnFailure:
		counted.After = failures
	case v1.RestartOnInfrastructureFailure:
		counted.After = infrastructure
	case v1.RestartNever:
		out.Type = lifecycle.Never
	}
	return out
}

// retains reports whether the driver pod and its objects are kept after an end. They are not kept if the application may restart.
func retains(s *v1.SparkApplicationSpec, failed bool) bool {
	if restartPolicy(s) != v1.RestartNever {
		return false
	}
	policy := tolerations(s).ResourceRetainPolicy
	return policy == v1.RetainAlways || policy == v1.RetainOnFailure && failed
}

func retention(s *v1.SparkApplicationSpec) lifecycle.Retention {
	keep := func(failed bool) lifecycle.TTLs {
		ttls := lifecycle.TTLs{Application: positive(tolerations(s).TTLAfterStopMillis), DriverPod: new(time.Duration)}
		if retains(s, failed) {
			ttls.DriverPod = positive(tolerations(s).ResourceRetainDurationMillis)
		}
		return ttls
	}
	return lifecycle.Retention{OnSuccess: keep(false), OnFailure: keep(true)}
}

// tracking returns the thresholds and timeouts. A timeout of 0 means none.
func tracking(s *v1.SparkApplicationSpec) *lifecycle.Tracking {
	timeouts := ptr.Deref(tolerations(s).ApplicationTimeoutConfig, v1.ApplicationTimeoutConfig{})
	instances := ptr.Deref(tolerations(s).InstanceConfig, v1.InstanceConfig{})
	bound := func(n *int64) time.Duration { return ptr.Deref(anyMillis(n), defaultTimeout) }
	return &lifecycle.Tracking{
		Initial: instances.InitExecutors, Min: instances.MinExecutors, Max: instances.MaxExecutors,
		Elastic: strings.EqualFold(s.SparkConf[spark.ConfDynamicAllocation], "true"),
		Start:   bound(timeouts.DriverStartTimeoutMillis), Ready: bound(timeouts.DriverReadyTimeoutMillis),
		Executors: bound(timeouts.ExecutorStartTimeoutMillis),
	}
}
