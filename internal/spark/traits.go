// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// Traits are what schedulers mind about a pod beside its size: template, overlay and configuration together.
type Traits struct {
	Labels            map[string]string
	Annotations       map[string]string
	SchedulerName     string
	PriorityClassName string
	NodeSelector      map[string]string
	Tolerations       []corev1.Toleration
	Affinity          *corev1.Affinity
}

// traitsOf returns the traits of a pod as it is.
func traitsOf(pod *corev1.Pod) Traits {
	return Traits{
		Labels: maps.Clone(pod.Labels), Annotations: maps.Clone(pod.Annotations), NodeSelector: maps.Clone(pod.Spec.NodeSelector),
		SchedulerName: pod.Spec.SchedulerName, PriorityClassName: pod.Spec.PriorityClassName,
		Tolerations: pod.Spec.Tolerations, Affinity: pod.Spec.Affinity,
	}
}

// executorTraits are those of the executors' pod, with what their driver will add from its configuration.
func (b *builder) executorTraits() Traits {
	t := traitsOf(b.executor)
	b.addUnder(&t.Labels, ConfExecutorLabelPrefix)
	b.addUnder(&t.Annotations, ConfExecutorAnnotationPrefix)
	b.addUnder(&t.NodeSelector, ConfNodeSelectorPrefix)
	b.addUnder(&t.NodeSelector, confExecutorNodeSelectorPrefix)
	for _, key := range []string{ConfSchedulerName, ConfExecutorSchedulerName} {
		if name, ok := b.conf.text(key); ok && name != "" && b.app.Executor.Overlay.SchedulerName == "" {
			t.SchedulerName = name
		}
	}
	return t
}

func (b *builder) addUnder(target *map[string]string, prefix string) {
	for _, key := range b.conf.under(prefix) {
		setIn(target, key[len(prefix):], b.conf.values[key])
	}
}
