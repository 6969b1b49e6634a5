// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// QueueRule says which namespaces may use which queues. Both are patterns in which * stands for any text, ? for any one
// character and [a-z] for a range.
type QueueRule struct {
	Namespaces []string
	Queues     []string
}

// usableQueues returns the patterns of the queues that a namespace may use; nil if there are no rules, and an empty list
// if no rule is for the namespace.
func usableQueues(rules []QueueRule, namespace string) []string {
	if len(rules) == 0 {
		return nil
	}
	queues := []string{}
	for _, rule := range rules {
		if matchesAny(rule.Namespaces, namespace) {
			queues = append(queues, rule.Queues...)
		}
	}
	slices.Sort(queues)
	return slices.Compact(queues)
}

// mayUse is whether the patterns admit the queue; nil admits all.
func mayUse(patterns []string, queue string) bool {
	return patterns == nil || matchesAny(patterns, queue)
}

// MayUse reports whether the application's namespace may use the queue.
func (a Attempt) MayUse(queue string) bool { return mayUse(a.UsableQueues, queue) }

// matchesAny reports whether one of the patterns matches. A queue's path has no slashes, so that * crosses its levels.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, err := path.Match(pattern, name)
		return err == nil && matched
	})
}

func queueForbidden(r Resolution, w SelectionRequest) Admission {
	what := fmt.Sprintf("queue %q may not be used from namespace %q", r.Queue, w.Namespace)
	if r.Queue == "" {
		what = fmt.Sprintf("namespace %q may not leave the queue to the scheduler", w.Namespace)
	}
	return Admission{Verdict: Reject, Reason: ReasonQueueForbidden, Message: fmt.Sprintf("%s: %s; %s", cmp.Or(r.QueueFrom, w.Fields.Path(FieldQueue)), what, Usable(r.UsableQueues))}
}

// Usable words the queues that somebody may use.
func Usable(queues []string) string {
	if len(queues) == 0 {
		return "there is no queue that you may use"
	}
	const most = 10 // a sentence, not a catalogue
	if extra := len(queues) - most; extra > 0 {
		return fmt.Sprintf("queues you may use: %s and %d more", strings.Join(queues[:most], ", "), extra)
	}
	return "queues you may use: " + strings.Join(queues, ", ")
}
