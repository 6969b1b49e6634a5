// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit/commandline"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// annotationExecutors is the number of executors that an imitated driver wants, as with dynamic allocation.
const annotationExecutors = "conformance.firesteel.dev/executors"

// annotationRefused is set after the API server has refused an executor of an imitated driver.
const annotationRefused = "conformance.firesteel.dev/refused"

// RunDrivers imitates the Spark drivers of the whole cluster until the context ends: a running driver pod has the number of
// executors of its configuration, and replaces ended ones.
func RunDrivers(ctx context.Context, cfg *rest.Config) error {
	roles, err := labels.Parse(spark.LabelRole + " in (" + spark.RoleDriver + "," + spark.RoleServer + "," + spark.RoleExecutor + ")")
	if err != nil {
		return fmt.Errorf("select Spark's pods: %w", err)
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: controller.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: roles}}},
	})
	if err != nil {
		return fmt.Errorf("make the manager of drivers: %w", err)
	}
	d := &drivers{client: mgr.GetClient(), live: mgr.GetAPIReader(), next: map[string]int{}}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return asAccount{next} })
	if d.own, err = client.New(cfg, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()}); err != nil {
		return fmt.Errorf("make the client of drivers: %w", err)
	}
	err = ctrl.NewControllerManagedBy(manager{mgr}).Named("drivers").
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(driverOf)).Complete(d)
	if err != nil {
		return fmt.Errorf("watch drivers: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run drivers: %w", err)
	}
	return nil
}

func driverOf(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetName()
	if owner := metav1.GetControllerOf(pod); pod.GetLabels()[spark.LabelRole] == spark.RoleExecutor {
		if owner == nil {
			return nil
		}
		name = owner.Name
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: pod.GetNamespace(), Name: name}}}
}

type drivers struct {
	client client.Client
	live   client.Reader
	// own writes as the account of the driver in the context, because webhooks look at the creator of a pod.
	own  client.Client
	next map[string]int // by the driver's UID; one worker, so no lock
}

// accountKey is the context's key of the account that sends a request.
type accountKey struct{}

// asAccount sends requests as the account in their context.
type asAccount struct{ next http.RoundTripper }

func (a asAccount) RoundTrip(r *http.Request) (*http.Response, error) {
	if name, ok := r.Context().Value(accountKey{}).(string); ok {
		r = r.Clone(r.Context())
		r.Header.Set("Impersonate-User", name)
		r.Header.Set("Impersonate-Group", masters)
	}
	return a.next.RoundTrip(r)
}

// Reconcile gives one driver its executors.
func (d *drivers) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var driver corev1.Pod
	if err := d.client.Get(ctx, r.NamespacedName, &driver); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := d.client.List(ctx, &pods, client.InNamespace(r.Namespace), client.MatchingLabels{spark.LabelRole: spark.RoleExecutor}); err != nil {
		return reconcile.Result{}, fmt.Errorf("list executors: %w", err)
	}
	var own []corev1.Pod
	for _, pod := range pods.Items {
		if metav1.IsControlledBy(&pod, &driver) && pod.DeletionTimestamp == nil {
			own = append(own, pod)
		}
	}
	switch {
	case driver.DeletionTimestamp != nil || driver.Status.Phase == corev1.PodPending:
		return reconcile.Result{}, nil
	case driver.Status.Phase != corev1.PodRunning:
		return reconcile.Result{}, d.delete(ctx, own)
	}
	conf, template, err := d.read(ctx, &driver)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, d.scale(ctx, &driver, own, conf, template)
}

// scale creates and deletes executors. The cache may lag behind, so what was created is remembered by its number.
func (d *drivers) scale(ctx context.Context, driver *corev1.Pod, own []corev1.Pod, conf map[string]string, template *corev1.Pod) error {
	wanted := initialExecutors(conf)
	if text := driver.Annotations[annotationExecutors]; text != "" {
		wanted, _ = strconv.Atoi(text)
	}
	var live, ended []corev1.Pod
	for _, pod := range own {
		if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			ended = append(ended, pod)
		} else {
			live = append(live, pod)
		}
	}
	if err := d.delete(ctx, ended); err != nil {
		return err
	}
	slices.SortFunc(live, func(a, b corev1.Pod) int { return number(a) - number(b) })
	if len(live) > wanted {
		return d.delete(ctx, live[wanted:])
	}
	as := context.WithValue(ctx, accountKey{}, fmt.Sprintf("system:serviceaccount:%s:%s", driver.Namespace, first(driver.Spec.ServiceAccountName, "default")))
	for missing := wanted - len(live); missing > 0; missing-- {
		pod, err := executor(driver, conf, template, d.next[string(driver.UID)]+1)
		if err != nil {
			return err
		}
		if err := d.own.Create(as, pod); apierrors.IsForbidden(err) { // e.g. by a quota: Spark retries, too
			return errors.Join(err, d.client.Patch(ctx, driver,
				client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+annotationRefused+`":"true"}}}`))))
		} else if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create executor: %w", err)
		}
		d.next[string(driver.UID)]++
		if lagging := d.seen(ctx, pod); lagging != nil {
			return lagging
		}
	}
	return nil
}

// seen waits for the cache to have the pod, so that it is not created twice.
func (d *drivers) seen(ctx context.Context, pod *corev1.Pod) error {
	return eventually(ctx, func() error {
		err := d.client.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})
		if apierrors.IsNotFound(err) && apierrors.IsNotFound(d.live.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})) {
			return nil
		}
		return err
	})
}

func number(pod corev1.Pod) int {
	n, _ := strconv.Atoi(pod.Labels[spark.LabelExecID])
	return n
}

func (d *drivers) delete(ctx context.Context, pods []corev1.Pod) error {
	for i := range pods {
		if err := d.client.Delete(ctx, &pods[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete executor: %w", err)
		}
	}
	return nil
}

// read returns what the driver would read from its volumes.
func (d *drivers) read(ctx context.Context, driver *corev1.Pod) (map[string]string, *corev1.Pod, error) {
	conf, template := map[string]string{}, &corev1.Pod{}
	for _, volume := range driver.Spec.Volumes {
		if volume.ConfigMap == nil {
			continue
		}
		var m corev1.ConfigMap
		if err := d.live.Get(ctx, client.ObjectKey{Namespace: driver.Namespace, Name: volume.ConfigMap.Name}, &m); err != nil {
			return nil, nil, fmt.Errorf("read the driver's configuration: %w", err)
		}
		if text, ok := m.Data["spark.properties"]; ok {
			var err error
			if conf, err = commandline.Properties(text); err != nil {
				return nil, nil, fmt.Errorf("read the driver's properties: %w", err)
			}
		}
		for _, key := range []string{"podspec-configmap-key", "executor-pod-template.yaml"} { // of a driver, and of a server
			text, ok := m.Data[key]
			if !ok {
				continue
			}
			if err := yaml.Unmarshal([]byte(text), template); err != nil {
				return nil, nil, fmt.Errorf("read the executors' template: %w", err)
			}
		}
	}
	return conf, template, nil
}

// initialExecutors follows Spark: dynamic allocation starts with the largest of its three numbers.
func initialExecutors(conf map[string]string) int {
	of := func(key string, otherwise int) int {
		if n, err := strconv.Atoi(conf[key]); err == nil {
			return n
		}
		return otherwise
	}
	switch {
	case strings.HasPrefix(conf["spark.kubernetes.driver.master"], "local"):
		return 0
	case conf["spark.dynamicAllocation.enabled"] == "true":
		return max(of("spark.dynamicAllocation.minExecutors", 0), of("spark.dynamicAllocation.initialExecutors", 0), of("spark.executor.instances", 0))
	}
	return of("spark.executor.instances", 2)
}

// executor builds an executor's pod as Spark does: the template, overridden by the configuration.
func executor(driver *corev1.Pod, conf map[string]string, template *corev1.Pod, id int) (*corev1.Pod, error) {
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: *template.Spec.DeepCopy()}
	prefix := conf["spark.kubernetes.executor.podNamePrefix"]
	if prefix == "" {
		prefix = strings.TrimSuffix(driver.Name, "-driver")
	}
	pod.Namespace, pod.Name = driver.Namespace, fmt.Sprintf("%s-exec-%d", prefix, id)
	pod.Labels, pod.Annotations = copied(template.Labels), copied(template.Annotations)
	pod.Spec.NodeSelector = copied(template.Spec.NodeSelector)
	for key, value := range conf {
		for prefix, target := range map[string]map[string]string{
			"spark.kubernetes.executor.label.": pod.Labels, "spark.kubernetes.executor.annotation.": pod.Annotations,
			"spark.kubernetes.node.selector.": pod.Spec.NodeSelector, "spark.kubernetes.executor.node.selector.": pod.Spec.NodeSelector,
		} {
			if name, ok := strings.CutPrefix(key, prefix); ok {
				target[name] = value
			}
		}
	}
	pod.Labels[spark.LabelAppSelector] = driver.Labels[spark.LabelAppSelector]
	pod.Labels[spark.LabelRole], pod.Labels[spark.LabelExecID] = spark.RoleExecutor, strconv.Itoa(id)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(driver, corev1.SchemeGroupVersion.WithKind("Pod"))}
	for _, key := range []string{"spark.kubernetes.scheduler.name", "spark.kubernetes.executor.scheduler.name"} {
		if conf[key] != "" {
			pod.Spec.SchedulerName = conf[key]
		}
	}
	pod.Spec.RestartPolicy, pod.Spec.TerminationGracePeriodSeconds = corev1.RestartPolicyNever, new(int64)
	if len(pod.Spec.Containers) == 0 {
		pod.Spec.Containers = []corev1.Container{{Name: spark.ExecutorContainerName}}
	}
	c := &pod.Spec.Containers[0]
	c.Image = driver.Spec.Containers[0].Image
	var err error
	c.Resources, err = executorResources(conf)
	return pod, err
}

func copied(m map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range m {
		out[key] = value
	}
	return out
}

// executorResources is Spark's arithmetic, written down a second time so that the operator's has something to be compared
// with.
func executorResources(conf map[string]string) (corev1.ResourceRequirements, error) {
	var none corev1.ResourceRequirements
	const mebi = 1 << 20
	heap, ok := spark.ParseSize(first(conf["spark.executor.memory"], "1g"), mebi)
	if !ok {
		return none, fmt.Errorf("spark.executor.memory: %q", conf["spark.executor.memory"])
	}
	overhead := max(heap/10, 384)
	if text := conf["spark.executor.memoryOverhead"]; text != "" {
		if overhead, ok = spark.ParseSize(text, mebi); !ok {
			return none, fmt.Errorf("spark.executor.memoryOverhead: %q", text)
		}
	}
	memory := *resource.NewQuantity((heap+overhead)*mebi, resource.BinarySI)
	cpu, err := resource.ParseQuantity(first(conf["spark.kubernetes.executor.request.cores"], conf["spark.executor.cores"], "1"))
	if err != nil {
		return none, fmt.Errorf("cores of an executor: %w", err)
	}
	r := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: memory},
	}
	if text := conf["spark.kubernetes.executor.limit.cores"]; text != "" {
		if r.Limits[corev1.ResourceCPU], err = resource.ParseQuantity(text); err != nil {
			return none, fmt.Errorf("limit of an executor's cores: %w", err)
		}
	}
	return r, nil
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
