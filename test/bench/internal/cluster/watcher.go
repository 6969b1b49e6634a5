// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
)

const (
	labelApplication = "sparkoperator.k8s.io/app-name"
	driver           = "driver"
	// heartbeat is how often a wait looks whether everybody still lives.
	heartbeat = time.Second
)

// Watcher follows applications and their drivers.
type Watcher struct {
	mu   sync.Mutex
	apps map[string]*Seen
	// news is closed and replaced at each change.
	news chan struct{}
}

// Watch watches a namespace, or all namespaces for "", until the context ends.
func Watch(ctx context.Context, cfg *rest.Config, apps rest.Interface, namespace string) (*Watcher, error) {
	w := &Watcher{apps: map[string]*Seen{}, news: make(chan struct{})}
	pods, err := kubernetes.NewForConfig(ground.Protobuf(cfg))
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(pods, 0, informers.WithNamespace(namespace))
	followed := []cache.SharedIndexInformer{
		cache.NewSharedIndexInformer(cache.NewListWatchFromClient(apps, Resource, namespace, fields.Everything()), &Application{}, 0, nil),
		factory.Core().V1().Pods().Informer(),
	}
	var synced []cache.InformerSynced
	for _, informer := range followed {
		registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: w.see, UpdateFunc: func(_, o any) { w.see(o) }})
		if err != nil {
			return nil, fmt.Errorf("watch the cluster: %w", err)
		}
		synced = append(synced, registered.HasSynced)
		go informer.Run(ctx.Done())
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, fmt.Errorf("watch the cluster: %w", ctx.Err())
	}
	return w, nil
}

func (w *Watcher) see(o any) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch o := o.(type) {
	case *Application:
		w.seeApplication(o, now)
	case *corev1.Pod:
		if o.Labels[ground.LabelRole] == driver {
			w.seeDriver(o, now)
		} else if o.Status.Phase == corev1.PodSucceeded {
			w.of(applicationOf(o)).Ended[o.UID] = true
		}
	}
	close(w.news)
	w.news = make(chan struct{})
}

func (w *Watcher) seeApplication(o *Application, now time.Time) {
	a := w.of(o.Name)
	if state := o.state(); state != a.State() && (state != "" || len(a.States) == 0) {
		a.States = append(a.States, Shown{State: state, At: now})
	}
	a.submissions, a.executions = o.Status.Submissions, o.Status.Executions
}

func (w *Watcher) seeDriver(o *corev1.Pod, now time.Time) {
	a := w.of(applicationOf(o))
	if _, known := a.Drivers[o.UID]; !known {
		a.Drivers[o.UID] = now
	}
	if o.Status.Phase == corev1.PodRunning && a.Running.IsZero() {
		a.Running = now
	}
	if o.Status.Phase == corev1.PodSucceeded && a.Succeeded.IsZero() {
		a.Succeeded = now
	}
}

// applicationOf is the name of the application of a pod.
func applicationOf(o *corev1.Pod) string {
	return cmp.Or(o.Labels[labelApplication], o.Labels[v1.LabelAppName])
}

func (w *Watcher) of(name string) *Seen {
	a := w.apps[name]
	if a == nil {
		a = &Seen{Drivers: map[types.UID]time.Time{}, Ended: map[types.UID]bool{}}
		w.apps[name] = a
	}
	return a
}

// expect notes when the request to create an application is sent.
func (w *Watcher) expect(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of(name).Created = time.Now()
}

// Of returns the histories of some applications.
func (w *Watcher) Of(names []string) []Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Seen
	for _, name := range names {
		a := *w.of(name)
		a.States, a.Drivers, a.Ended = slices.Clone(a.States), maps.Clone(a.Drivers), maps.Clone(a.Ended)
		out = append(out, a)
	}
	return out
}

// Fingerprints returns the fingerprints of some applications.
func (w *Watcher) Fingerprints(names []string) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]string{}
	for _, name := range names {
		out[name] = w.of(name).Fingerprint()
	}
	return out
}

// Wait waits until a condition holds for the given number of applications. It returns early after a failure of a process.
func (w *Watcher) Wait(ctx context.Context, what string, names []string, want int, is func(*Seen) bool, failed func() error) error {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		w.mu.Lock()
		got, news := 0, w.news
		for _, name := range names {
			if is(w.of(name)) {
				got++
			}
		}
		w.mu.Unlock()
		if got >= want {
			return nil
		}
		if err := failed(); err != nil {
			return fmt.Errorf("wait until %d of %d applications %s: so far %d: %w", want, len(names), what, got, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %d of %d applications %s: so far %d: %w", want, len(names), what, got, context.Cause(ctx))
		case <-ticker.C:
		case <-news:
		}
	}
}
