// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Chain makes one plugin of two: admission says whether the attempt may start, and placement where. placement is asked
// once admission says Admit; when admission takes its word back, what placement has reserved is released. Both decorate,
// placement last; in everything else that only one can answer, placement does. The name is placement's.
//
// Two plugins that both set a scheduler name do not fit together, and Validate says so.
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

// Describe is the union of both, under the name of placement.
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

// Validate returns what either of them finds.
func (c chain) Validate(a Attempt) field.ErrorList {
	first, last := c.admission.Describe(), c.placement.Describe()
	var findings field.ErrorList
	if first.SchedulerName != "" && last.SchedulerName != "" && first.SchedulerName != last.SchedulerName {
		findings = append(findings, Invalid(a.Field(FieldScheduler), first.Name+" and "+last.Name+" cannot be combined: "+
			"pods have one scheduler, "+first.SchedulerName+" or "+last.SchedulerName))
	}
	return slices.Concat(findings, c.admission.Validate(a), c.placement.Validate(a))
}

// Reads is what both want to see.
func (c chain) Reads(a Attempt) []Read {
	return slices.Concat(c.admission.Reads(a), c.placement.Reads(a))
}

// Admit asks placement once admission does.
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
	last.HasQuota = last.Verdict != Admit && c.admission.Describe().Supports.Reserves
	return last, nil
}

// reserved are placement's objects that exist.
func (c chain) reserved(a Attempt, s Snapshot) []Ref {
	releaser, ok := c.placement.(Releaser)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(releaser.Release(a)), func(r Ref) bool { return !s.Exists(r) })
}

// Shares are those of admission.
func (c chain) Shares(a Attempt, s Snapshot) (Shares, error) { return SharesOf(c.admission, a, s), nil }

// Placeholders are those of both.
func (c chain) Placeholders(a Attempt) []Placeholder {
	var all []Placeholder
	for _, p := range []Plugin{c.admission, c.placement} {
		if user, ok := p.(PlaceholderUser); ok {
			all = append(all, user.Placeholders(a)...)
		}
	}
	return all
}

// QueueReads is what those of both want to see whose queues report numbers.
func (c chain) QueueReads(a Attempt) []Read {
	var reads []Read
	for _, p := range []Plugin{c.admission, c.placement} {
		if reporter, ok := p.(QueueReporter); ok {
			reads = append(reads, reporter.QueueReads(a)...)
		}
	}
	return reads
}

// QueueUsage is that of the queues of both.
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

// Decorate lets both decorate.
func (c chain) Decorate(a Attempt, d *Decoration) error {
	if err := c.admission.Decorate(a, d); err != nil {
		return err
	}
	return c.placement.Decorate(a, d)
}

// ObserveReads is what both want to see.
func (c chain) ObserveReads(a Attempt, f PodStatuses) []Read {
	var reads []Read
	for _, p := range []Plugin{c.admission, c.placement} {
		if observer, ok := p.(Observer); ok {
			reads = append(reads, observer.ObserveReads(a, f)...)
		}
	}
	return reads
}

// Observe returns placement's view, unless admission withdraws its permission.
func (c chain) Observe(a Attempt, s Snapshot, f PodStatuses) (Observation, error) {
	var first, last Observation
	var err error
	if observer, ok := c.admission.(Observer); ok {
		if first, err = observer.Observe(a, s, f); err != nil {
			return Observation{}, err
		}
	}
	if observer, ok := c.placement.(Observer); !ok {
		last = Pods(f)
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

// Release is the reverse of the order in which the objects came.
func (c chain) Release(a Attempt) []Ref {
	var refs []Ref
	for _, p := range []Plugin{c.placement, c.admission} {
		if releaser, ok := p.(Releaser); ok {
			refs = append(refs, releaser.Release(a)...)
		}
	}
	return refs
}

// described is a plugin that was asked once what it is.
type described struct {
	Plugin
	descriptor Descriptor
}

// Describe is what the plugin said.
func (d described) Describe() Descriptor { return d.descriptor }

// can returns a plugin as one that can do more than every plugin.
func can[T any](p Plugin) (T, bool) {
	if d, is := p.(described); is {
		p = d.Plugin
	}
	able, ok := p.(T)
	return able, ok
}
