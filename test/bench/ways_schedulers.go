// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
)

var (
	volcanoGroups = schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "podgroups"}
	volcanoQueues = schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"}
)

const (
	// volcanoQueue is where all wait: Volcano's own, if an application names none.
	volcanoQueue = "default"
	// repeats is the period in which Volcano's library repeats an event of an object: it limits events.
	repeats = 5 * time.Minute
)

// createQueues creates the queues that Volcano creates at its start, and one for each tenant.
func createQueues(ctx context.Context, w *environment) error {
	for _, name := range append([]string{"root", volcanoQueue}, w.tenants()...) {
		queue := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"weight": int64(1)}, "status": map[string]any{"state": "Open"},
		}}
		queue.SetGroupVersionKind(volcanoQueues.GroupVersion().WithKind("Queue"))
		made, err := w.dynamic.Resource(volcanoQueues).Create(ctx, queue, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create queue %s: %w", name, err)
		}
		made.Object["status"] = map[string]any{"state": "Open"}
		if _, err := w.dynamic.Resource(volcanoQueues).UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("open queue %s: %w", name, err)
		}
	}
	return nil
}

// groups waits until each waiting application has a group.
func (w *environment) groups(ctx context.Context) ([]unstructured.Unstructured, error) {
	for {
		list, err := w.dynamic.Resource(volcanoGroups).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list groups: %w", err)
		}
		if len(list.Items) >= w.size {
			return list.Items, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait until %d applications have groups: so far %d: %w", w.size, len(list.Items), context.Cause(ctx))
		case <-time.After(quiet):
		}
	}
}

// each does something for all objects, several at a time.
func each[T any](ctx context.Context, all []T, name func(*T) string, do func(context.Context, *T) error) error {
	byName, names := map[string]*T{}, []string{}
	for i := range all {
		names = append(names, name(&all[i]))
		byName[names[i]] = &all[i]
	}
	return cluster.Each(ctx, names, func(ctx context.Context, name string) error { return do(ctx, byName[name]) })
}

func (w *environment) setPhase(ctx context.Context, groups []unstructured.Unstructured, phase string) error {
	patch := fmt.Appendf(nil, `{"status": {"phase": %q}}`, phase)
	return each(ctx, groups, (*unstructured.Unstructured).GetName, func(ctx context.Context, g *unstructured.Unstructured) error {
		if _, err := w.dynamic.Resource(volcanoGroups).Namespace(g.GetNamespace()).Patch(ctx, g.GetName(),
			types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("set the phase of a group: %w", err)
		}
		return nil
	})
}

// leavePending writes what Volcano writes for groups without room: an event with the reason.
func leavePending(ctx context.Context, w *environment) error {
	groups, err := w.groups(ctx)
	if err != nil {
		return err
	}
	if err := w.setPhase(ctx, groups, "Pending"); err != nil {
		return err
	}
	return each(ctx, groups, (*unstructured.Unstructured).GetName, func(ctx context.Context, g *unstructured.Unstructured) error {
		about := corev1.ObjectReference{APIVersion: g.GetAPIVersion(), Kind: g.GetKind(), Namespace: g.GetNamespace(), Name: g.GetName(), UID: g.GetUID()}
		return w.say(ctx, about, "volcano", "Unschedulable", "queue resource quota insufficient: insufficient cpu")
	})
}

// say writes an event as a scheduler.
func (w *environment) say(ctx context.Context, about corev1.ObjectReference, who, reason, words string) error {
	now := metav1.Now()
	said := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: about.Name + "." + who, Namespace: about.Namespace},
		InvolvedObject: about, Type: corev1.EventTypeNormal, Reason: reason, Message: words,
		Source: corev1.EventSource{Component: who}, ReportingController: who, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	if _, err := w.client.CoreV1().Events(about.Namespace).Create(ctx, said, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	return nil
}

// repeatEvents writes what Volcano writes continuously: the changing usage of queues each second, and repeated events.
func repeatEvents(ctx context.Context, w *environment) {
	groups, err := w.groups(ctx)
	if err != nil {
		return
	}
	pace := rate.NewLimiter(rate.Every(repeats/time.Duration(len(groups))), 1)
	next := time.Now()
	for i := 0; pace.Wait(ctx) == nil; i++ {
		g := &groups[i%len(groups)]
		patch := fmt.Appendf(nil, `{"count": %d, "lastTimestamp": %q}`, i/len(groups)+2, time.Now().UTC().Format(time.RFC3339))
		_, _ = w.client.CoreV1().Events(g.GetNamespace()).Patch(ctx, g.GetName()+".volcano", types.MergePatchType, patch, metav1.PatchOptions{})
		if time.Now().Before(next) {
			continue
		}
		next = time.Now().Add(time.Second)
		patch = fmt.Appendf(nil, `{"status": {"allocated": {"cpu": "%d"}}}`, 100+next.Unix()%100)
		_, _ = w.dynamic.Resource(volcanoQueues).Patch(ctx, volcanoQueue, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	}
}

func admitGroups(ctx context.Context, w *environment, some int) error {
	groups, err := w.groups(ctx)
	if err != nil {
		return err
	}
	return w.setPhase(ctx, groups[:some], "Inqueue")
}

// drivers are the pods that wait.
func (w *environment) drivers(ctx context.Context) ([]corev1.Pod, error) {
	pods, err := w.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: ground.LabelRole + "=driver"})
	if err != nil {
		return nil, fmt.Errorf("list drivers: %w", err)
	}
	return pods.Items, nil
}

// sayQueued writes what YuniKorn writes for pods without room: an event, but no condition.
func sayQueued(ctx context.Context, w *environment) error {
	pods, err := w.drivers(ctx)
	if err != nil {
		return err
	}
	return each(ctx, pods, podKey, func(ctx context.Context, p *corev1.Pod) error {
		about := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}
		return w.say(ctx, about, "yunikorn", "Informational", "Request does not fit in queue")
	})
}

func podKey(p *corev1.Pod) string { return p.Name }

// sayUnschedulable writes what kube-scheduler writes for such pods.
func sayUnschedulable(ctx context.Context, w *environment) error {
	pods, err := w.drivers(ctx)
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", `+
		`"message": "0/1 nodes are available: 1 Insufficient cpu.", "lastTransitionTime": %q}]}}`,
		time.Now().UTC().Format(time.RFC3339))
	return each(ctx, pods, podKey, func(ctx context.Context, p *corev1.Pod) error {
		if _, err := w.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return fmt.Errorf("say why a pod waits: %w", err)
		}
		return nil
	})
}

// bind gives nodes to some drivers, which run then and end.
func bind(ctx context.Context, w *environment, some int) error {
	pods, err := w.drivers(ctx)
	if err != nil {
		return err
	}
	return each(ctx, pods[:some], podKey, func(ctx context.Context, p *corev1.Pod) error { return ground.Bind(ctx, w.client, p) })
}
