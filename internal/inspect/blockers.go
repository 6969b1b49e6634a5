// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// blockers returns the lines of quotas in which an object waits, with the objects ahead and the largest users of the resource. unread lists the objects that
// could not be read.
func (c *Cluster) blockers(ctx context.Context, operators Installation, o Object, reason scheduler.Reason,
	now time.Time) (lines []explain.Line, unread []string) {
	if !slices.Contains(quotaReasons, reason) {
		return nil, nil
	}
	items, err := c.ListObjects(ctx, waitingTypes, false, everything)
	if err != nil {
		return nil, []string{"other waiting objects: " + ForPeople(err).Error()}
	}
	q, doubt := c.linesOf(ctx, operators, items, false, now)
	if doubt != "" {
		unread = append(unread, doubt)
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(o.GetNamespace())); err != nil {
		unread = append(unread, "users of the quotas: "+ForPeople(err).Error())
	}
	for _, at := range q.positions[o.GetUID()] {
		line := explain.Line{
			Namespace: cmp.Or(at.Namespace, "*"), Quota: at.Quota, Resource: string(at.Resource), Position: at.Position, Asked: at.Asked,
			Ahead: q.ahead(at, o.GetNamespace()),
		}
		for _, s := range q.lines {
			if s.Line == at.Line {
				line.Waiting, line.Used, line.Limit = s.Waiting, s.Used, s.Limit
			}
		}
		if at.Namespace != "" {
			line.Holders = holders(items, pods.Items, at.Resource)
		}
		lines = append(lines, line)
	}
	return lines, unread
}

// ahead returns the names of objects ahead of a position, the ones that start next.
func (q *quotaLines) ahead(mine scheduler.Position, namespace string) []string {
	type other struct {
		name     string
		position int
	}
	var others []other
	seen := map[scheduler.Key]bool{}
	for _, w := range q.waiting {
		for _, p := range q.positions[w.App.UID] {
			if p.Line == mine.Line && p.Position < mine.Position && !seen[w.App.Key()] {
				seen[w.App.Key()] = true
				others = append(others, other{nameOf(w.App, namespace), p.Position})
			}
		}
	}
	slices.SortFunc(others, func(a, b other) int { return cmp.Compare(a.position, b.position) })
	var names []string
	for _, o := range others[:min(len(others), explain.MostNamed)] {
		names = append(names, o.name)
	}
	return names
}

// nameOf returns an object's name as an argument of commands. It includes the namespace if that is not the given one.
func nameOf(app scheduler.App, namespace string) string {
	name := app.Name
	for _, k := range []Type{Servers, Clusters} {
		if app.Kind == k.GroupKind() {
			name = k.Typed(name)
		}
	}
	if app.Namespace != namespace {
		name = app.Namespace + "/" + name
	}
	return name
}

// holders returns the objects with the largest usage of a resource.
func holders(items []Object, pods []corev1.Pod, of corev1.ResourceName) []explain.Holder {
	var all []explain.Holder
	for _, o := range items {
		var uses resource.Quantity
		for i := range pods {
			if pods[i].Labels[o.Family.Labels.App] == o.GetName() && pods[i].Status.Phase != corev1.PodSucceeded && pods[i].Status.Phase != corev1.PodFailed {
				uses.Add(usedBy(&pods[i], of))
			}
		}
		if !uses.IsZero() {
			all = append(all, explain.Holder{Name: o.Plain(), Uses: uses})
		}
	}
	slices.SortStableFunc(all, func(a, b explain.Holder) int { return b.Uses.Cmp(a.Uses) })
	return all[:min(len(all), explain.MostNamed)]
}

// usedBy returns a pod's usage of a resource as a quota counts it. The resource has the name that the quota uses.
func usedBy(pod *corev1.Pod, of corev1.ResourceName) resource.Quantity {
	if of == corev1.ResourcePods || of == "count/pods" {
		return *resource.NewQuantity(1, resource.DecimalSI)
	}
	name, limits := strings.CutPrefix(string(of), "limits.")
	name = strings.TrimPrefix(name, corev1.DefaultResourceRequestsPrefix)
	var sum resource.Quantity
	for i := range pod.Spec.Containers {
		r := pod.Spec.Containers[i].Resources
		list := map[bool]corev1.ResourceList{true: r.Limits, false: r.Requests}[limits]
		sum.Add(list[corev1.ResourceName(name)])
	}
	sum.Add(pod.Spec.Overhead[corev1.ResourceName(name)])
	return sum
}
