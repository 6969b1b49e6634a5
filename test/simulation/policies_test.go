// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// drawPolicy draws when the application runs again.
func (h *history) drawPolicy() v1beta2.RestartPolicy {
	p := v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyNever}
	switch n := h.rng.IntN(8); {
	case n < 3:
		return p
	case n < 7:
		p.Type = v1beta2.RestartPolicyOnFailure
		p.OnFailureRetries, p.OnSubmissionFailureRetries = h.few(), h.few()
	default:
		p.Type = v1beta2.RestartPolicyAlways
	}
	p.OnFailureRetryInterval, p.OnSubmissionFailureRetryInterval = new(int64(5)), new(int64(5))
	if h.rng.IntN(3) == 0 {
		p.Infrastructure = h.drawRule()
	}
	if h.rng.IntN(6) == 0 {
		p.Submission = h.drawRule()
	}
	if h.rng.IntN(6) == 0 {
		p.OutOfMemory = &v1beta2.OutOfMemoryRule{RetryRule: *h.drawRule(), MemoryFactor: new("1.5"), MaxMemory: new("2g")}
	}
	if h.rng.IntN(6) == 0 {
		p.Application = &v1beta2.ApplicationRule{RetryRule: *h.drawRule(), FailExitCodes: []int32{2}}
	}
	return p
}

func (h *history) few() *int32 { return new(int32(h.rng.IntN(3))) }

func (h *history) drawRule() *v1beta2.RetryRule {
	return &v1beta2.RetryRule{Retries: *h.few(), Backoff: &v1beta2.Backoff{Initial: duration(3 * time.Second), Max: duration(20 * time.Second)}}
}

// drawDeadlines draws bounds, for one application in six.
func (h *history) drawDeadlines() *v1beta2.Deadlines {
	if h.rng.IntN(6) > 0 {
		return nil
	}
	var d v1beta2.Deadlines
	for _, limit := range []**metav1.Duration{&d.Queued, &d.DriverScheduled, &d.DriverReady, &d.FirstExecutors, &d.Run} {
		if h.rng.IntN(3) == 0 {
			*limit = duration(seconds(int64(20 + h.rng.IntN(60))))
		}
	}
	return &d
}

// drawRetention draws what is kept how long, for one application in six.
func (h *history) drawRetention() *v1beta2.Retention {
	if h.rng.IntN(6) > 0 {
		return nil
	}
	return &v1beta2.Retention{OnSuccess: h.drawKeep(), OnFailure: h.drawKeep()}
}

func (h *history) drawKeep() *v1beta2.RetentionTimes {
	var k v1beta2.RetentionTimes
	for _, limit := range []**metav1.Duration{&k.DriverPod, &k.Resources, &k.Application} {
		if h.rng.IntN(3) == 0 {
			*limit = duration(seconds(int64(h.rng.IntN(60))))
		}
	}
	return &k
}

// keeps are the times that hold for a finished application.
func keeps(app *v1beta2.SparkApplication) v1beta2.RetentionTimes {
	var k v1beta2.RetentionTimes
	if r := app.Spec.Retention; r != nil {
		chosen := r.OnFailure
		if app.Status.AppState.State == v1beta2.ApplicationStateCompleted {
			chosen = r.OnSuccess
		}
		if chosen != nil {
			k = *chosen
		}
	}
	if ttl := app.Spec.TimeToLiveSeconds; k.Application == nil && ttl != nil {
		k.Application = duration(seconds(*ttl))
	}
	return k
}
