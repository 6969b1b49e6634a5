// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/resolve"
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

// serverStates are the states of servers.
var serverStates = []string{
	"NEW", string(v1alpha1.SparkConnectStateProvisioning), string(v1alpha1.SparkConnectStateReady),
	string(v1alpha1.SparkConnectStateNotReady), string(v1alpha1.SparkConnectStateFailed),
}

var (
	serverHeader = []string{"NAME", "STATE", "ATTEMPT", "POD", "EXECUTORS", "REASON", "AGE", "DURATION"}
	serverMore   = []string{"SERVICE", "SPARK", "SCHEDULER", "QUEUE", "MESSAGE"}
)

// serverRow is the line of a server.
func serverRow(o inspect.Object, now time.Time, wide bool) ([]string, error) {
	a, err := o.Load(o.Object, resolve.Operator{}, now)
	if err != nil {
		return nil, err
	}
	server := a.Object.(*v1alpha1.SparkConnect)
	record := a.Record
	cause := explain.Cause(record, a.Conditions)
	pod, executors := server.Status.Server.PodName, fmt.Sprintf("%d/%d", record.Counts.Running, a.Desired.Executors)
	if !record.State.HasDriver() {
		pod, executors = "", "-"
	}
	cells := []string{
		a.GetName(), inspect.StateName(a.State), strconv.Itoa(int(record.Attempt)), dash(pod), executors,
		dash(string(cause.Reason)), duration.HumanDuration(now.Sub(a.GetCreationTimestamp().Time)), dash(ran(record, now)),
	}
	if !wide {
		return cells, nil
	}
	return append(cells, dash(server.Status.Server.ServiceName), dash(a.App.SparkVersion), dash(a.App.Scheduling.Scheduler), dash(a.App.Scheduling.Queue), dash(firstLine(cause.Message))), nil
}
