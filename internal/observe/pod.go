// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Pod is what is read of a pod of an application, judged when it arrives. The cache holds nothing else: with thousands of executors pods
// are most of the operator's memory. It must not be changed.
type Pod struct {
	// ObjectMeta has names, the version, and of what is no executor the UID, the time of its creation and the controller.
	metav1.ObjectMeta
	// labels are those that are read. Those of all executors of an attempt are one text.
	labels unique.Handle[string]
	// runsDriver is whether its role is that of a pod in which a driver runs, and driver what is known of it as one; nil for an executor.
	// What families call differently is not in it.
	runsDriver bool
	driver     *lifecycle.Driver
	// executor is the zero value for any other pod.
	executor lifecycle.Executor
	status   scheduler.PodStatus
	// container is the name of Spark's.
	container string
}

var _ client.Object = (*Pod)(nil)

// GetObjectKind implements runtime.Object. The kind of a cached pod is not read.
func (*Pod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. What a pod leads to is never changed, and can be shared.
func (p *Pod) DeepCopyObject() runtime.Object {
	out := *p
	return &out
}

// GetLabels returns the labels that are read. The map is the caller's.
func (p *Pod) GetLabels() map[string]string {
	all := map[string]string{}
	for pair := range strings.SplitSeq(p.labels.Value(), ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			all[key] = value
		}
	}
	return all
}

// label returns one label.
func (p *Pod) label(key string) string {
	for pair := range strings.SplitSeq(p.labels.Value(), ",") {
		if value, ok := strings.CutPrefix(pair, key); ok && strings.HasPrefix(value, "=") {
			return value[1:]
		}
	}
	return ""
}

// Ended reports whether the pod holds no room on a node any more.
func (p *Pod) Ended() bool { return ended(p.status.Phase) }

func ended(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// DriverPhase is the phase of a driver; "" if none runs in the pod.
func (p *Pod) DriverPhase() lifecycle.DriverPhase {
	if !p.runsDriver {
		return ""
	}
	return p.driver.Phase
}

// labelsRead are the labels of pods that are read for families, sorted.
func labelsRead(families ...lifecycle.Labels) []string {
	keys := []string{spark.LabelRole, spark.LabelAppSelector}
	for _, f := range families {
		keys = append(keys, f.App, f.Submission, f.SpecHash)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// podOf returns what is read of a pod, and the labels with some keys.
func podOf(pod *corev1.Pod, keys []string) *Pod {
	p := &Pod{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: shared(pod.Namespace), ResourceVersion: pod.ResourceVersion},
		labels:     unique.Make(labelsOf(pod, keys)),
		status:     scheduler.PodStatusOf(pod),
		runsDriver: spark.RunsDriver(pod.Labels),
		container:  SparkContainer(pod),
	}
	if len(p.status.Gates) > maxReferences {
		p.status.Gates = slices.Clone(p.status.Gates[:maxReferences])
	}
	if pod.Labels[spark.LabelRole] == spark.RoleExecutor {
		p.executor = executorOf(pod)
		p.status = lean(p.status)
		return p
	}
	p.UID, p.CreationTimestamp, p.DeletionTimestamp = pod.UID, pod.CreationTimestamp, pod.DeletionTimestamp
	p.OwnerReferences = keptOwners(pod)
	p.status.Conditions = keptConditions(p.status.Conditions)
	driver := driverOf(pod)
	p.driver = &driver
	return p
}

// keptOwners are the controller of an object, or its first owner if none is.
func keptOwners(o metav1.Object) []metav1.OwnerReference {
	if owner := metav1.GetControllerOf(o); owner != nil {
		return []metav1.OwnerReference{*owner}
	}
	all := o.GetOwnerReferences()
	return slices.Clone(all[:min(len(all), 1)])
}

// labelsOf writes the labels of a pod that have some keys. Neither keys nor values have a comma or an equals sign.
func labelsOf(pod *corev1.Pod, keys []string) string {
	var text strings.Builder
	for _, key := range keys {
		if value, ok := pod.Labels[key]; ok {
			fmt.Fprintf(&text, "%s=%s,", key, value)
		}
	}
	return text.String()
}

// lean is the status of an executor as it is cached: with no condition but those that say what is wrong, and with the words of many
// executors once.
func lean(s scheduler.PodStatus) scheduler.PodStatus {
	var kept []corev1.PodCondition
	for _, c := range s.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse || c.Type == corev1.DisruptionTarget {
			c.Type, c.Status, c.Reason, c.Message = shared(c.Type), shared(c.Status), shared(c.Reason), shared(c.Message)
			kept = append(kept, c)
		}
	}
	s.Conditions = kept
	s.Phase, s.Reason, s.Message, s.Node, s.SchedulerName = shared(s.Phase), shared(s.Reason), shared(s.Message), shared(s.Node), shared(s.SchedulerName)
	return s
}

// shared is a text that many objects have, so that most of them have the same.
func shared[S ~string](s S) S { return unique.Make(s).Value() }

// CachePod returns the transform of the cache of pods. It never fails.
func CachePod(families ...lifecycle.Labels) toolscache.TransformFunc {
	keys := labelsRead(families...)
	return func(o any) (any, error) {
		if pod, ok := o.(*corev1.Pod); ok {
			return podOf(pod, keys), nil
		}
		return o, nil // a tombstone, or one that has come this way before
	}
}

// Pods finds pods of applications. What it returns must not be changed.
type Pods interface {
	// OfApp returns the pods in a namespace that have a label with the name of an application.
	OfApp(ctx context.Context, namespace, label, app string) ([]*Pod, error)
	// Get returns a pod by its name. The error is NotFound if there is none.
	Get(ctx context.Context, key client.ObjectKey) (*Pod, error)
}

// IndexPods returns the index that CachedPods needs, over the labels by which families name the application of a pod.
func IndexPods(labels ...string) toolscache.Indexers {
	byApp := IndexByApp(labels...)
	return toolscache.Indexers{IndexApp: func(o any) ([]string, error) {
		pod, ok := o.(*Pod)
		if !ok {
			return nil, fmt.Errorf("a %T is cached as a pod", o)
		}
		keys := byApp(pod)
		for i := range keys {
			keys[i] = pod.Namespace + "/" + keys[i]
		}
		return keys, nil
	}}
}

// CachedPods are the pods in the stores of an informer with IndexPods and CachePod; store returns that of a namespace.
func CachedPods(store func(ctx context.Context, namespace string) (toolscache.Indexer, error)) Pods {
	return cachedPods(store)
}

type cachedPods func(ctx context.Context, namespace string) (toolscache.Indexer, error)

// OfApp implements Pods.
func (c cachedPods) OfApp(ctx context.Context, namespace, label, app string) ([]*Pod, error) {
	store, err := c(ctx, namespace)
	if err != nil {
		return nil, err
	}
	found, err := store.ByIndex(IndexApp, namespace+"/"+indexValue(label, app))
	if err != nil {
		return nil, fmt.Errorf("read the index of pods: %w", err)
	}
	pods := make([]*Pod, 0, len(found))
	for _, o := range found {
		if pod, ok := o.(*Pod); ok {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// Get implements Pods.
func (c cachedPods) Get(ctx context.Context, key client.ObjectKey) (*Pod, error) {
	store, err := c(ctx, key.Namespace)
	if err != nil {
		return nil, err
	}
	found, exists, err := store.GetByKey(key.String())
	if err != nil {
		return nil, fmt.Errorf("read cached pod %s: %w", key, err)
	}
	if pod, ok := found.(*Pod); ok && exists {
		return pod, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), key.Name)
}

// readPods are the pods that a client reads.
type readPods struct {
	from client.Reader
	keys []string
}

// OfApp implements Pods. An API server refuses to look for what no label can say: there are no pods of such an application.
func (c readPods) OfApp(ctx context.Context, namespace, label, app string) ([]*Pod, error) {
	if len(validation.IsValidLabelValue(app)) > 0 {
		return nil, nil
	}
	var list corev1.PodList
	if err := c.from.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{label: app}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	pods := make([]*Pod, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, podOf(&list.Items[i], c.keys))
	}
	return pods, nil
}

// Get implements Pods.
func (c readPods) Get(ctx context.Context, key client.ObjectKey) (*Pod, error) {
	var pod corev1.Pod
	if err := c.from.Get(ctx, key, &pod); err != nil {
		return nil, err
	}
	return podOf(&pod, c.keys), nil
}
