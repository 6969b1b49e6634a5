// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// NoScheduler is what users write in spec.batchScheduler to opt out of batch scheduling: the plugin whose descriptor
// says NoBatchScheduler, whatever the defaults are.
const NoScheduler = "none"

// Annotations of a Namespace that choose for its applications, if the configuration allows it.
const (
	AnnotationScheduler = "firesteel.dev/batch-scheduler"
	AnnotationQueue     = "firesteel.dev/queue"
)

// unknownRetry is how often an application that names an unknown scheduler is checked again: the operator may have
// been restarted with another configuration, or the application edited (which enqueues it at once).
const unknownRetry = time.Minute

// Policy is what an administrator decides about schedulers.
type Policy struct {
	// Default names the plugin of applications that name none.
	Default string
	// Enabled names the plugins that may be used; empty for the default and the plain one.
	Enabled []string
	// PlainNames lets applications name any scheduler: what is no enabled plugin is the schedulerName of their pods, and nothing more.
	PlainNames bool
	// NamespaceDefaults lets the annotations of a namespace choose for the applications in it.
	NamespaceDefaults bool
	// DefaultQueues are the queues of applications that name none, by plugin. They win over Descriptor.DefaultQueue.
	DefaultQueues map[string]string
	// Parameters are defaults and bounds of the plugins' own options, by plugin.
	Parameters map[string]PluginParameters
	// AllowedQueues say which namespaces may use which queues; none for no restriction.
	AllowedQueues []QueueRule
	// OwnApplications refuses pods that name another application of their scheduler's than the attempt's own.
	OwnApplications bool
	// Admissions are asked before every plugin, in their order, e.g. about quotas.
	Admissions []Plugin
}

// Registry holds the plugins that this operator offers. It is filled once, explicitly, by the program's main function,
// and is safe for concurrent use.
type Registry struct {
	policy  Policy
	plugins map[string]compiled
	plain   string
	owned   []schema.GroupVersionKind
}

// compiled is a plugin that is compiled in, enabled or not.
type compiled struct {
	plugin Plugin
	// own is what it alone says of itself.
	own Descriptor
	// asked is the plugin behind those that are asked first.
	asked Plugin
}

// NewRegistry returns a registry in which all plugins are enabled. fallback names the one that applications without a
// choice of their own get.
func NewRegistry(fallback string, plugins ...Plugin) (*Registry, error) {
	names := make([]string, 0, len(plugins))
	for _, p := range plugins {
		names = append(names, p.Describe().Name)
	}
	return NewRegistryFor(Policy{Default: fallback, Enabled: names}, plugins...)
}

// NewRegistryFor returns a registry of the plugins that are compiled in. It is an error, which names the field of the
// configuration, if the policy names a plugin that is not among them, or if two plugins have the same name.
func NewRegistryFor(policy Policy, plugins ...Plugin) (*Registry, error) {
	r := &Registry{policy: policy, plugins: map[string]compiled{}}
	for _, p := range plugins {
		d := p.Describe()
		if _, taken := r.plugins[d.Name]; taken || d.Name == NoScheduler || d.Name == "" {
			return nil, nameTaken(d)
		}
		all := r.chained(p)
		r.plugins[d.Name] = compiled{p, d, described{all, all.Describe()}}
		for _, kind := range r.plugins[d.Name].asked.Describe().Owns {
			if !slices.Contains(r.owned, kind) {
				r.owned = append(r.owned, kind)
			}
		}
		if d.NoBatchScheduler {
			r.plain = d.Name
		}
	}
	if err := r.check("default", policy.Default); err != nil {
		return nil, err
	}
	if err := r.check("enabled", policy.Enabled...); err != nil {
		return nil, err
	}
	if err := r.check("plugins", slices.Sorted(maps.Keys(policy.DefaultQueues))...); err != nil {
		return nil, err
	}
	if err := r.checkParameters(); err != nil {
		return nil, err
	}
	if len(policy.Enabled) == 0 {
		r.policy.Enabled = []string{policy.Default}
		if r.plain != "" && r.plain != policy.Default {
			r.policy.Enabled = append(r.policy.Enabled, r.plain)
		}
	}
	for name, c := range r.plugins {
		if slices.Contains(r.policy.Enabled, c.own.AliasOf) {
			r.policy.Enabled = append(slices.Clip(r.policy.Enabled), name)
		}
	}
	if !slices.Contains(r.policy.Enabled, policy.Default) {
		return nil, fmt.Errorf("batchScheduler.default: %q is not among batchScheduler.enabled: %s", policy.Default, strings.Join(policy.Enabled, ", "))
	}
	return r, nil
}

// nameTaken is the error for a plugin whose name means something else already.
func nameTaken(d Descriptor) error {
	if d.AliasOf == "" {
		return fmt.Errorf("two scheduler plugins are called %q", d.Name)
	}
	return fmt.Errorf("batchScheduler.plugins.%s.schedulerNames: %q is taken: write each name once, and none of another plugin", d.AliasOf, d.Name)
}

// check returns an error for a name that no plugin has.
func (r *Registry) check(section string, names ...string) error {
	for _, name := range names {
		if _, ok := r.plugins[name]; !ok {
			return r.unknown(section, name)
		}
	}
	return nil
}

func (r *Registry) unknown(section, name string) error {
	known := strings.Join(slices.Sorted(maps.Keys(r.plugins)), ", ")
	return fmt.Errorf("batchScheduler.%s: %q is not a known scheduler; known: %s", section, name, known)
}

// Names lists the enabled plugins in alphabetical order.
func (r *Registry) Names() []string {
	names := slices.Clone(r.policy.Enabled)
	slices.Sort(names)
	return slices.Compact(names)
}

// NamespaceDefaults reports whether the annotations of namespaces are to be known.
func (r *Registry) NamespaceDefaults() bool { return r.policy.NamespaceDefaults }

// Plain names the plugin of an application that names a scheduler without one, where such a name is the schedulerName of its pods only.
func (r *Registry) Plain(name string) (plugin string, plain bool) {
	_, served := r.Plugin(name)
	_, enabled := r.Plugin(r.plain)
	return r.plain, r.policy.PlainNames && name != "" && name != NoScheduler && !served && enabled
}

// Serving names the enabled plugin that serves a scheduler, by the schedulerName of pods. If there is none, plugin is the plain one, with
// which pods keep the name; if that is not enabled, it is the name itself, which Resolve refuses.
func (r *Registry) Serving(schedulerName string) (plugin string, served bool) {
	for _, name := range r.Names() {
		if r.plugins[name].own.SchedulerName == schedulerName {
			return name, true
		}
	}
	if _, enabled := r.Plugin(r.plain); enabled {
		return r.plain, false
	}
	return schedulerName, false
}

// Plugin returns an enabled plugin by name, without those that are asked before it.
func (r *Registry) Plugin(name string) (Plugin, bool) {
	c, known := r.plugins[name]
	return c.plugin, known && slices.Contains(r.policy.Enabled, name)
}

// Compiled returns a plugin by name, behind those that are asked first, enabled or not: what they have made goes although nothing new is
// asked of it.
func (r *Registry) Compiled(name string) (Plugin, bool) {
	c, known := r.plugins[name]
	return c.asked, known
}

// Observer returns a plugin, behind those that are asked first, if any of them knows more of a submitted attempt than its pods show.
func (r *Registry) Observer(name string) (Plugin, bool) {
	p, enabled := r.Plugin(name)
	observes := slices.ContainsFunc(append([]Plugin{p}, r.policy.Admissions...), func(p Plugin) bool {
		_, ok := p.(Observer)
		return ok
	})
	return r.plugins[name].asked, enabled && observes
}

// chained puts those that are asked first before a plugin.
func (r *Registry) chained(p Plugin) Plugin {
	for _, admission := range slices.Backward(r.policy.Admissions) {
		p = Chain(admission, p)
	}
	return p
}

// Quotas reports whether anything that is enabled asks for Attempt.Quota.
func (r *Registry) Quotas() bool {
	return slices.ContainsFunc(r.Plugins(), func(p Plugin) bool { return p.Describe().Quota })
}

// Plugins returns what is enabled, in the order of Names, and last those that are asked before each of them.
func (r *Registry) Plugins() []Plugin {
	var plugins []Plugin
	for _, name := range r.Names() {
		plugins = append(plugins, r.plugins[name].plugin)
	}
	return append(plugins, r.policy.Admissions...)
}

// Owned returns the kinds of the objects that plugins may have made, enabled or not.
func (r *Registry) Owned() []schema.GroupVersionKind { return r.owned }

// SelectionRequest is the input of the scheduler selection.
type SelectionRequest struct {
	// Scheduling is what the application says.
	Scheduling spark.Scheduling
	Namespace  string
	// NamespaceAnnotations are those of the application's namespace; nil if they are not known.
	NamespaceAnnotations map[string]string
	// Driver is the driver's pod of an application that chooses its scheduler by it, and so may name the queue on it; nil for all others.
	Driver *spark.PodAttributes
	// Fields names the user's fields in messages.
	Fields spark.Fields
	// Recorded is what was chosen for this attempt before; nil for a new attempt. It stays as it is, whatever has become
	// of the defaults since. The plugin must still be enabled.
	Recorded *Choice
}

// Choice is what was chosen for an attempt. It is recorded in the application's status. Each may be empty.
type Choice struct {
	Scheduler string
	Source    Source
	Queue     string
	// Group is the object that represents the attempt in its scheduler: kind and name.
	Group string
	// Parameters are the configuration's, for what the application leaves out: an object in JSON.
	Parameters string
}

// Resolution is a choice with the plugin that it means.
type Resolution struct {
	Choice
	// Plugin is the chosen one, behind those that are asked first.
	Plugin Plugin
	// UsableQueues are patterns of the queues that the namespace may use; nil for all.
	UsableQueues []string
	// QueueFrom is the operator's policy whose default the queue is; "" for anything else.
	QueueFrom string
	// Refused are the fields that keep a plugin from being chosen. The admission says it in one sentence.
	Refused field.ErrorList
}

// Complete adds to an attempt what was chosen for it.
func (r Resolution) Complete(a Attempt) Attempt {
	a.Choice, a.UsableQueues, a.QueueFrom = r.Choice, r.UsableQueues, r.QueueFrom
	a.Parameters = WithDefaults(a.Parameters, r.Parameters)
	return a
}

// Resolve chooses the plugin and the queue: the application's, then a policy's, then its namespace's, then the cluster's. Without
// a plugin, or with a queue that the namespace may not use, the admission says so and the Resolution has no plugin.
func (r *Registry) Resolve(w SelectionRequest) (Resolution, Admission) {
	choice := r.choose(w)
	name := choice.Scheduler
	if name == NoScheduler && r.plain != "" {
		name = r.plain
	}
	c, known := r.plugins[name]
	d := c.own
	switch {
	case !known:
		return r.refuse(w, choice, ReasonSchedulerUnknown, "is not known to this operator")
	case !slices.Contains(r.policy.Enabled, name):
		return r.refuse(w, choice, ReasonSchedulerDisabled, "is not enabled (batchScheduler.enabled in the operator's configuration)")
	}
	choice.Scheduler = name
	choice.Queue = r.queue(w, choice, d)
	var beyond field.ErrorList
	if w.Recorded == nil {
		rules := r.rules(d, choice.Queue)
		choice.Parameters = rules.encoded()
		beyond = rules.beyond(w.Scheduling.Parameters, w.Fields.Path(FieldParameters),
			" (batchScheduler.plugins."+cmp.Or(d.AliasOf, d.Name)+" of the operator's configuration)")
	}
	resolution := Resolution{Choice: choice, Refused: beyond}
	if choice.Queue == w.Scheduling.Queue {
		resolution.QueueFrom = w.Scheduling.QueueFrom
	}
	if d.Supports.Queues {
		resolution.UsableQueues = usableQueues(r.policy.AllowedQueues, w.Namespace)
		if !mayUse(resolution.UsableQueues, choice.Queue) {
			conflict := queueForbidden(resolution, w)
			resolution.Refused = append(resolution.Refused, Invalid(conflict.Path, conflict.Problem))
			return resolution, conflict.Admission()
		}
	}
	if len(beyond) > 0 {
		return resolution, Admission{Verdict: Reject, Reason: ReasonInvalidParameters, Message: sentence(beyond)}
	}
	resolution.Plugin = c.asked
	return resolution, Admission{}
}

// choose returns the scheduler's name as it was written, and the source of the choice.
func (r *Registry) choose(w SelectionRequest) Choice {
	annotated := ""
	if r.policy.NamespaceDefaults {
		annotated = w.NamespaceAnnotations[AnnotationScheduler]
	}
	switch {
	case w.Recorded != nil:
		return *w.Recorded
	case w.Scheduling.SchedulerFrom != "":
		return Choice{Scheduler: w.Scheduling.Scheduler, Source: SourcePolicy}
	case w.Scheduling.Scheduler != "":
		return Choice{Scheduler: w.Scheduling.Scheduler, Source: SourceApplication}
	case annotated != "":
		return Choice{Scheduler: annotated, Source: SourceNamespace}
	}
	return Choice{Scheduler: r.policy.Default, Source: SourceCluster}
}

// queue returns the first queue that is named. What an annotation says is meant for the namespace's scheduler, if it
// names one: queues of the same name in two schedulers are two queues.
func (r *Registry) queue(w SelectionRequest, c Choice, d Descriptor) string {
	switch {
	case w.Recorded != nil:
		return c.Queue
	case w.Scheduling.Queue != "" && w.Scheduling.QueueFrom == "":
		return w.Scheduling.Queue
	case r.queueOf(w.Driver, d) != "":
		return r.queueOf(w.Driver, d)
	case w.Scheduling.Queue != "":
		return w.Scheduling.Queue
	case r.annotates(w, d):
		return w.NamespaceAnnotations[AnnotationQueue]
	}
	return cmp.Or(r.policy.DefaultQueues[d.Name], r.policy.DefaultQueues[d.AliasOf], d.DefaultQueue)
}

// queueOf is the queue that a pod names in the way of a scheduler's own; "" if it names none but the usual one.
func (r *Registry) queueOf(pod *spark.PodAttributes, d Descriptor) string {
	queuer, ok := r.plugins[d.Name].plugin.(Queuer)
	if pod == nil || !ok {
		return ""
	}
	if queue, known := queuer.QueueOf(*pod, nil); known && queue != d.DefaultQueue {
		return queue
	}
	return ""
}

// annotates is whether the namespace names a queue for this scheduler.
func (r *Registry) annotates(w SelectionRequest, d Descriptor) bool {
	chosen := w.NamespaceAnnotations[AnnotationScheduler]
	return r.policy.NamespaceDefaults && d.Supports.Queues && w.NamespaceAnnotations[AnnotationQueue] != "" && (chosen == "" || chosen == d.Name)
}

func (r *Registry) refuse(w SelectionRequest, c Choice, reason Reason, problem string) (Resolution, Admission) {
	where := map[Source]string{
		SourceApplication: w.Fields.Path(FieldScheduler), SourcePolicy: cmp.Or(w.Scheduling.SchedulerFrom, "a policy of the operator"),
		SourceNamespace: "the namespace's annotation " + AnnotationScheduler, SourceCluster: "batchScheduler.default",
	}[c.Source]
	refused := field.ErrorList{Invalid(where, fmt.Sprintf("%q %s; known: %s", c.Scheduler, problem, strings.Join(r.Names(), ", ")))}
	return Resolution{Choice: c, Refused: refused}, Admission{Verdict: Unavailable, Reason: reason, RetryAfter: unknownRetry, Message: sentence(refused)}
}
