// SPDX-License-Identifier: Apache-2.0

// Package testutil has the example application and the comparison with golden files, for the tests of several packages.
package testutil

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	apache "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// SparkVersion is the version of the example application.
const SparkVersion = "4.1.4"

// UID is the UID of the example application.
const UID types.UID = "7b0f0a52-0000-4000-8000-000000000001"

// Pi returns jobs/pi, the application of Spark's own examples, with only the required fields, after some changes.
func Pi(changes ...func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	app := &v1beta2.SparkApplication{}
	app.Namespace, app.Name, app.UID, app.Generation = "jobs", "pi", UID, 1
	app.Spec = v1beta2.SparkApplicationSpec{
		Type:                v1beta2.ApplicationTypeScala,
		SparkVersion:        SparkVersion,
		Image:               new("spark:" + SparkVersion),
		MainClass:           new("org.apache.spark.examples.SparkPi"),
		MainApplicationFile: new("local:///opt/spark/examples/jars/spark-examples.jar"),
	}
	for _, change := range changes {
		change(app)
	}
	return app
}

// New changes the namespace and name of an application, and removes the fields that the API server sets.
func New(namespace, name string) func(*v1beta2.SparkApplication) {
	return func(app *v1beta2.SparkApplication) {
		app.Namespace, app.Name, app.UID, app.Generation = namespace, name, "", 0
	}
}

// Executors sets their number.
func Executors(n int32) func(*v1beta2.SparkApplication) {
	return func(app *v1beta2.SparkApplication) { app.Spec.Executor.Instances = &n }
}

// Model returns the model of the example application, after some changes. The tests of internal/spark have their own Model, because importing this package
// would be a cycle.
func Model(changes ...func(*spark.Application)) spark.Application {
	app := spark.Application{
		Namespace: "jobs", Name: "pi", UID: UID, SparkVersion: SparkVersion,
		MainFile: "local:///opt/spark/examples/jars/spark-examples.jar", MainClass: "org.apache.spark.examples.SparkPi",
		Conf:   map[string]string{},
		Fields: spark.Fields{"": "spec", "ui": "spec.sparkUIOptions", "ports": "spec.driverIngressOptions"},
		OperatorConf: map[string]string{
			spark.ConfDriverPodName: "pi-driver", spark.ConfNamespace: "jobs", spark.ConfMaster: "k8s://https://x", spark.ConfImage: "spark:" + SparkVersion,
		},
		Origins: map[string]spark.Origin{},
	}
	for _, change := range changes {
		change(&app)
	}
	return app
}

// ApacheStates returns the states in a status of spark.apache.org, in order: those of the previous attempt and of the current one.
func ApacheStates(s *apache.SparkApplicationStatus) []string {
	histories := []map[string]apache.ApplicationState{s.StateTransitionHistory}
	if p := s.PreviousAttemptSummary; p != nil {
		histories = append(histories, p.StateTransitionHistory)
	}
	return inOrder(histories, func(state apache.ApplicationState) string { return string(state.CurrentStateSummary) })
}

// ApacheClusterStates returns the states in a cluster's status, in order.
func ApacheClusterStates(s *apache.SparkClusterStatus) []string {
	histories := []map[string]apache.ClusterState{s.StateTransitionHistory}
	if p := s.PreviousAttemptSummary; p != nil {
		histories = append(histories, p.StateTransitionHistory)
	}
	return inOrder(histories, func(state apache.ClusterState) string { return string(state.CurrentStateSummary) })
}

// inOrder returns the names of the states in histories, sorted by their keys.
func inOrder[S any](histories []map[string]S, word func(S) string) []string {
	all := map[int]string{}
	for _, history := range histories {
		for key, state := range history {
			n, _ := strconv.Atoi(key) // it is a number
			all[n] = word(state)
		}
	}
	states := []string{}
	for _, n := range slices.Sorted(maps.Keys(all)) {
		states = append(states, all[n])
	}
	return states
}
