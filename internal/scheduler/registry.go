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

package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// unknownRetry is how often an application that names an unknown scheduler is looked at again: the operator may have
// been restarted with another configuration, or the application edited (which wakes it at once).
const unknownRetry = time.Minute

// Registry holds the plugins that this operator offers. It is filled once, explicitly, by the program's main function.
type Registry struct {
	plugins  map[string]Plugin
	fallback string
}

// NewRegistry returns a registry of the given plugins. fallback names the one that applications without a choice of
// their own get; it is an error if it is not among them, or if two plugins have the same name.
func NewRegistry(fallback string, plugins ...Plugin) (*Registry, error) {
	r := &Registry{plugins: make(map[string]Plugin, len(plugins)), fallback: fallback}
	for _, p := range plugins {
		name := p.Describe().Name
		if _, taken := r.plugins[name]; taken {
			return nil, fmt.Errorf("two scheduler plugins are called %q", name)
		}
		r.plugins[name] = p
	}
	if _, ok := r.plugins[fallback]; !ok {
		return nil, fmt.Errorf("batchScheduler.default: %q is not a known scheduler; known: %s", fallback, strings.Join(r.Names(), ", "))
	}
	return r, nil
}

// Names lists the plugins in alphabetical order.
func (r *Registry) Names() []string {
	names := make([]string, 0, len(r.plugins))
	for name := range r.plugins {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Resolve returns the plugin for an application's choice, or nil and a NotReady admission that lists the known ones.
func (r *Registry) Resolve(choice spark.Scheduling) (Plugin, Admission) {
	name := choice.Scheduler
	if name == "" {
		name = r.fallback
	}
	if p, ok := r.plugins[name]; ok {
		return p, Admission{}
	}
	return nil, Admission{
		Verdict:    NotReady,
		Reason:     ReasonSchedulerUnknown,
		Message:    fmt.Sprintf("spec.batchScheduler: %q is not known to this operator; known: %s", name, strings.Join(r.Names(), ", ")),
		RetryAfter: unknownRetry,
	}
}

// Admit asks the plugin about the attempt: first its own validation, then its plan.
func Admit(p Plugin, a Attempt, s Snapshot) Admission {
	if findings := p.Validate(a); len(findings) > 0 {
		sentences := make([]string, 0, len(findings))
		for _, f := range findings {
			sentences = append(sentences, f.Field+": "+f.Problem)
		}
		return Admission{Verdict: Never, Reason: ReasonInvalidParameters, Message: strings.Join(sentences, "; ")}
	}
	return p.Plan(a, s)
}

// Decorate returns the application with the plugin's decoration laid over both roles. The application given is not
// changed.
func Decorate(p Plugin, a Attempt, app spark.Application) spark.Application {
	d := Decoration{Driver: *app.Driver.Overlay.DeepCopy(), Executor: *app.Executor.Overlay.DeepCopy()}
	if name := p.Describe().SchedulerName; name != "" {
		d.Driver.SchedulerName, d.Executor.SchedulerName = name, name
	}
	p.Decorate(a, &d)
	app.Driver.Overlay, app.Executor.Overlay = d.Driver, d.Executor
	return app
}
