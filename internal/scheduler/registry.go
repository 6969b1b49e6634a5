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

// NoScheduler in spec.batchScheduler turns batch scheduling off. It selects the plugin with Descriptor.NoBatchScheduler, regardless of the defaults.
const NoScheduler = "none"

// Annotations of a Namespace that set defaults for its applications, if the configuration allows it.
const (
	AnnotationScheduler = "firesteel.dev/batch-scheduler"
	AnnotationQueue     = "firesteel.dev/queue"
)

// unknownRetry is the interval of checks for an application with an unknown scheduler. The scheduler may become known after a restart of the operator. An
// edit enqueues the application at once.
const unknownRetry = time.Minute

// Policy is the administrator's configuration of schedulers.
type Policy struct {
	// Default names the plugin of applications that name no scheduler.
	Default string
	// Enabled names the usable plugins. If it is empty, the default plugin and the plain one are usable.
	Enabled []string
	// PlainNames lets applications name any scheduler. A name that is no enabled plugin becomes the schedulerName of the pods.
	PlainNames bool
	// NamespaceDefaults lets the annotations of a namespace set defaults for its applications.
	NamespaceDefaults bool
	// DefaultQueues are the queues, by plugin, of applications that name no queue. They override Descriptor.DefaultQueue.
	DefaultQueues map[string]string
	// Parameters are defaults and bounds of plugin options, by plugin.
	Parameters map[string]PluginParameters
	// AllowedQueues restrict the queues that namespaces may use; without a rule, every namespace may use every queue.
	AllowedQueues []QueueRule
	// OwnApplications refuses pods that name another application to their scheduler.
	OwnApplications bool
	// Admissions are plugins, such as quota, that are asked in this order before the chosen plugin.
	Admissions []Plugin
}

// Registry holds the plugins of this operator. The main function fills it once; it is safe for concurrent use.
type Registry struct {
	policy  Policy
	plugins map[string]compiled
	plain   string
	owned   []schema.GroupVersionKind
}

// compiled is a plugin that is compiled in, enabled or not.
type compiled struct {
	plugin Plugin
	// own is the descriptor of the plugin alone, without admission plugins.
	own Descriptor
	// asked is the plugin, chained behind the admission plugins.
	asked Plugin
}

// NewRegistry returns a registry with all plugins enabled. fallback names the plugin of applications that name no scheduler.
func NewRegistry(fallback string, plugins ...Plugin) (*Registry, error) {
	names := make([]string, 0, len(plugins))
	for _, p := range plugins {
		names = append(names, p.Describe().Name)
	}
	return NewRegistryFor(Policy{Default: fallback, Enabled: names}, plugins...)
}

// NewRegistryFor returns a registry of the compiled plugins. It fails if the policy names an unknown plugin, or if two plugins have the same name. The error
// names the field of the configuration.
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

// nameTaken returns the error for a plugin with a reserved name.
func nameTaken(d Descriptor) error {
	if d.AliasOf == "" {
		return fmt.Errorf("two scheduler plugins are called %q", d.Name)
	}
	return fmt.Errorf("batchScheduler.plugins.%s.schedulerNames: %q is taken: write each name once, and no name of another plugin", d.AliasOf, d.Name)
}

// check returns an error for an unknown plugin name.
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

// NamespaceDefaults reports whether annotations of namespaces must be read.
func (r *Registry) NamespaceDefaults() bool { return r.policy.NamespaceDefaults }

// Plain returns the plain plugin for a name that no plugin has, if the configuration allows such a name as the schedulerName of the pods.
func (r *Registry) Plain(name string) (plugin string, plain bool) {
	_, served := r.Plugin(name)
	_, enabled := r.Plugin(r.plain)
	return r.plain, r.policy.PlainNames && name != "" && name != NoScheduler && !served && enabled
}

// Serving returns the enabled plugin for a schedulerName of pods. Without one, plugin is the plain plugin, and the pods keep their schedulerName. If the
// plain plugin is disabled, plugin is the schedulerName itself, which Resolve refuses.
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

// Plugin returns an enabled plugin by name, without the admission plugins.
func (r *Registry) Plugin(name string) (Plugin, bool) {
	c, known := r.plugins[name]
	return c.plugin, known && slices.Contains(r.policy.Enabled, name)
}

// Compiled returns a plugin by name, enabled or not, chained behind the admission plugins. Even a disabled plugin releases its objects.
func (r *Registry) Compiled(name string) (Plugin, bool) {
	c, known := r.plugins[name]
	return c.asked, known
}

// Observer returns a plugin, chained behind the admission plugins, if one of them is an Observer.
func (r *Registry) Observer(name string) (Plugin, bool) {
	p, enabled := r.Plugin(name)
	observes := slices.ContainsFunc(append([]Plugin{p}, r.policy.Admissions...), func(p Plugin) bool {
		_, ok := p.(Observer)
		return ok
	})
	return r.plugins[name].asked, enabled && observes
}

// chained chains a plugin behind the admission plugins.
func (r *Registry) chained(p Plugin) Plugin {
	for _, admission := range slices.Backward(r.policy.Admissions) {
		p = Chain(admission, p)
	}
	return p
}

// Quotas reports whether an enabled plugin has Descriptor.Quota.
func (r *Registry) Quotas() bool {
	return slices.ContainsFunc(r.Plugins(), func(p Plugin) bool { return p.Describe().Quota })
}

// Plugins returns the enabled plugins in the order of Names, followed by the admission plugins.
func (r *Registry) Plugins() []Plugin {
	var plugins []Plugin
	for _, name := range r.Names() {
		plugins = append(plugins, r.plugins[name].plugin)
	}
	return append(plugins, r.policy.Admissions...)
}

// Owned returns the kinds of the objects that plugins may have created, enabled or not.
func (r *Registry) Owned() []schema.GroupVersionKind { return r.owned }

// SelectionRequest is the input of the scheduler selection.
type SelectionRequest struct {
	// Scheduling has the scheduling fields of the application.
	Scheduling spark.Scheduling
	Namespace  string
	// NamespaceAnnotations are the annotations of the application's namespace; nil if unknown.
	NamespaceAnnotations map[string]string
	// Driver is the driver's pod if the application names its scheduler, and maybe its queue, on the pod; nil otherwise.
	Driver *spark.PodAttributes
	// Fields names the user's fields in messages.
	Fields spark.Fields
	// Recorded is the earlier choice for this attempt; nil for a new attempt. Later changes of defaults do not change the recorded choice, but its plugin must
	// still be enabled.
	Recorded *Choice
}

// Choice is the scheduling choice for an attempt, recorded in the application's status. Each field may be empty.
type Choice struct {
	Scheduler string
	Source    Source
	Queue     string
	// Group is the object that represents the attempt in its scheduler: kind and name.
	Group string
	// Parameters are the configured defaults of the parameters that the application omits, as a JSON object.
	Parameters string
}

// Resolution is a choice with its plugin.
type Resolution struct {
	Choice
	// Plugin is the chosen plugin, chained behind the admission plugins.
	Plugin Plugin
	// UsableQueues are patterns of the queues that the namespace may use; nil for all.
	UsableQueues []string
	// QueueFrom is the operator policy that supplied the queue as a default; "" if none did.
	QueueFrom string
	// Refused are errors in the fields that prevent the choice of a plugin. The Admission has them in one sentence.
	Refused field.ErrorList
}

// Complete adds the choice to an attempt.
func (r Resolution) Complete(a Attempt) Attempt {
	a.Choice, a.UsableQueues, a.QueueFrom = r.Choice, r.UsableQueues, r.QueueFrom
	a.Parameters = WithDefaults(a.Parameters, r.Parameters)
	return a
}

// Resolve chooses the plugin and the queue from the first of these that names one: the application, a policy, its namespace, the cluster's configuration. If
// no plugin can be chosen, or the namespace may not use the queue, the Admission explains it and the Resolution has no plugin.
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
	if choice.Queue = r.queue(w, choice, d); !d.Supports.Queues && w.Recorded == nil {
		choice.Queue = "" // Ignored warns of it
	}
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

// choose returns the scheduler's name as written, and the source of the choice.
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

// queue returns the first queue that is named. If the namespace names a scheduler, its queue annotation applies to that scheduler only: queues of the same
// name in two schedulers are different queues.
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

// queueOf returns the queue that a pod names in the way of its scheduler; "" if the pod names none or the default queue.
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

// annotates reports whether the namespace names a queue for this scheduler.
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
