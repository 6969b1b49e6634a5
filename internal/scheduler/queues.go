// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// Queuer is a plugin that knows where its scheduler reads the queue of a pod or object. With it, the queue rules also apply to pods on which users set the
// schedulerName themselves.
type Queuer interface {
	// QueueOf returns the queue of a pod in the scheduler; "" if the scheduler chooses the queue. made are the objects that are created together with the pod.
	// known is false if the queue depends on another object.
	QueueOf(pod spark.PodAttributes, made []*unstructured.Unstructured) (queue string, known bool)
	// QueueOfObject returns the queue of one of the scheduler's objects. known is false for any other object.
	QueueOfObject(*unstructured.Unstructured) (queue string, known bool)
}

// QueueConflict describes a queue that the namespace may not use.
type QueueConflict struct {
	// Path is the field to change, and Problem the reason.
	Path, Problem string
}

// Admission returns the answer for an attempt with the conflict.
func (c QueueConflict) Admission() Admission {
	return Admission{Verdict: Reject, Reason: ReasonQueueForbidden, Reversible: true, Message: c.Path + ": " + c.Problem}
}

// ForbiddenQueue finds decorated pods of an attempt that would enter a queue that their namespace may not use. It applies the rules of the scheduler that
// places the pods, which may not be the scheduler of p. made are the objects that are created together with the pods.
func (r *Registry) ForbiddenQueue(p Plugin, a Attempt, made []*unstructured.Unstructured) (QueueConflict, bool) {
	usable := usableQueues(r.policy.AllowedQueues, a.App.Namespace)
	if usable == nil {
		return QueueConflict{}, false
	}
	for _, object := range made {
		for _, name := range slices.Sorted(maps.Keys(r.plugins)) {
			queuer, ok := r.plugins[name].plugin.(Queuer)
			if !ok {
				continue
			}
			if queue, known := queuer.QueueOfObject(object); known && !mayUse(usable, queue) {
				what := fmt.Sprintf("%s %s is in queue %q, which may not be used from namespace %q; %s",
					object.GetKind(), object.GetName(), queue, a.App.Namespace, Usable(usable))
				return QueueConflict{a.Field(spark.FieldSparkConf), what}, true
			}
		}
	}
	for _, pod := range decoratedPods(p, a) {
		if conflict, found := r.podConflict(p, a, pod, usable, made); found {
			return conflict, true
		}
	}
	return QueueConflict{}, false
}

// rolePod is the pod of a role as its scheduler sees it.
type rolePod struct {
	role spark.Word
	spark.PodAttributes
	// given is the PriorityClass that the plugin gives to a pod without one; "" for none.
	given string
}

// podsOf returns a pod of each role.
func podsOf(a Attempt) []rolePod {
	return []rolePod{{role: spark.WordDriver, PodAttributes: a.PodSets.DriverAttributes}, {role: spark.WordExecutor, PodAttributes: a.PodSets.ExecutorAttributes}}
}

// decoratedPods returns the pods of both roles. It returns none if the plugin fails, because the plugin's answer reports the failure.
func decoratedPods(p Plugin, a Attempt) []rolePod {
	d, err := decorationOf(p, a)
	if err != nil {
		return nil
	}
	pods := podsOf(a)
	for i, overlay := range []spark.PodOverlay{d.Driver, d.Executor} {
		pods[i].given = overlay.PriorityClassName
		pods[i].Labels, pods[i].Annotations = over(pods[i].Labels, overlay.Labels), over(pods[i].Annotations, overlay.Annotations)
		if name := p.Describe().SchedulerName; name != "" {
			pods[i].SchedulerName = name
		}
	}
	return pods
}

func over(below, above map[string]string) map[string]string {
	all := maps.Clone(below)
	for key, value := range above {
		SetIn(&all, key, value)
	}
	return all
}

// podConflict checks the queue of one pod.
func (r *Registry) podConflict(p Plugin, a Attempt, pod rolePod, usable []string, made []*unstructured.Unstructured) (QueueConflict, bool) {
	queuer, name := r.queuer(pod.SchedulerName)
	if queuer == nil {
		return QueueConflict{}, false
	}
	queue, known := queuer.QueueOf(pod.PodAttributes, made)
	if known && mayUse(usable, queue) || !known && name == a.Scheduler { // the plugin checks the objects that its own pods name
		return QueueConflict{}, false
	}
	field := a.QueueField()
	if p.Describe().SchedulerName == "" {
		field = a.Field(spark.Field(pod.role + ".schedulerName"))
	}
	role := a.Word(pod.role)
	what := fmt.Sprintf("the %s pod enters queue %q of the scheduler %s, which may not be used from namespace %q",
		role, queue, pod.SchedulerName, a.App.Namespace)
	switch {
	case !known:
		what = fmt.Sprintf("the queue of the %s pod in the scheduler %s is unknown before the pod is created; write %s: %s instead",
			role, pod.SchedulerName, a.Field(FieldScheduler), name)
	case queue == "":
		what = fmt.Sprintf("the %s pod names no queue for the scheduler %s, but namespace %q must name one", role, pod.SchedulerName, a.App.Namespace)
	}
	return QueueConflict{field, what + "; " + Usable(usable)}, true
}

// queuer returns the plugin of a scheduler, enabled or not, if it is a Queuer.
func (r *Registry) queuer(schedulerName string) (Queuer, string) {
	name := r.placing(schedulerName)
	queuer, _ := r.plugins[name].plugin.(Queuer)
	return queuer, name
}

// placing returns the plugin whose scheduler places pods with this schedulerName, enabled or not; "" if there is none.
func (r *Registry) placing(schedulerName string) string {
	for _, name := range slices.Sorted(maps.Keys(r.plugins)) {
		if schedulerName != "" && r.plugins[name].own.SchedulerName == schedulerName {
			return name
		}
	}
	return ""
}

// placement returns the PriorityClasses that the pods may have, and the plugins whose schedulers place them. Where a pod and the application both name a
// class, both are returned: the plugin and the pod's template decide between them.
func (r *Registry) placement(p Plugin, a Attempt) (classes, plugins []string) {
	for _, pod := range decoratedPods(p, a) {
		if pod.given != "" {
			classes = append(classes, pod.given)
		}
		if pod.PriorityClassName != "" || pod.given == "" {
			classes = append(classes, pod.PriorityClassName)
		}
		if name := r.placing(pod.SchedulerName); name != "" {
			plugins = append(plugins, name)
		}
	}
	slices.Sort(classes)
	slices.Sort(plugins)
	return slices.Compact(classes), slices.Compact(plugins)
}

// QueueRule allows namespaces to use queues. Both are patterns: * matches any text, ? any one character and [a-z] a range.
type QueueRule struct {
	Namespaces []string
	Queues     []string
}

// usableQueues returns the patterns of the queues that a namespace may use; nil without rules, empty if no rule covers the
// namespace.
func usableQueues(rules []QueueRule, namespace string) []string {
	if len(rules) == 0 {
		return nil
	}
	queues := []string{}
	for _, rule := range rules {
		if text.MatchesAny(rule.Namespaces, namespace) {
			queues = append(queues, rule.Queues...)
		}
	}
	slices.Sort(queues)
	return slices.Compact(queues)
}

// mayUse reports whether the patterns match the queue; nil matches all.
func mayUse(patterns []string, queue string) bool {
	return patterns == nil || text.MatchesAny(patterns, queue)
}

// MayUse reports whether the application's namespace may use the queue.
func (a Attempt) MayUse(queue string) bool { return mayUse(a.UsableQueues, queue) }

func queueForbidden(r Resolution, w SelectionRequest) QueueConflict {
	what := fmt.Sprintf("queue %q may not be used from namespace %q", r.Queue, w.Namespace)
	if r.Queue == "" {
		what = fmt.Sprintf("namespace %q must name a queue", w.Namespace)
	}
	return QueueConflict{cmp.Or(r.QueueFrom, w.Fields.Path(FieldQueue)), what + "; " + Usable(r.UsableQueues)}
}

// Usable lists the usable queues, in a sentence.
func Usable(queues []string) string {
	if len(queues) == 0 {
		return "there is no queue that you may use"
	}
	const most = 10 // keeps the sentence short
	if extra := len(queues) - most; extra > 0 {
		return fmt.Sprintf("queues you may use: %s and %d more", strings.Join(queues[:most], ", "), extra)
	}
	return "queues you may use: " + strings.Join(queues, ", ")
}
