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

// roleKeys are the properties that give the pods of a role their traits.
type roleKeys struct{ label, annotation, nodeSelector, scheduler string }

var (
	driverKeys = roleKeys{
		label: ConfDriverLabelPrefix, annotation: ConfDriverAnnotationPrefix,
		nodeSelector: ConfDriverNodeSelectorPrefix, scheduler: ConfDriverSchedulerName,
	}
	executorKeys = roleKeys{
		label: ConfExecutorLabelPrefix, annotation: ConfExecutorAnnotationPrefix,
		nodeSelector: confExecutorNodeSelectorPrefix, scheduler: ConfExecutorSchedulerName,
	}
)

// traits returns the traits of a role's pod, which has its template and its overlay already.
func (b *builder) traits(pod *corev1.Pod, keys roleKeys, overlay *PodOverlay) Traits {
	t := Traits{
		Labels: maps.Clone(pod.Labels), Annotations: maps.Clone(pod.Annotations), NodeSelector: maps.Clone(pod.Spec.NodeSelector),
		SchedulerName: pod.Spec.SchedulerName, PriorityClassName: pod.Spec.PriorityClassName,
		Tolerations: pod.Spec.Tolerations, Affinity: pod.Spec.Affinity,
	}
	b.addUnder(&t.Labels, keys.label)
	b.addUnder(&t.Annotations, keys.annotation)
	b.addUnder(&t.NodeSelector, ConfNodeSelectorPrefix)
	b.addUnder(&t.NodeSelector, keys.nodeSelector)
	for _, key := range []string{ConfSchedulerName, keys.scheduler} {
		if name, ok := b.conf.text(key); ok && name != "" && overlay.SchedulerName == "" {
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
