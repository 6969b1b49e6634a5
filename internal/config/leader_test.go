// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func seconds(n float64) metav1.Duration {
	return metav1.Duration{Duration: time.Duration(n * float64(time.Second))}
}

// lock is the lease of operators whose configuration names none: their roles name it.
const lock = "spark-operator-controller-lock"

func TestLeaderElection(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   LeaderElection
		renew  time.Duration
	}{
		"Defaults": {
			reason: "what is not said keeps its default", text: "{enabled: true}", renew: time.Second,
			want: LeaderElection{Enabled: true, Name: lock, LeaseDuration: seconds(4), RenewDeadline: seconds(2.5), RetryPeriod: seconds(0.1)},
		},
		"Calm": {
			reason: "a large cluster may take its time", text: "{leaseDuration: 1m, renewDeadline: 40s, retryPeriod: 1s}", renew: 15 * time.Second,
			want: LeaderElection{Name: lock, LeaseDuration: seconds(60), RenewDeadline: seconds(40), RetryPeriod: seconds(1)},
		},
		"Shortest": {
			reason: "as short as it goes", text: "{leaseDuration: 2s, renewDeadline: 1400ms, retryPeriod: 100ms}", renew: 500 * time.Millisecond,
			want: LeaderElection{Name: lock, LeaseDuration: seconds(2), RenewDeadline: seconds(1.4), RetryPeriod: seconds(0.1)},
		},
		"Named": {
			reason: "another release in the same namespace", text: "{name: beta-spark-operator-controller-lock}", renew: time.Second,
			want: LeaderElection{Name: "beta-spark-operator-controller-lock", LeaseDuration: seconds(4), RenewDeadline: seconds(2.5), RetryPeriod: seconds(0.1)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(head + "leaderElection: " + tc.text))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, c.LeaderElection); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got := c.LeaderElection.RenewPeriod(); got != tc.renew {
				t.Errorf("%s: renewed every %s, want %s", tc.reason, got, tc.renew)
			}
		})
	}
}

func TestLeaderElectionErrors(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		says   []string
	}{
		"NoDuration":   {reason: "a number has no unit", text: "{leaseDuration: 4}", says: []string{"leaderElection.leaseDuration"}},
		"Parts":        {reason: "a Lease would hold 4 s only", text: "{leaseDuration: 4500ms}", says: []string{"leaderElection.leaseDuration: 4.5s", "whole seconds"}},
		"Short":        {reason: "it could hardly be renewed", text: "{leaseDuration: 1s}", says: []string{"leaseDuration: 1s", "at least 2s"}},
		"Late":         {reason: "two would lead", text: "{leaseDuration: 4s, renewDeadline: 3s}", says: []string{"leaderElection.renewDeadline: 3s", "at most 2.9s"}},
		"OneTry":       {reason: "one slow request would end it", text: "{renewDeadline: 200ms}", says: []string{"renewDeadline: 200ms", "more than twice retryPeriod (100ms)"}},
		"ShorterLease": {reason: "the deadline has to follow", text: "{leaseDuration: 3s}", says: []string{"renewDeadline: 2.5s", "at most 2.15s"}},
		"NoRetry":      {reason: "it would spin", text: "{retryPeriod: 0s}", says: []string{"leaderElection.retryPeriod: 0s", "between 10ms and 500ms"}},
		"RareRetry":    {reason: "it would renew late", text: "{retryPeriod: 1s}", says: []string{"retryPeriod: 1s", "between 10ms and 500ms"}},
		"Nameless":     {reason: "the default is there by leaving the field out", text: `{name: ""}`, says: []string{`leaderElection.name: ""`}},
		"NoName":       {reason: "no Lease can be called that", text: "{name: My_Lock}", says: []string{`leaderElection.name: "My_Lock"`, "lowercase"}},
		"Negative":     {reason: "no time is negative", text: "{leaseDuration: -4s}", says: []string{"leaseDuration: -4s"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(head + "leaderElection: " + tc.text))
			if err == nil {
				t.Fatalf("%s: accepted: %+v", tc.reason, c.LeaderElection)
			}
			for _, text := range tc.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: the error does not say %q: %v", tc.reason, text, err)
				}
			}
		})
	}
}
