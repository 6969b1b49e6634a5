/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package kube is the plugin for plain Kubernetes: whatever scheduler the cluster has places the pods one by one, and
// nothing holds an application back but a PriorityClass that does not exist.
package kube

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Name is what users write in spec.batchScheduler to get this plugin.
const Name = "kube"

// missingRetry is how often a missing PriorityClass is looked for: it is not watched, because one GET now and then for
// the few applications that name a wrong one is cheaper than a watch for all.
const missingRetry = 10 * time.Second

// Plugin needs no configuration.
type Plugin struct{}

var _ scheduler.Plugin = Plugin{}

// Describe introduces the plugin. It sets no scheduler name: the pods keep the one that the user chose, if any.
func (Plugin) Describe() scheduler.Descriptor { return scheduler.Descriptor{Name: Name} }

// Validate finds nothing: whatever asks plain Kubernetes for something it does not have is said in Plan's message, since
// manifests that name a queue without a batch scheduler have always run.
func (Plugin) Validate(scheduler.Attempt) []scheduler.Finding { return nil }

// Reads asks for the PriorityClass that the application names.
func (Plugin) Reads(a scheduler.Attempt) []scheduler.Read {
	if a.PriorityClass == "" {
		return nil
	}
	return []scheduler.Read{priorityClass(a.PriorityClass)}
}

// Plan lets the attempt start unless its PriorityClass is missing: the API server would refuse its pods.
func (Plugin) Plan(a scheduler.Attempt, s scheduler.Snapshot) scheduler.Admission {
	if a.PriorityClass != "" && s[priorityClass(a.PriorityClass)] == nil {
		return scheduler.Admission{
			Verdict:    scheduler.Wait,
			Reason:     scheduler.ReasonPriorityClassNotFound,
			Message:    fmt.Sprintf("spec.batchSchedulerOptions.priorityClassName: PriorityClass %q does not exist; create it or name another", a.PriorityClass),
			RetryAfter: missingRetry,
		}
	}
	message := "plain Kubernetes scheduling: nothing holds the application back"
	if a.Queue != "" {
		message = fmt.Sprintf("plain Kubernetes scheduling has no queues: spec.batchSchedulerOptions.queue %q is ignored", a.Queue)
	}
	return scheduler.Admission{Verdict: scheduler.Go, Reason: scheduler.ReasonAdmitted, Message: message}
}

// Decorate puts the PriorityClass on both roles, where the role has none of its own.
func (Plugin) Decorate(a scheduler.Attempt, d *scheduler.Decoration) {
	if d.Driver.PriorityClassName == "" {
		d.Driver.PriorityClassName = a.PriorityClass
	}
	if d.Executor.PriorityClassName == "" {
		d.Executor.PriorityClassName = a.PriorityClass
	}
}

func priorityClass(name string) scheduler.Read {
	return scheduler.Read{
		GroupVersionKind: schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"},
		Name:             name,
	}
}
