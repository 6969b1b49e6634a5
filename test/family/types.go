// SPDX-License-Identifier: Apache-2.0

// Package family is a second API family, for tests only: one kind, Job of jobs.example.org/v1, as small as possible and
// different from sparkoperator.k8s.io wherever it can be. Code that works for both is not specific to either.
//
// +groupName=jobs.example.org
// +versionName=v1
package family

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the family.
var GroupVersion = schema.GroupVersion{Group: "jobs.example.org", Version: "v1"}

// AddToScheme adds the family's types to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Job{}, &JobList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Job is a Spark application of this family.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   JobSpec   `json:"spec"`
	Status JobStatus `json:"status,omitempty"`
}

// JobList is a list of jobs.
//
// +kubebuilder:object:root=true
type JobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Job `json:"items"`
}

// JobSpec is what a user wants.
//
// +kubebuilder:object:generate=true
type JobSpec struct {
	// Main is the file to run, Class its main class.
	Main  string `json:"main,omitempty"`
	Class string `json:"class,omitempty"`
	Image string `json:"image,omitempty"`
	// Spark is the version of Spark.
	Spark   string `json:"spark,omitempty"`
	Workers int32  `json:"workers,omitempty"`
	// Memory of the driver.
	Memory string `json:"memory,omitempty"`
	// Pod is the name of the driver pod; by default the job's with "-driver".
	Pod    string `json:"pod,omitempty"`
	Paused bool   `json:"paused,omitempty"`
	// Runner is the batch scheduler, Line its queue.
	Runner string `json:"runner,omitempty"`
	Line   string `json:"line,omitempty"`
	// Retries is the number of attempts that may follow a failed one.
	Retries int32 `json:"retries,omitempty"`
	// Settings become a ConfigMap.
	Settings *Settings `json:"settings,omitempty"`
}

// Settings are a ConfigMap of the job's own.
//
// +kubebuilder:object:generate=true
type Settings struct {
	Name string            `json:"name"`
	Data map[string]string `json:"data,omitempty"`
}

// JobStatus is where a job stands.
//
// +kubebuilder:object:generate=true
type JobStatus struct {
	// Phase is the state, in this family's words.
	Phase string `json:"phase,omitempty"`
	// Why the job is in its phase: a word and a sentence.
	Why   string `json:"why,omitempty"`
	Words string `json:"words,omitempty"`
	// Record is all that is recorded, as JSON.
	Record     string             `json:"record,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
