// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// defaultInstances is Spark's default number of executors.
const defaultInstances = 2

// measure computes the executors' pod with its sizes, the requests and limits of both roles (CPU in cores, memory in bytes), and the initial, minimum and
// maximum number of executors.
func (b *builder) measure() {
	b.executor, b.executorContainer = b.executorPod()
	if b.conf.err != nil {
		return
	}
	b.sizeExecutor(&b.executor.Spec.Containers[b.executorContainer])
	s := &b.shapes
	s.Driver, s.Executor = resourcesOf(&b.pod.Spec), resourcesOf(&b.executor.Spec)
	s.DriverAttributes, s.ExecutorAttributes = attributesOf(b.pod), b.executorAttributes()
	s.Initial, s.Min, s.Max = executors(b.conf)
	s.MaxPending = maxPending(b.conf)
}

// sizeExecutor sets the resources of an executor's container as the driver will set them.
func (b *builder) sizeExecutor(container *corev1.Container) {
	total := executorMemory.total(b.conf, b.language, b.profile)
	if b.conf.flag(ConfOffHeapEnabled, false) {
		total += b.conf.size(ConfOffHeapSize, 1) / mebibyte
	}
	if b.resourceType() == LanguagePython && b.conf.has(ConfExecutorPySparkMemory) {
		total += b.conf.mebibytes(ConfExecutorPySparkMemory)
	}
	request := ConfExecutorCores
	if b.conf.has(ConfExecutorRequestCores) {
		request = ConfExecutorRequestCores
	} else {
		b.conf.number(ConfExecutorCores)
	}
	memory := b.conf.quantityOfMiB(ConfExecutorMemory, total)
	setResources(&container.Resources, b.conf.quantity(request), memory)
	if b.conf.has(ConfExecutorLimitCores) {
		container.Resources.Limits[corev1.ResourceCPU] = b.conf.quantity(ConfExecutorLimitCores)
	}
	b.conf.customResources(ConfExecutorResourcePrefix, container.Resources.Limits)
}

// resourceType returns the language that determines the size of executors. For a server only the configuration has it, because clients run the programs.
func (b *builder) resourceType() Language {
	if b.mode.inPod {
		value, _ := b.conf.text(confResourceType)
		return Language(value)
	}
	return b.language
}

// InitialExecutors returns the initial and the minimum number of executors; 0 if the configuration has no such numbers.
func InitialExecutors(app Application) (initial, least int32) {
	conf := newConf(mergeConf(&app), app.Submitter.Env)
	initial, least, _ = executors(conf)
	if conf.err != nil {
		return 0, 0
	}
	return initial, least
}

// DriverMemory returns the memory of the driver's JVM and the overhead of its container, in bytes; 0 if the configuration has no such numbers.
func DriverMemory(app Application) (heap, overhead int64) {
	profile, err := ProfileOf(app)
	if err != nil {
		return 0, 0
	}
	conf := newConf(mergeConf(&app), app.Submitter.Env)
	total := driverMemory.total(conf, languageOf(&app), profile)
	heap = conf.mebibytes(ConfDriverMemory)
	if conf.err != nil || heap <= 0 || total < heap || total > math.MaxInt64/mebibyte {
		return 0, 0
	}
	return heap * mebibyte, (total - heap) * mebibyte
}

// executors returns the numbers of executors. Properties: spark.executor.instances, spark.dynamicAllocation.* and
// spark.streaming.dynamicAllocation.*.
func executors(c *conf) (initial, minimum, maximum int32) {
	instances := int32(0)
	if c.has(ConfExecutorInstances) {
		if instances = int32(c.number(ConfExecutorInstances)); instances < 0 {
			value, _ := c.text(ConfExecutorInstances)
			c.fail(ConfExecutorInstances, value, "must not be negative")
		}
	}
	if !c.flag(ConfDynamicAllocation, false) {
		if !c.has(ConfExecutorInstances) {
			instances = defaultInstances
		}
		if c.flag(ConfStreamingAllocation, false) {
			return instances, instances, max(instances, int32(c.number(ConfStreamingMaxExecutors)))
		}
		return instances, instances, instances
	}
	minimum, maximum = int32(c.number(ConfMinExecutors)), int32(c.number(ConfMaxExecutors))
	initial = max(minimum, int32(c.number(ConfInitialExecutors)), instances)
	if value, _ := c.text(ConfMinExecutors); minimum < 0 {
		c.fail(ConfMinExecutors, value, `must not be negative; write e.g. "0"`)
	}
	if value, _ := c.text(ConfMaxExecutors); maximum < minimum || maximum == 0 {
		c.fail(ConfMaxExecutors, value, "must be positive and not smaller than "+ConfMinExecutors)
	}
	// Spark may be configured to start with more than the maximum.
	return initial, minimum, max(initial, maximum)
}

// maxPending reads spark.kubernetes.allocation.maxPendingPods; 0 for no limit. The driver refuses an invalid value.
func maxPending(c *conf) int32 {
	value, _ := c.text(confMaxPendingPods)
	limit, err := strconv.ParseInt(trimJava(value), 10, 32)
	if err != nil || limit < 1 || limit == math.MaxInt32 { // the largest number is Spark's default
		return 0
	}
	return int32(limit)
}

// resourcesOf adds up a pod as the kube-scheduler and quotas do. As in the API server, a missing request is the limit.
func resourcesOf(spec *corev1.PodSpec) PodResources {
	return added(&corev1.PodSpec{
		Containers: requesting(spec.Containers), InitContainers: requesting(spec.InitContainers), Resources: spec.Resources.DeepCopy(), Overhead: spec.Overhead,
	})
}

// added adds up the parts of a pod.
func added(parts *corev1.PodSpec) PodResources {
	var options resource.PodResourcesOptions
	pod := &corev1.Pod{Spec: *parts}
	if whole := pod.Spec.Resources; whole != nil {
		fillRequests(whole, resource.AggregateContainerRequests(pod, options))
	}
	return PodResources{Requests: resource.PodRequests(pod, options), Limits: resource.PodLimits(pod, options), Parts: parts}
}

// requesting returns the resources of containers, with missing requests filled in.
func requesting(containers []corev1.Container) []corev1.Container {
	filled := make([]corev1.Container, len(containers))
	for i := range containers {
		c := &containers[i]
		filled[i] = corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy, Resources: *c.Resources.DeepCopy()}
		fillRequests(&filled[i].Resources, nil)
	}
	return filled
}

// WithDefaults returns the pod after a LimitRange has filled in the missing requests and limits of its containers. Without Parts it counts as one container.
func (r PodResources) WithDefaults(requests, limits corev1.ResourceList) PodResources {
	switch {
	case len(requests)+len(limits) == 0:
		return r
	case r.Parts == nil:
		return PodResources{Requests: filled(r.Requests, requests), Limits: filled(r.Limits, limits)}
	}
	parts := r.Parts.DeepCopy()
	for _, list := range [][]corev1.Container{parts.Containers, parts.InitContainers} {
		for i := range list {
			own := &list[i].Resources
			own.Requests, own.Limits = filled(own.Requests, requests), filled(own.Limits, limits)
		}
	}
	return added(parts)
}

// filled returns a list with missing resources from another.
func filled(list, defaults corev1.ResourceList) corev1.ResourceList {
	all := corev1.ResourceList{}
	maps.Copy(all, defaults)
	maps.Copy(all, list)
	return all
}

// fillRequests adds a request for each resource with a limit and without a request, neither here nor in already.
func fillRequests(r *corev1.ResourceRequirements, already corev1.ResourceList) {
	for name, quantity := range r.Limits {
		_, here := r.Requests[name]
		if _, there := already[name]; here || there {
			continue
		}
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Requests[name] = quantity
	}
}

// PodAttributes are the parts of a pod that schedulers read, other than its size. They come from template, overlay and configuration together.
type PodAttributes struct {
	Labels            map[string]string
	Annotations       map[string]string
	SchedulerName     string
	PriorityClassName string
	NodeSelector      map[string]string
	Tolerations       []corev1.Toleration
	Affinity          *corev1.Affinity
	// Deadline is set if the pod has activeDeadlineSeconds.
	Deadline bool
}

// attributesOf returns the attributes of a pod.
func attributesOf(pod *corev1.Pod) PodAttributes {
	return PodAttributes{
		Labels: maps.Clone(pod.Labels), Annotations: maps.Clone(pod.Annotations), NodeSelector: maps.Clone(pod.Spec.NodeSelector),
		SchedulerName: pod.Spec.SchedulerName, PriorityClassName: pod.Spec.PriorityClassName,
		Tolerations: pod.Spec.Tolerations, Affinity: pod.Spec.Affinity, Deadline: pod.Spec.ActiveDeadlineSeconds != nil,
	}
}

// executorAttributes returns the attributes of the executors' pod, with the additions from the driver's configuration. Spark replaces {{APP_ID}} in these
// additions, but not in the template. {{EXECUTOR_ID}} stays, because it differs between executors.
func (b *builder) executorAttributes() PodAttributes {
	t := attributesOf(b.executor)
	b.addUnder(&t.Labels, ConfExecutorLabelPrefix, b.profile.LabelPlaceholders)
	b.addUnder(&t.Annotations, ConfExecutorAnnotationPrefix, true)
	b.addUnder(&t.NodeSelector, ConfNodeSelectorPrefix, false)
	b.addUnder(&t.NodeSelector, ConfExecutorNodeSelectorPrefix, false)
	for _, key := range []string{ConfSchedulerName, ConfExecutorSchedulerName} {
		if name, ok := b.conf.text(key); ok && name != "" { // this property overrides the executors' template
			t.SchedulerName = name
		}
	}
	return t
}

func (b *builder) addUnder(target *map[string]string, prefix string, placeholders bool) {
	for _, key := range b.conf.under(prefix) {
		value := b.conf.values[key]
		if placeholders {
			value = strings.ReplaceAll(value, "{{APP_ID}}", b.id.AppID)
		}
		setIn(target, key[len(prefix):], value)
	}
}
