// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

// clusterState reads the stored state of a cluster.
var clusterState = stateAt("status", "currentState", "currentStateSummary")

var (
	clusterHeader = []string{"NAME", "STATE", "MASTER", "WORKERS", "REASON", "AGE"}
	clusterMore   = []string{"SPARK", "SCHEDULER", "QUEUE", "MESSAGE"}
)

// clusterRow returns the line of a cluster. The numbers of pods come from its status, so no permission to read pods is needed.
func clusterRow(o inspect.Object, now time.Time, wide bool) ([]string, error) {
	c, err := o.LoadCluster(o.Object, resolve.Operator{}, now)
	if err != nil {
		return nil, err
	}
	cause, chosen := explain.ClusterCause(c.Conditions), c.Record.Scheduling
	var master, workers string
	if p := c.Pods; p != nil {
		master, workers = fmt.Sprintf("%d/%d", p.Master.Ready, p.Master.Wanted), fmt.Sprintf("%d/%d", p.Workers.Ready, p.Workers.Wanted)
	}
	cells := []string{
		o.GetName(), inspect.StateName(c.State), dash(master), dash(workers), dash(string(cause.Reason)),
		duration.HumanDuration(now.Sub(o.GetCreationTimestamp().Time)),
	}
	if !wide {
		return cells, nil
	}
	version := nested(o.Object, "spec", "runtimeVersions", "sparkVersion")
	return append(cells, dash(version), dash(chosen.Scheduler), dash(chosen.Queue), dash(firstLine(cause.Message))), nil
}

var (
	serverHeader = []string{"NAME", "STATE", "ATTEMPT", "POD", "EXECUTORS", "REASON", "AGE", "DURATION"}
	serverMore   = []string{"SERVICE", "SPARK", "SCHEDULER", "QUEUE", "MESSAGE"}
)

// serverRow returns the line of a server.
func serverRow(o inspect.Object, now time.Time, wide bool) ([]string, error) {
	a, err := o.Load(o.Object, resolve.Operator{}, now)
	if err != nil {
		return nil, err
	}
	record := a.Record
	cause := explain.Cause(record, a.Conditions)
	pod, executors := a.Endpoint.Pod, fmt.Sprintf("%d/%d", record.Counts.Running, a.Desired.Executors)
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
	return append(cells, dash(a.Endpoint.Service), dash(a.App.SparkVersion), dash(a.App.Scheduling.Scheduler),
		dash(a.App.Scheduling.Queue), dash(firstLine(cause.Message))), nil
}
