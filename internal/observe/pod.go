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

// Pod is the cached part of an application's pod. It has only what the operator reads, because thousands of executor pods take most of the operator's memory.
// It is read-only.
type Pod struct {
	// ObjectMeta has names and the resourceVersion. Pods that are no executors also have UID, creation time and controller.
	metav1.ObjectMeta
	// labels are the labels that the operator reads. All executors of an attempt share one string.
	labels unique.Handle[string]
	// runsDriver is set if the pod has a driver's role. driver is its state, without the parts that differ between families; nil for an executor.
	runsDriver bool
	driver     *lifecycle.Driver
	// executor is zero for a pod that is no executor.
	executor lifecycle.Executor
	status   scheduler.PodStatus
	// container is the name of Spark's container.
	container string
}

var _ client.Object = (*Pod)(nil)

// GetObjectKind implements runtime.Object. It returns no kind, because no reader of cached pods needs it.
func (*Pod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. The copies share the referenced values, which never change.
func (p *Pod) DeepCopyObject() runtime.Object {
	out := *p
	return &out
}

// GetLabels returns the cached labels as a new map.
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

// Ended reports whether the pod no longer takes resources of a node.
func (p *Pod) Ended() bool { return ended(p.status.Phase) }

func ended(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// DriverPhase returns the phase of a driver; "" for other pods.
func (p *Pod) DriverPhase() lifecycle.DriverPhase {
	if !p.runsDriver {
		return ""
	}
	return p.driver.Phase
}

// labelsRead returns the keys of the pod labels that families read, sorted.
func labelsRead(families ...lifecycle.Labels) []string {
	keys := []string{spark.LabelRole, spark.LabelAppSelector}
	for _, f := range families {
		keys = append(keys, f.App, f.Submission, f.SpecHash)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// podOf returns the cached part of a pod, with the labels of keys.
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

// keptOwners returns the controller of an object; its first owner if it has no controller.
func keptOwners(o metav1.Object) []metav1.OwnerReference {
	if owner := metav1.GetControllerOf(o); owner != nil {
		return []metav1.OwnerReference{*owner}
	}
	all := o.GetOwnerReferences()
	return slices.Clone(all[:min(len(all), 1)])
}

// labelsOf encodes the labels of keys as one string. Keys and values contain neither commas nor equals signs.
func labelsOf(pod *corev1.Pod, keys []string) string {
	var text strings.Builder
	for _, key := range keys {
		if value, ok := pod.Labels[key]; ok {
			fmt.Fprintf(&text, "%s=%s,", key, value)
		}
	}
	return text.String()
}

// lean returns the cached status of an executor. It has only conditions about errors, and shares its strings with other executors.
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

// shared returns the single copy of a string that many objects have.
func shared[S ~string](s S) S { return unique.Make(s).Value() }

// CachePod returns the transform of the pod cache. It never fails.
func CachePod(families ...lifecycle.Labels) toolscache.TransformFunc {
	keys := labelsRead(families...)
	return func(o any) (any, error) {
		if pod, ok := o.(*corev1.Pod); ok {
			return podOf(pod, keys), nil
		}
		return o, nil // a tombstone, or an already converted pod
	}
}

// Pods finds pods of applications. The returned pods are read-only.
type Pods interface {
	// OfApp returns the pods in a namespace whose label is an application's name.
	OfApp(ctx context.Context, namespace, label, app string) ([]*Pod, error)
	// Get returns a pod by name, or a NotFound error.
	Get(ctx context.Context, key client.ObjectKey) (*Pod, error)
}

// IndexPods returns the index of CachedPods. labels are the families' labels with an application's name.
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

// CachedPods returns the pods in the stores of an informer with IndexPods and CachePod. store returns the store of a namespace.
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

// readPods implements Pods with a client.
type readPods struct {
	from client.Reader
	keys []string
}

// OfApp implements Pods. A name that is no valid label value has no pods, and the API server would refuse it.
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
