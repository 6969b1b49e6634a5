// SPDX-License-Identifier: Apache-2.0

package ground

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	// LabelRole distinguishes drivers from executors, as in Spark.
	LabelRole = "spark-role"
	driver    = "driver"
	executor  = "executor"
	// LabelExecutors is the number of executors that a driver with that label creates, and deletes after they have ended, as
	// Spark does. A driver without the label creates two, which stay.
	LabelExecutors = "bench.firesteel.dev/executors"
	usualExecutors = 2
	// AnnotationLasts is how long a driver runs, as Go writes durations; it is in stages.yaml, too.
	AnnotationLasts = "bench.firesteel.dev/lasts"
	// hands is the number of concurrent calls of the stand-in.
	hands = 8
)

// Protobuf is a copy of the configuration for built-in kinds, without a limit of calls.
func Protobuf(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.ContentType, cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	return cfg
}

// furnish creates the namespace with its service accounts, which no controller does here, and the node.
func furnish(ctx context.Context, client kubernetes.Interface) error {
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the namespace: %w", err)
	}
	for _, name := range []string{"default", "spark"} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().ServiceAccounts(Namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create service account %s: %w", name, err)
		}
	}
	played := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}}}
	if _, err := client.CoreV1().Nodes().Create(ctx, played, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the node: %w", err)
	}
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		now, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		return err == nil && now.Status.Phase == corev1.NodeRunning, err
	})
	if err != nil {
		return fmt.Errorf("wait for KWOK to make the node ready: %w", err)
	}
	return nil
}

// standIn is scheduler and drivers.
type standIn struct {
	client kubernetes.Interface
	jobs   chan func(context.Context) error
	// bound, driven and deleted are pods that were looked after already. Only the informer's one goroutine touches them.
	bound, driven, deleted map[types.UID]bool
}

// RunStandIn binds pods to the node, and creates executors for drivers that run, until the context ends.
func RunStandIn(ctx context.Context, cfg *rest.Config) error {
	client, err := kubernetes.NewForConfig(Protobuf(cfg))
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	s := &standIn{client: client, jobs: make(chan func(context.Context) error, 10_000), bound: map[types.UID]bool{},
		driven: map[types.UID]bool{}, deleted: map[types.UID]bool{}}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(Namespace))
	if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: s.see, UpdateFunc: func(_, pod any) { s.see(pod) },
	}); err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	factory.Start(ctx.Done())
	var working sync.WaitGroup
	for range hands {
		working.Go(func() { s.work(ctx) })
	}
	working.Wait()
	return nil
}

func (s *standIn) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-s.jobs:
			if err := job(ctx); err != nil && ctx.Err() == nil {
				fmt.Println(err) // into the log: an application that stays behind shows it
			}
		}
	}
}

func (s *standIn) see(o any) {
	pod, ok := o.(*corev1.Pod)
	switch {
	case !ok || pod.DeletionTimestamp != nil:
	case pod.Spec.NodeName == "" && !s.bound[pod.UID]:
		s.bound[pod.UID] = true
		s.jobs <- func(ctx context.Context) error { return Bind(ctx, s.client, pod) }
	case pod.Spec.NodeName == node && pod.Status.Phase == corev1.PodRunning && pod.Labels[LabelRole] == driver && !s.driven[pod.UID]:
		s.driven[pod.UID] = true
		for id := range executorsOf(pod) {
			s.jobs <- func(ctx context.Context) error { return s.createExecutor(ctx, pod, id+1) }
		}
	case pod.Status.Phase == corev1.PodSucceeded && pod.Labels[LabelRole] == executor && pod.Labels[LabelExecutors] != "" && !s.deleted[pod.UID]:
		s.deleted[pod.UID] = true
		s.jobs <- func(ctx context.Context) error {
			return s.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))
		}
	}
}

// executorsOf returns the number of executors that a driver creates.
func executorsOf(driver *corev1.Pod) int {
	if n, err := strconv.Atoi(driver.Labels[LabelExecutors]); err == nil {
		return n
	}
	return usualExecutors
}

// Bind gives the node to a pod, as a scheduler.
func Bind(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	return client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
}

// createExecutor does what a driver would: it creates a pod that it owns.
func (s *standIn) createExecutor(ctx context.Context, owner *corev1.Pod, id int) error {
	labels := maps.Clone(owner.Labels)
	labels[LabelRole], labels["spark-exec-id"] = executor, strconv.Itoa(id)
	_, err := s.client.CoreV1().Pods(owner.Namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-exec-%d", owner.Name, id), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("Pod"))},
		},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "spark-kubernetes-executor", Image: "spark"}}},
	}, metav1.CreateOptions{})
	return err
}
