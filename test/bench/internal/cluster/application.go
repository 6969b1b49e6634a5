// SPDX-License-Identifier: Apache-2.0

// Package cluster is how the harness uses the API server: it creates applications, and follows them and their drivers.
package cluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// Resource is how the API calls SparkApplications.
const Resource = "sparkapplications"

// Application is what is read of a SparkApplication. Anyone who measures should not spend time on the rest of it.
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
	} `json:"status"`
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

// Applications is a client for SparkApplications.
func Applications(cfg *rest.Config) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(v1beta2.GroupVersion.WithKind("SparkApplication"), &Application{})
	scheme.AddKnownTypeWithName(v1beta2.GroupVersion.WithKind("SparkApplicationList"), &ApplicationList{})
	metav1.AddToGroupVersion(scheme, v1beta2.GroupVersion)
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.APIPath, cfg.GroupVersion = "/apis", &v1beta2.GroupVersion
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client of SparkApplications: %w", err)
	}
	return client, nil
}
