// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Chain combines two plugins: admission decides whether the attempt may start, placement decides where. placement is asked after admission answers Admit. If
// admission revokes its answer, the objects of placement are released. Both decorate the pods, placement last. Where only one plugin can answer, placement
// does, and the chain has its name.
//
// Validate refuses two plugins that both set a scheduler name.
func Chain(admission, placement Plugin) Plugin {
	return chain{admission: admission, placement: placement}
}

type chain struct{ admission, placement Plugin }

var (
	_ Observer        = chain{}
	_ Releaser        = chain{}
	_ PlaceholderUser = chain{}
	_ Sharer          = chain{}
	_ QueueReporter   = chain{}
)

// Describe returns the union of both descriptors, with the name of placement.
func (c chain) Describe() Descriptor {
	first, d := c.admission.Describe(), c.placement.Describe()
	if d.SchedulerName == "" {
		d.SchedulerName = first.SchedulerName
	}
	d.Needs = slices.Concat(first.Needs, d.Needs)
	d.Reads = slices.Concat[[]schema.GroupVersionKind](first.Reads, d.Reads)
	d.Owns = slices.Concat[[]schema.GroupVersionKind](first.Owns, d.Owns)
	d.Rules = slices.Concat[[]rbacv1.PolicyRule](first.Rules, d.Rules)
	d.ManagedKeys = slices.Concat(first.ManagedKeys, d.ManagedKeys)
	d.Supports.Queues = d.Supports.Queues || first.Supports.Queues
	d.Supports.WaitsBeforePods = d.Supports.WaitsBeforePods || first.Supports.WaitsBeforePods
	d.Supports.Reserves = d.Supports.Reserves || first.Supports.Reserves
	d.Quota = d.Quota || first.Quota
	return d
}

// Validate returns the errors of both.
func (c chain) Validate(a Attempt) field.ErrorList {
	first, last := c.admission.Describe(), c.placement.Describe()
	var findings field.ErrorList
	if first.SchedulerName != "" && last.SchedulerName != "" && first.SchedulerName != last.SchedulerName {
		findings = append(findings, Invalid(a.Field(FieldScheduler), first.Name+" and "+last.Name+" cannot be combined: "+
			"pods have one scheduler, "+first.SchedulerName+" or "+last.SchedulerName))
	}
	return slices.Concat(findings, c.admission.Validate(a), c.placement.Validate(a))
}

// Reads returns the reads of both.
func (c chain) Reads(a Attempt) []Read {
	return slices.Concat(c.admission.Reads(a), c.placement.Reads(a))
}

// Admit asks placement after admission answers Admit.
func (c chain) Admit(a Attempt, s Snapshot) (Admission, error) {
	first, err := c.admission.Admit(a, s)
	if err != nil {
		return Admission{}, err
	}
	if first.Verdict != Admit {
		first.Delete = append(slices.Clone(first.Delete), c.reserved(a, s)...)
		return first, nil
	}
	last, err := c.placement.Admit(a, s)
	if err != nil {
		return Admission{}, err
	}
	last.Apply = slices.Concat(first.Apply, last.Apply)
	last.Delete = slices.Concat(first.Delete, last.Delete)
	if last.Group == nil {
		last.Group = first.Group
	}
	last.Warning = Warnings(first.Warning, last.Warning)
	if last.Verdict == Admit {
		last.Takes = first.Takes
	}
	return last, nil
}

// reserved returns the existing objects of placement.
func (c chain) reserved(a Attempt, s Snapshot) []Ref {
	releaser, ok := c.placement.(Releaser)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(releaser.Release(a)), func(r Ref) bool { return !s.Exists(r) })
}

// Shares returns the shares of the admission plugin.
func (c chain) Shares(a Attempt, s Snapshot) (Shares, error) { return SharesOf(c.admission, a, s), nil }

// Placeholders returns the placeholders of both.
func (c chain) Placeholders(a Attempt) []Placeholder {
	var all []Placeholder
	for _, p := range []Plugin{c.admission, c.placement} {
		if user, ok := p.(PlaceholderUser); ok {
			all = append(all, user.Placeholders(a)...)
		}
	}
	return all
}

// QueueReads returns the reads of the plugins that implement QueueReporter.
func (c chain) QueueReads(a Attempt) []Read {
	var reads []Read
	for _, p := range []Plugin{c.admission, c.placement} {
		if reporter, ok := p.(QueueReporter); ok {
			reads = append(reads, reporter.QueueReads(a)...)
		}
	}
	return reads
}

// QueueUsage returns the usage of the queues of both.
func (c chain) QueueUsage(a Attempt, s Snapshot) ([]Usage, error) {
	var all []Usage
	for _, p := range []Plugin{c.admission, c.placement} {
		reporter, ok := p.(QueueReporter)
		if !ok {
			continue
		}
		usage, err := reporter.QueueUsage(a, s)
		if err != nil {
			return nil, err
		}
		all = append(all, usage...)
	}
	return all, nil
}

// Decorate calls both plugins.
func (c chain) Decorate(a Attempt, d *Decoration) error {
	if err := c.admission.Decorate(a, d); err != nil {
		return err
	}
	return c.placement.Decorate(a, d)
}

// ObserveReads returns the reads of both.
func (c chain) ObserveReads(a Attempt, f PodStatuses) []Read {
	var reads []Read
	for _, p := range []Plugin{c.admission, c.placement} {
		if observer, ok := p.(Observer); ok {
			reads = append(reads, observer.ObserveReads(a, f)...)
		}
	}
	return reads
}

// Observe returns placement's observation, unless admission revokes its answer.
func (c chain) Observe(a Attempt, s Snapshot, f PodStatuses) (Observation, error) {
	var first, last Observation
	var err error
	if observer, ok := c.admission.(Observer); ok {
		if first, err = observer.Observe(a, s, f); err != nil {
			return Observation{}, err
		}
	}
	if observer, ok := c.placement.(Observer); !ok {
		last = Pods(a, f)
	} else if last, err = observer.Observe(a, s, f); err != nil {
		return Observation{}, err
	}
	winner := last
	if first.StopApp {
		winner = first
	}
	winner.Apply = slices.Concat(first.Apply, last.Apply)
	winner.Delete = slices.Concat(first.Delete, last.Delete)
	winner.RetryAfter = Sooner(first.RetryAfter, last.RetryAfter)
	return winner, nil
}

// Release lists the objects in reverse order of their creation.
func (c chain) Release(a Attempt) []Ref {
	var refs []Ref
	for _, p := range []Plugin{c.placement, c.admission} {
		if releaser, ok := p.(Releaser); ok {
			refs = append(refs, releaser.Release(a)...)
		}
	}
	return refs
}

// described caches the descriptor of a plugin.
type described struct {
	Plugin
	descriptor Descriptor
}

// Describe returns the cached descriptor.
func (d described) Describe() Descriptor { return d.descriptor }

// can returns the plugin as the optional interface T; ok is false if the plugin does not implement T.
func can[T any](p Plugin) (T, bool) {
	if d, is := p.(described); is {
		p = d.Plugin
	}
	able, ok := p.(T)
	return able, ok
}
