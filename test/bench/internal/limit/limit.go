// SPDX-License-Identifier: Apache-2.0

// Package limit is a program in an operator's place. It makes only the necessary API calls, for the same objects, as soon as
// possible: no cache, no checks, no retries, no leader. The ratio of an operator's time to its time is the cost of the
// operator's decisions.
package limit

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
)

// Role is its name.
const Role = "limit"

const (
	// writers is the number of concurrently handled applications.
	writers = 16
	// backlog is the maximum number of waiting tasks of a writer.
	backlog = 10_000
)

type task func(ctx context.Context) error

type limit struct {
	core kubernetes.Interface
	apps rest.Interface
	// queues are one for each writer. An application has one writer, so that its states follow each other.
	queues [writers]chan task
	// known and phases are the observed pods; each is used by one informer's goroutine.
	known  map[types.UID]bool
	phases map[types.UID]corev1.PodPhase
}

// Run runs the stand-in until the context ends. It serves its readiness at an address.
func Run(ctx context.Context, cfg *rest.Config, ready string) error {
	core, err := kubernetes.NewForConfig(ground.Protobuf(cfg))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	apps, err := cluster.Applications(cfg, v1beta2.GroupVersion)
	if err != nil {
		return err
	}
	l := &limit{core: core, apps: apps, known: map[types.UID]bool{}, phases: map[types.UID]corev1.PodPhase{}}
	var working sync.WaitGroup
	for i := range l.queues {
		l.queues[i] = make(chan task, backlog)
		working.Go(func() { work(ctx, l.queues[i]) })
	}
	if err := l.watch(ctx); err != nil {
		return err
	}
	server := &http.Server{Addr: ready, ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return fmt.Errorf("say that it is ready: %w", err)
	}
	working.Wait()
	return nil
}

func (l *limit) watch(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(l.core, 0, informers.WithNamespace(ground.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = ground.LabelRole + "=driver"
		}))
	apps := cache.NewSharedIndexInformer(cache.NewListWatchFromClient(l.apps, cluster.Resource, ground.Namespace, fields.Everything()),
		&cluster.Application{}, 0, nil)
	for informer, see := range map[cache.SharedIndexInformer]func(any){apps: l.seeApplication, factory.Core().V1().Pods().Informer(): l.seeDriver} {
		registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, o any) { see(o) }})
		if err != nil {
			return fmt.Errorf("watch the cluster: %w", err)
		}
		go informer.Run(ctx.Done())
		if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
			return fmt.Errorf("watch the cluster: %w", ctx.Err())
		}
	}
	return nil
}

func work(ctx context.Context, queue <-chan task) {
	for {
		select {
		case <-ctx.Done():
			return
		case do := <-queue:
			if err := do(ctx); err != nil && ctx.Err() == nil {
				fmt.Println(err) // into the log: an application that stays behind shows it
			}
		}
	}
}

func (l *limit) give(application string, do task) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(application)) // it never fails
	l.queues[hash.Sum32()%writers] <- do
}

func (l *limit) seeApplication(o any) {
	if app, ok := o.(*cluster.Application); ok && !l.known[app.UID] {
		l.known[app.UID] = true
		l.give(app.Name, func(ctx context.Context) error { return l.submit(ctx, about{app.Name, app.UID}) })
	}
}

func (l *limit) seeDriver(o any) {
	pod, ok := o.(*corev1.Pod)
	if !ok || l.phases[pod.UID] == pod.Status.Phase {
		return
	}
	l.phases[pod.UID] = pod.Status.Phase
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return
	}
	a := about{owner.Name, owner.UID}
	switch pod.Status.Phase {
	case corev1.PodRunning:
		l.give(a.name, func(ctx context.Context) error { return l.report(ctx, a, "running", "status-running") })
	case corev1.PodSucceeded:
		l.give(a.name, func(ctx context.Context) error {
			return l.report(ctx, a, "completed", "status-succeeding", "status-completed")
		})
	default:
	}
}

// submit creates what a driver needs, and then the driver.
func (l *limit) submit(ctx context.Context, a about) error {
	now := time.Now()
	settings, err := decode[corev1.ConfigMap](a, "configmap", now)
	if err != nil {
		return err
	}
	service, err := decode[corev1.Service](a, "service", now)
	if err != nil {
		return err
	}
	driver, err := decode[corev1.Pod](a, "driver", now)
	if err != nil {
		return err
	}
	core, options := l.core.CoreV1(), metav1.CreateOptions{FieldManager: Role}
	if _, err := core.Services(ground.Namespace).Create(ctx, service, options); err != nil {
		return fmt.Errorf("create the service: %w", err)
	}
	if _, err := core.ConfigMaps(ground.Namespace).Create(ctx, settings, options); err != nil {
		return fmt.Errorf("create the settings: %w", err)
	}
	if _, err := core.Pods(ground.Namespace).Create(ctx, driver, options); err != nil {
		return fmt.Errorf("create the driver: %w", err)
	}
	return l.report(ctx, a, "submitted", "status-submitted")
}

// report writes statuses, and an event.
func (l *limit) report(ctx context.Context, a about, event string, statuses ...string) error {
	now := time.Now()
	for _, status := range statuses {
		patch, err := a.text(status, now)
		if err != nil {
			return err
		}
		err = l.apps.Patch(types.MergePatchType).Namespace(ground.Namespace).Resource(cluster.Resource).Name(a.name).SubResource("status").
			Param("fieldManager", Role).Body(patch).Do(ctx).Error()
		if err != nil {
			return fmt.Errorf("write %s: %w", status, err)
		}
	}
	news, err := decode[eventsv1.Event](a, "event-"+event, now)
	if err != nil {
		return err
	}
	_, err = l.core.EventsV1().Events(ground.Namespace).Create(ctx, news, metav1.CreateOptions{})
	return err
}
