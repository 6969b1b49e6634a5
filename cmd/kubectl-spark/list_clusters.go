// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/inspect"
)

// clusterStates are the states of clusters.
var clusterStates = []string{
	"NEW", string(v1.ClusterSubmitted), string(v1.ClusterRunningHealthy), string(v1.ClusterSuspended), string(v1.ClusterSchedulingFailure),
	string(v1.ClusterFailed), string(v1.ClusterResourceReleased),
}

// clusterState is the state of a cluster as it is stored.
var clusterState = stateAt("status", "currentState", "currentStateSummary")

var (
	clusterHeader = []string{"NAME", "STATE", "MASTER", "WORKERS", "REASON", "AGE"}
	clusterMore   = []string{"SPARK", "SCHEDULER", "QUEUE", "MESSAGE"}
)

// clusterRow is the line of a cluster. The numbers of pods are those of its status: no right to read pods is needed.
func clusterRow(o *v1.SparkCluster, now time.Time, wide bool) []string {
	state := v1.ClusterStateSummary("")
	if s := o.Status.CurrentState; s != nil {
		state = s.CurrentStateSummary
	}
	cause := explain.ClusterCause(o.Status.Conditions)
	var master, workers string
	if p := o.Status.Pods; p != nil {
		master, workers = fmt.Sprintf("%d/%d", p.Master.Ready, p.Master.Desired), fmt.Sprintf("%d/%d", p.Workers.Ready, p.Workers.Desired)
	}
	cells := []string{
		o.Name, inspect.StateName(string(state)), dash(master), dash(workers), dash(string(cause.Reason)), duration.HumanDuration(now.Sub(o.CreationTimestamp.Time)),
	}
	if !wide {
		return cells
	}
	var chosen v1.ClusterScheduling
	if s := o.Status.Scheduling; s != nil {
		chosen = *s
	}
	return append(cells, dash(o.Spec.RuntimeVersions.SparkVersion), dash(chosen.Scheduler), dash(chosen.Queue), dash(firstLine(cause.Message)))
}
