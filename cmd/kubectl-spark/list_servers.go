// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/explain"
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

// typedServer decodes a server, also one whose spec cannot be decoded.
func typedServer(item map[string]any) (*v1alpha1.SparkConnect, error) {
	text, err := (&unstructured.Unstructured{Object: item}).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var o v1alpha1.SparkConnect
	return &o, o.UnmarshalJSON(text)
}

// serverRow is the line of a server.
func serverRow(o *v1alpha1.SparkConnect, now time.Time, wide bool) []string {
	app := loadServer(o, resolve.Operator{}, now)
	record := app.Record
	cause := explain.Cause(record, o.Status.Conditions)
	pod, executors := o.Status.Server.PodName, fmt.Sprintf("%d/%d", record.Counts.Running, app.Desired.Executors)
	if !record.State.HasDriver() {
		pod, executors = "", "-"
	}
	cells := []string{
		o.Name, stateName(string(o.Status.State)), strconv.Itoa(int(record.Attempt)), dash(pod), executors,
		dash(string(cause.Reason)), duration.HumanDuration(now.Sub(o.CreationTimestamp.Time)), dash(ran(record, now)),
	}
	if !wide {
		return cells
	}
	return append(cells, dash(o.Status.Server.ServiceName), dash(o.Spec.SparkVersion), dash(app.App.Scheduling.Scheduler), dash(app.App.Scheduling.Queue), dash(firstLine(cause.Message)))
}
