// SPDX-License-Identifier: Apache-2.0

// Package observe is the only reader of the cluster. It converts objects into the values that the pure packages decide on. Uncertain values are unknown, never
// absent.
package observe

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// IndexApp is the field index of pods by the application's name.
const IndexApp = "app"

// Reader reads the cluster.
type Reader struct {
	// Labels are the labels of the family.
	Labels lifecycle.Labels
	// Cache has only the operator's objects, and may be stale.
	Cache client.Reader
	// Pods are the cached pods; nil for the pods of Cache.
	Pods Pods
	// Live reads from the API server.
	Live client.Reader
	// Kinds reads the objects of scheduler plugins; Live if nil.
	Kinds client.Reader
	// Deleted reports whether an object of Kinds was just deleted, so that only a stale cache still has it; nil for never.
	Deleted func(types.UID) bool
	// Whole reports whether Kinds lists a kind in all namespaces, and not only in some; nil for always.
	Whole func(schema.GroupVersionKind) bool
	// Owned lists the watched objects of a scheduler's kind with a value in the index IndexByApp; nil for none.
	Owned func(ctx context.Context, kind schema.GroupVersionKind, namespace, value string) ([]unstructured.Unstructured, error)
	// Auxiliary reads the auxiliary objects of drivers; Live if nil.
	Auxiliary Auxiliary
	// Logs returns the last lines of a log; nil if logs must not be read.
	Logs func(context.Context, Log) (string, error)
	// Dial connects to server pods, for their sessions; nil for the default dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Target selects the pods of an application.
type Target struct {
	Namespace string
	App       string
	UID       types.UID
	// Owner is the reference to the application.
	Owner      metav1.OwnerReference
	DriverName string
	// DriverUID is the UID of the last driver known to have been created, if any. Another driver in the cache is either older and deleted, or newer with a lost
	// response. The API server decides.
	DriverUID string
	// NextName is the name of the next driver, if an edit has changed the name.
	NextName     string
	SubmissionID string
	// Cached lets the cache alone prove absence. It is for observations that neither start nor end anything.
	Cached bool
	// LogTails restricts the driver's output that is shown.
	LogTails lifecycle.LogTails
	// Now is the time of the observation.
	Now time.Time
}

// another reports whether a cached driver is not the one known to have been created.
func (t Target) another(pod *Pod) bool {
	return t.DriverUID != "" && string(pod.UID) != t.DriverUID
}

// mountTime is how long a scheduled pod may take to mount its volumes before its events are read. Listing events reads the whole namespace from etcd, and
// almost every driver starts within this time.
const mountTime = 5 * time.Second

// Observe returns the state of the application's pods. If the cache lacks the driver, Observe reads it live, by its name and then by its label. There is no
// live read before the first submission, because the create reports an existing driver, or if the target allows the cache alone.
func (r Reader) Observe(ctx context.Context, t Target, rec lifecycle.Record) (lifecycle.Observation, error) {
	all, err := r.pods(ctx, t)
	if err != nil {
		return lifecycle.Observation{}, err
	}
	o, err := r.attempt(ctx, all, t, rec)
	o.Strays = r.strays(all, t, o.Driver)
	return o, err
}

// strays returns the drivers of other attempts; none if the presence of the followed driver is unknown. A pod without the label belongs to another operator.
func (r Reader) strays(pods []*Pod, t Target, followed lifecycle.Driver) []lifecycle.Driver {
	if followed.Presence == lifecycle.Unknown {
		return nil
	}
	var all []lifecycle.Driver
	for _, pod := range pods {
		named := pod.Name == t.DriverName || pod.Name == t.NextName || pod.Name == followed.Name
		if pod.runsDriver && !named && pod.label(r.Labels.Submission) != "" && r.ownership(pod, t) == lifecycle.Previous {
			d := *pod.driver
			d.Ownership = lifecycle.Previous
			all = append(all, d)
		}
	}
	return all
}

// attempt observes the current attempt.
func (r Reader) attempt(ctx context.Context, all []*Pod, t Target, rec lifecycle.Record) (lifecycle.Observation, error) {
	pods := r.marked(all, t.SubmissionID)
	o := lifecycle.Observation{Executors: executorsOf(pods)}
	for _, pod := range pods {
		// The label comes first, because an edit may have renamed the driver.
		if !pod.runsDriver || r.ownership(pod, t) != lifecycle.Current {
			continue
		}
		switch {
		case !t.another(pod):
			o.Driver = r.driver(ctx, pod, t, rec)
			return o, nil
		case t.Cached:
			o.Driver = lifecycle.Driver{Presence: lifecycle.Unknown, Name: pod.Name}
			return o, nil
		}
	}
	var err error
	o.Driver, err = r.named(ctx, t, rec)
	if err == nil && o.Driver.Ownership == lifecycle.Previous && o.Driver.SubmissionID == "" && rec.SubmissionID == "" {
		// The driver is another operator's, which did not label attempts.
		o.Executors = executorsOf(r.marked(all, ""))
		return o, nil
	}
	if err == nil && rec.State != lifecycle.New && !t.Cached && o.Driver.Presence != lifecycle.Unknown &&
		o.Driver.Ownership != lifecycle.Current && o.Driver.Ownership != lifecycle.Previous {
		return o, r.renamed(ctx, t, rec, &o.Driver)
	}
	return o, err
}

// renamed looks for a driver under a name that is not recorded. A reconcile may have created it after an edit, and crashed before its status write.
func (r Reader) renamed(ctx context.Context, t Target, rec lifecycle.Record, d *lifecycle.Driver) error {
	pods, err := r.Drivers(ctx, t.Namespace, t.SubmissionID)
	if err != nil {
		*d = lifecycle.Driver{Presence: lifecycle.Unknown, Name: t.DriverName}
		return ctx.Err()
	}
	for _, found := range pods {
		if pod, ok := found.(*corev1.Pod); ok && r.ownership(pod, t) == lifecycle.Current {
			*d = r.driver(ctx, podOf(pod, labelsRead(r.Labels)), t, rec)
			return nil
		}
	}
	if d.Presence == lifecycle.Absent && t.NextName != "" && t.NextName != t.DriverName {
		t.DriverName = t.NextName
		*d, err = r.named(ctx, t, rec)
	}
	return err
}

// Orphans reports whether the cache has a driver of the application that is alive and not being deleted.
func (r Reader) Orphans(ctx context.Context, app client.Object) (bool, error) {
	pods, err := r.pods(ctx, Target{Namespace: app.GetNamespace(), App: app.GetName()})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(pods, func(pod *Pod) bool {
		phase := pod.DriverPhase()
		return (phase == lifecycle.DriverPending || phase == lifecycle.DriverRunning) && pod.DeletionTimestamp == nil &&
			r.ownership(pod, Target{UID: app.GetUID()}) != lifecycle.NotOwned
	}), nil
}

// ownership returns the ownership of a pod.
func (r Reader) ownership(pod metav1.Object, t Target) lifecycle.Ownership {
	return lifecycle.Owner{Reference: metav1.OwnerReference{UID: t.UID}, SubmissionID: t.SubmissionID, Labels: r.Labels}.Of(pod)
}

// named returns the pod with the driver's name, whoever owns it.
func (r Reader) named(ctx context.Context, t Target, rec lifecycle.Record) (lifecycle.Driver, error) {
	key := client.ObjectKey{Namespace: t.Namespace, Name: t.DriverName}
	pod, err := r.cached().Get(ctx, key)
	// A stale cache may have the previous attempt's driver under the same name.
	outdated := err == nil && (t.another(pod) || !rec.State.Starting() && r.ownership(pod, t) != lifecycle.Current)
	if outdated || apierrors.IsNotFound(err) && rec.State != lifecycle.New && !t.Cached {
		pod, err = r.podsOf(r.Live).Get(ctx, key)
	}
	switch {
	case apierrors.IsNotFound(err):
		return lifecycle.Driver{Presence: lifecycle.Absent, Name: t.DriverName}, nil
	case ctx.Err() != nil:
		return lifecycle.Driver{}, fmt.Errorf("get driver pod %s: %w", key, ctx.Err())
	case err != nil:
		return lifecycle.Driver{Presence: lifecycle.Unknown, Name: t.DriverName}, nil //nolint:nilerr // a failing API server proves nothing about the pod
	}
	return r.driver(ctx, pod, t, rec), nil
}

// driver converts a pod to a driver. If an executor has the driver's name, it counts as another owner's pod.
func (r Reader) driver(ctx context.Context, pod *Pod, t Target, rec lifecycle.Record) lifecycle.Driver {
	if pod.driver == nil {
		return lifecycle.Driver{Presence: lifecycle.Present, Ownership: lifecycle.NotOwned, Name: pod.Name}
	}
	d := *pod.driver
	d.SubmissionID, d.SpecHash, d.Ownership = pod.label(r.Labels.Submission), pod.label(r.Labels.SpecHash), r.ownership(pod, t)
	d.Predecessor = d.Ownership == lifecycle.NotOwned && lifecycle.Owner{Reference: t.Owner}.Predecessor(pod)
	r.complete(ctx, &d, pod, t, rec)
	return d
}

// cached returns the cached pods.
func (r Reader) cached() Pods {
	if r.Pods != nil {
		return r.Pods
	}
	return r.podsOf(r.Cache)
}

// podsOf returns the pods as a client reads them.
func (r Reader) podsOf(from client.Reader) Pods { return readPods{from, labelsRead(r.Labels)} }

// pods lists the cached pods of the application.
func (r Reader) pods(ctx context.Context, t Target) ([]*Pod, error) {
	all, err := r.cached().OfApp(ctx, t.Namespace, r.Labels.App, t.App)
	if err != nil {
		return nil, fmt.Errorf("list pods of %s/%s: %w", t.Namespace, t.App, err)
	}
	return all, nil
}

// marked returns the pods with an attempt's label.
func (r Reader) marked(all []*Pod, submissionID string) []*Pod {
	return slices.DeleteFunc(slices.Clone(all), func(pod *Pod) bool { return pod.label(r.Labels.Submission) != submissionID })
}

func executorsOf(pods []*Pod) []lifecycle.Executor {
	var all []lifecycle.Executor
	for _, pod := range pods {
		if pod.driver == nil {
			all = append(all, pod.executor)
		}
	}
	slices.SortFunc(all, func(a, b lifecycle.Executor) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Drivers returns the live driver pods of an attempt, whatever their names.
func (r Reader) Drivers(ctx context.Context, namespace, submissionID string) ([]client.Object, error) {
	var list corev1.PodList
	if err := r.listDrivers(ctx, &list, namespace, r.Labels.Submission, submissionID); err != nil {
		return nil, fmt.Errorf("list driver pods in %s: %w", namespace, err)
	}
	pods := make([]client.Object, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	return pods, nil
}

// resourceKinds are the kinds of a submission's objects other than the driver pod.
func resourceKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Service"),
		corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	}
}

// Resources returns the metadata of an attempt's live objects, without its driver pod.
func (r Reader) Resources(ctx context.Context, namespace, submissionID string) ([]client.Object, error) {
	var all []client.Object
	for _, kind := range resourceKinds() {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(kind)
		if err := r.Live.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{r.Labels.Submission: submissionID}); err != nil {
			return nil, fmt.Errorf("list %ss in %s: %w", kind.Kind, namespace, err)
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind)
			all = append(all, &list.Items[i])
		}
	}
	return all, nil
}

// Existing returns the live object with the kind, namespace and name of obj; nil if there is none.
func (r Reader) Existing(ctx context.Context, obj client.Object) (client.Object, error) {
	found, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an object with metadata", obj)
	}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(obj), found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	return found, nil
}

// Fresh reports whether an object is unchanged since the cache read it.
func (r Reader) Fresh(ctx context.Context, obj client.Object, kind schema.GroupVersionKind) (bool, error) {
	var found metav1.PartialObjectMetadata
	found.SetGroupVersionKind(kind)
	switch err := r.Live.Get(ctx, client.ObjectKeyFromObject(obj), &found); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get the metadata of %s %s: %w", kind.Kind, client.ObjectKeyFromObject(obj), err)
	}
	return found.UID == obj.GetUID() && found.ResourceVersion == obj.GetResourceVersion(), nil
}
