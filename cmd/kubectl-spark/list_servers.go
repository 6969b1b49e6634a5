// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

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
