// SPDX-License-Identifier: Apache-2.0

// Package plugins lists the scheduler plugins of this build. No other package names them.
package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/coscheduling"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/scheduler/quota"
	"github.com/firesteel-dev/firesteel/internal/scheduler/volcano"
	"github.com/firesteel-dev/firesteel/internal/scheduler/yunikorn"
)

// base returns the scheduler plugins of this build. To add a plugin, add a line here; to remove one, delete its line and its folder. The configuration selects
// the plugins that users may choose.
func base(c config.BatchScheduler) []scheduler.Plugin {
	return []scheduler.Plugin{
		kube.Plugin{},
		volcano.New(c.Plugins[volcano.Name].SchedulerName),
		yunikorn.Plugin{},
		coscheduling.New(c.Plugins[coscheduling.Name].SchedulerName),
	}
}

// plugins returns the plugins of base, and each again for every additional name in the configuration.
func plugins(c config.BatchScheduler) []scheduler.Plugin {
	all := base(c)
	for _, plugin := range base(c) {
		multiple, ok := plugin.(scheduler.Multiple)
		if !ok {
			continue // checkNames refuses additional names
		}
		for _, name := range c.Plugins[plugin.Describe().Name].SchedulerNames {
			all = append(all, multiple.ForScheduler(name))
		}
	}
	return all
}

// checkNames refuses additional names for a plugin that serves only one scheduler.
func checkNames(c config.BatchScheduler) error {
	for _, plugin := range base(c) {
		name := plugin.Describe().Name
		if _, ok := plugin.(scheduler.Multiple); !ok && len(c.Plugins[name].SchedulerNames) > 0 {
			return fmt.Errorf("batchScheduler.plugins.%s.schedulerNames: this plugin serves one scheduler; leave the field out", name)
		}
	}
	return nil
}

// admissions are asked before every scheduler. They are added and removed in the same way as plugins.
func admissions(c config.BatchScheduler) []scheduler.Plugin {
	return []scheduler.Plugin{
		quota.New(string(c.Quota.Mode), elasticQuotaSchedulers(c)),
	}
}

// elasticQuotaSchedulers returns the configured plugins, with all their names.
func elasticQuotaSchedulers(c config.BatchScheduler) []string {
	names := slices.Clone(c.Quota.ElasticQuotaSchedulers)
	for _, plugin := range plugins(c) {
		if d := plugin.Describe(); d.AliasOf != "" && slices.Contains(names, d.AliasOf) && !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	return names
}

// All returns every scheduler plugin, followed by the admission plugins, as configured.
func All(c config.BatchScheduler) []scheduler.Plugin {
	return slices.Concat(plugins(c), admissions(c))
}

// Every returns a registry with all plugins enabled and every name allowed, for callers that do not know the operator's
// configuration.
func Every() (*scheduler.Registry, error) {
	c := config.BatchScheduler{Default: kube.Name, PlainNames: true}
	for _, plugin := range plugins(c) {
		c.Enabled = append(c.Enabled, plugin.Describe().Name)
	}
	return Registry(c)
}

// parametersOf returns the defaults and bounds of a plugin's options.
func parametersOf(s config.SchedulerPlugin) scheduler.PluginParameters {
	rules := func(r config.ParameterRules) scheduler.ParameterRules {
		bounds := map[string]scheduler.Bound{}
		for name, b := range r.Bounds {
			bounds[name] = scheduler.Bound(b)
		}
		return scheduler.ParameterRules{Parameters: r.Parameters, Bounds: bounds}
	}
	p := scheduler.PluginParameters{ParameterRules: rules(s.ParameterRules)}
	for _, q := range s.Queues {
		p.Queues = append(p.Queues, scheduler.QueueParameters{Queues: q.Queues, ParameterRules: rules(q.ParameterRules)})
	}
	return p
}

// Registry returns the configured plugins.
func Registry(c config.BatchScheduler) (*scheduler.Registry, error) {
	if err := checkNames(c); err != nil {
		return nil, err
	}
	policy := scheduler.Policy{
		Default: c.Default, Enabled: c.Enabled, PlainNames: c.PlainNames, NamespaceDefaults: c.NamespaceDefaults, DefaultQueues: map[string]string{},
		Parameters: map[string]scheduler.PluginParameters{}, OwnApplications: c.ApplicationIDs == config.OwnApplicationIDs,
	}
	for name, settings := range c.Plugins {
		policy.DefaultQueues[name], policy.Parameters[name] = settings.DefaultQueue, parametersOf(settings)
	}
	for _, rule := range c.AllowedQueues {
		policy.AllowedQueues = append(policy.AllowedQueues, scheduler.QueueRule(rule))
	}
	policy.Admissions = admissions(c)
	known := plugins(c)
	names := make([]string, 0, len(known))
	for _, plugin := range known {
		names = append(names, plugin.Describe().Name)
	}
	for _, name := range c.Quota.ElasticQuotaSchedulers {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("batchScheduler.quota.elasticQuotaSchedulers: %q is not a known scheduler; known: %s", name, strings.Join(names, ", "))
		}
	}
	return scheduler.NewRegistryFor(policy, known...)
}
