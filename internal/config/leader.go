// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// LeaderElection lets several replicas stand by for each other. The defaults let a replica follow within half a second
// when the leader is stopped, and within five seconds when it dies.
type LeaderElection struct {
	Enabled bool `json:"enabled,omitempty"`
	// Name of the lease; spark-operator-controller-lock by default. Operators that share it stand by for each other, so
	// two that serve different namespaces from one namespace need two.
	Name string `json:"name,omitempty"`
	// Namespace of the lease; by default the one that the operator's pod runs in.
	Namespace string `json:"namespace,omitempty"`
	// LeaseDuration is how long the others wait for a leader that is silent; 4s by default. It is renewed four times as
	// often.
	LeaseDuration metav1.Duration `json:"leaseDuration,omitzero"`
	// RenewDeadline is how long a leader that cannot renew the lease goes on before it exits; 2.5s by default.
	RenewDeadline metav1.Duration `json:"renewDeadline,omitzero"`
	// RetryPeriod is how often a replica looks at the lease, 100ms by default; it does so in its own memory.
	RetryPeriod metav1.Duration `json:"retryPeriod,omitzero"`
}

const (
	minLease       = 2 * time.Second
	minRetry       = 10 * time.Millisecond
	renewalsALease = 4
)

func defaultLeaderElection() LeaderElection {
	return LeaderElection{
		Name:          "spark-operator-controller-lock",
		LeaseDuration: metav1.Duration{Duration: 4 * time.Second},
		RenewDeadline: metav1.Duration{Duration: 2500 * time.Millisecond},
		RetryPeriod:   metav1.Duration{Duration: 100 * time.Millisecond},
	}
}

// RenewPeriod is the time between two renewals of the lease.
func (l LeaderElection) RenewPeriod() time.Duration { return l.LeaseDuration.Duration / renewalsALease }

func (l LeaderElection) validate() error {
	if problems := validation.IsDNS1123Subdomain(l.Name); len(problems) > 0 {
		return fmt.Errorf("leaderElection.name: %q: must be the name of a Lease: %s", l.Name, problems[0])
	}
	lease, deadline, retry := l.LeaseDuration.Duration, l.RenewDeadline.Duration, l.RetryPeriod.Duration
	if lease < minLease || lease%time.Second != 0 {
		return fmt.Errorf("leaderElection.leaseDuration: %s: must be whole seconds, at least %s: a Lease holds no parts of a second", lease, minLease)
	}
	if longest := l.RenewPeriod() / 2; retry < minRetry || retry > longest {
		return fmt.Errorf("leaderElection.retryPeriod: %s: must be between %s and %s, an eighth of leaseDuration", retry, minRetry, longest)
	}
	// A leader believes in a renewal that may be one renewal period old, then tries until the deadline, and notices a
	// retry period later: it has to have stopped before the others follow.
	if longest := lease - l.RenewPeriod() - retry; deadline <= 2*retry || deadline > longest {
		return fmt.Errorf("leaderElection.renewDeadline: %s: must be more than twice retryPeriod (%s) and at most %s: three quarters of leaseDuration, less retryPeriod", deadline, retry, longest)
	}
	return nil
}
