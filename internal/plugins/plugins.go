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

// Package plugins lists the schedulers that the program knows.
package plugins

import (
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/coscheduling"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/scheduler/quota"
	"github.com/firesteel-dev/firesteel/internal/scheduler/volcano"
	"github.com/firesteel-dev/firesteel/internal/scheduler/yunikorn"
)

// all are the schedulers that this program knows. A build with another one adds its line here; one without deletes its
// line and its folder. What users may choose among them is configured.
var all = []func(config.BatchScheduler) scheduler.Plugin{
	func(config.BatchScheduler) scheduler.Plugin { return kube.Plugin{} },
	func(c config.BatchScheduler) scheduler.Plugin {
		return volcano.New(c.Plugins[volcano.Name].SchedulerName)
	},
	func(config.BatchScheduler) scheduler.Plugin { return yunikorn.Plugin{} },
	func(c config.BatchScheduler) scheduler.Plugin {
		return coscheduling.New(c.Plugins[coscheduling.Name].SchedulerName)
	},
}

// admissions are asked before every scheduler.
var admissions = []func(config.BatchScheduler) scheduler.Plugin{
	func(c config.BatchScheduler) scheduler.Plugin {
		return quota.New(c.Quota.Mode, c.Quota.ElasticQuotaSchedulers)
	},
}

// Registry returns the registry of all plugins, as the configuration wants it.
func Registry(c config.BatchScheduler) (*scheduler.Registry, error) {
	policy := scheduler.Policy{
		Default: c.Default, Enabled: c.Enabled, NamespaceDefaults: c.NamespaceDefaults, DefaultQueues: map[string]string{},
	}
	for name, settings := range c.Plugins {
		policy.DefaultQueues[name] = settings.DefaultQueue
	}
	for _, rule := range c.AllowedQueues {
		policy.AllowedQueues = append(policy.AllowedQueues, scheduler.QueueRule(rule))
	}
	for _, construct := range admissions {
		policy.Admissions = append(policy.Admissions, construct(c))
	}
	known := make([]scheduler.Plugin, 0, len(all))
	for _, construct := range all {
		known = append(known, construct(c))
	}
	return scheduler.NewRegistryFor(policy, known...)
}
