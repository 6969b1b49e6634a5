// SPDX-License-Identifier: Apache-2.0

// Package cluster is how the harness uses the API server: it creates applications, and follows them and their drivers.
package cluster

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// Resource is how the API calls SparkApplications.
const Resource = "sparkapplications"

// Application is the decoded part of a SparkApplication; decoding the rest would take time during the measurement.
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		AppState struct {
			State   string `json:"state"`
			Message string `json:"errorMessage"`
		} `json:"applicationState"`
		Submissions int `json:"submissionAttempts"`
		Executions  int `json:"executionAttempts"`
		// Current is the state of spark.apache.org.
		Current struct {
			State string `json:"currentStateSummary"`
		} `json:"currentState"`
	} `json:"status"`
}

// words maps the states of spark.apache.org to the states of sparkoperator.k8s.io as which they are measured.
var words = map[string]string{"DriverRequested": "SUBMITTED", "RunningHealthy": "RUNNING", "Succeeded": "COMPLETED",
	"Failed": "FAILED", "SchedulingFailure": "FAILED"}

// state returns the shown state; "" for a state that is not measured.
func (a *Application) state() string {
	return cmp.Or(a.Status.AppState.State, words[a.Status.Current.State])
}

// DeepCopyObject implements runtime.Object.
func (a *Application) DeepCopyObject() runtime.Object {
	out := *a
	a.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// ApplicationList is a list of them.
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Application `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *ApplicationList) DeepCopyObject() runtime.Object {
	out := &ApplicationList{TypeMeta: l.TypeMeta, ListMeta: *l.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Application))
	}
	return out
}

// Applications is a client for the SparkApplications of a group.
func Applications(cfg *rest.Config, group schema.GroupVersion) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(group.WithKind("SparkApplication"), &Application{})
	scheme.AddKnownTypeWithName(group.WithKind("SparkApplicationList"), &ApplicationList{})
	metav1.AddToGroupVersion(scheme, group)
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.APIPath, cfg.GroupVersion = "/apis", &group
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client of SparkApplications: %w", err)
	}
	return client, nil
}
