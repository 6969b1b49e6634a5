// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/watch"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// driven is a driver pod that has existed.
type driven struct {
	app, name, specHash, submission string
	uid                             types.UID
	// seen is when the watch told of it, ended whether its container or the pod itself is gone.
	seen  time.Time
	ended bool
}

// history is every driver pod of a namespace since its beginning, from a watch that misses none, in the order of the
// API server. What must never happen is written down when it does.
type history struct {
	mu      sync.Mutex
	drivers map[types.UID][]*driven
	ids     map[string]types.UID
	wrong   []string
	total   int
	// changed is closed and replaced with each driver that comes or goes.
	changed chan struct{}
	// follow hears of each event, and of a new driver its number among those of its application; nil for no one.
	follow func(kind apiwatch.EventType, pod *corev1.Pod, n int)
}

func newHistory(follow func(apiwatch.EventType, *corev1.Pod, int)) *history {
	return &history{drivers: map[types.UID][]*driven{}, ids: map[string]types.UID{}, changed: make(chan struct{}), follow: follow}
}

// watchDrivers follows an empty namespace until the context ends.
func (l *lab) watchDrivers(ctx context.Context, namespace string, follow func(apiwatch.EventType, *corev1.Pod, int)) *history {
	GinkgoHelper()
	h := newHistory(follow)
	list, err := l.pods.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(list.Items).To(BeEmpty())
	w, err := watch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &toolscache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return l.pods.CoreV1().Pods(namespace).Watch(ctx, o)
		},
	})
	Expect(err).NotTo(HaveOccurred())
	go func() {
		for e := range w.ResultChan() {
			pod, ok := e.Object.(*corev1.Pod)
			if !ok {
				h.accuse("the watch is not complete: %v", e.Object)
				continue
			}
			n := h.add(e.Type, pod)
			if h.follow != nil {
				h.follow(e.Type, pod, n)
			}
		}
	}()
	return h
}

func (h *history) accuse(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wrong = append(h.wrong, fmt.Sprintf(format, args...))
}

// add takes one event and returns the number of the driver among those of its application.
func (h *history) add(kind apiwatch.EventType, pod *corev1.Pod) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if kind != apiwatch.Modified {
		close(h.changed)
		h.changed = make(chan struct{})
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		h.wrong = append(h.wrong, "pod "+pod.Name+" belongs to no one")
		return 0
	}
	all := h.drivers[owner.UID]
	if kind == apiwatch.Added {
		h.total++
		h.drivers[owner.UID] = append(all, &driven{
			app: owner.Name, name: pod.Name, specHash: pod.Labels[v1beta2.LabelSpecHash],
			submission: pod.Labels[v1beta2.LabelSubmissionID], uid: pod.UID, seen: time.Now(),
		})
		h.check(owner, pod, all)
		return len(all) + 1
	}
	for i, d := range all {
		if d.uid == pod.UID {
			d.ended = d.ended || kind == apiwatch.Deleted || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			return i + 1
		}
	}
	h.wrong = append(h.wrong, "pod "+pod.Name+" was never created")
	return 0
}

// check compares a new driver with those before it.
func (h *history) check(owner *metav1.OwnerReference, pod *corev1.Pod, before []*driven) {
	for _, d := range before {
		if !d.ended {
			h.wrong = append(h.wrong, fmt.Sprintf("%s: driver %s (%s) is created while %s (%s) lives", owner.Name, pod.Name, pod.UID, d.name, d.uid))
		}
	}
	id := pod.Labels[v1beta2.LabelSubmissionID]
	if first, twice := h.ids[string(owner.UID)+"/"+id]; twice {
		h.wrong = append(h.wrong, fmt.Sprintf("%s: drivers %s and %s are both of submission %s", owner.Name, first, pod.UID, id))
	}
	h.ids[string(owner.UID)+"/"+id] = pod.UID
	n := len(before) + 1
	if want := spark.NewIdentity(owner.UID, int32(n), time.Time{}).SubmissionID; id != want {
		h.wrong = append(h.wrong, fmt.Sprintf("%s: driver number %d is not of attempt %d: its submission is %s, not %s", owner.Name, n, n, id, want))
	}
}

// of returns copies of the drivers of an application.
func (h *history) of(app types.UID) []driven {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []driven
	for _, d := range h.drivers[app] {
		all = append(all, *d)
	}
	return all
}

func (h *history) violations() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.wrong...)
}

func (h *history) created() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total
}

// next returns a channel that is closed when the next driver comes or goes.
func (h *history) next() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}
