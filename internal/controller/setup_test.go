// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	apachev1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller/cluster"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/operator"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// The configuration says whether a new attempt begins a new history of states.
func TestKeepStateHistory(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		keep   bool
		want   int
	}{
		"Default": {reason: "the states of an attempt that is over move to the previous one", want: 1},
		"Keep":    {reason: "all states are in one history", keep: true, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			c := config.OperatorConfiguration{Apache: config.Apache{Enabled: true, KeepStateHistory: tc.keep}}
			var found resolve.Kind[*apachev1.SparkApplication]
			var clusters cluster.Kind[*apachev1.SparkCluster]
			for _, k := range kinds(c, operator.Periods{}, nil) {
				if kind, ok := k.(resolve.Kind[*apachev1.SparkApplication]); ok {
					found = kind
				}
				if kind, ok := k.(cluster.Kind[*apachev1.SparkCluster]); ok {
					clusters = kind
				}
			}
			if found == nil || clusters == nil {
				t.Fatal("there is no such kind")
			}
			failed := apachev1.ApplicationState{CurrentStateSummary: apachev1.StateFailed}
			o := &apachev1.SparkApplication{Status: apachev1.SparkApplicationStatus{
				CurrentState: &failed, StateTransitionHistory: map[string]apachev1.ApplicationState{"0": {CurrentStateSummary: apachev1.StateSubmitted}, "1": failed},
			}}
			again := lifecycle.Outcome{Record: lifecycle.Record{State: lifecycle.Rerunning, Attempt: 1, Executions: 1}}
			next, _ := found.ToStatus(o, again, time.Unix(0, 0))
			if got := next.Status.StateTransitionHistory; len(got) != tc.want {
				t.Errorf("%s: the history has %d states, want %d: %+v", tc.reason, len(got), tc.want, got)
			}
			suspended := apachev1.ClusterState{CurrentStateSummary: apachev1.ClusterSuspended}
			cl := &apachev1.SparkCluster{Status: apachev1.SparkClusterStatus{
				CurrentState: &suspended, StateTransitionHistory: map[string]apachev1.ClusterState{"0": {CurrentStateSummary: apachev1.ClusterSubmitted}, "1": suspended},
			}}
			resumed, _ := clusters.ToStatus(cl, standalone.Outcome{Record: standalone.Record{State: standalone.Submitted}}, time.Unix(0, 0))
			if got := resumed.Status.StateTransitionHistory; len(got) != tc.want {
				t.Errorf("%s: the history of a cluster has %d states, want %d: %+v", tc.reason, len(got), tc.want, got)
			}
		})
	}
}
