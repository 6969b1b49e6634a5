// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

const (
	// kueuePrefix begins Kueue's labels of the application. On the pods, the labels would make Kueue manage the pods separately.
	kueuePrefix = "kueue.x-k8s.io/"
	// labelKueueQueue names the queue in which Kueue counts the application.
	labelKueueQueue = kueuePrefix + "queue-name"
)

// countedByKueue returns what Kueue counts of the stored object, which has the defaults of a webhook; nil if the application names no queue. Kueue 0.19
// reads these fields only: no cores, no overhead, no template and no sparkConf.
func countedByKueue(o *v1beta2.SparkApplication) *spark.Counted {
	if o.Labels[labelKueueQueue] == "" {
		return nil
	}
	d, e := &o.Spec.Driver, &o.Spec.Executor
	return &spark.Counted{
		By: "Kueue", Why: "label " + labelKueueQueue,
		Executors: ptr.Deref(e.Instances, 0), ExecutorsField: "executor.instances",
		Driver:     kueueRequests(&d.SparkPodSpec, d.CoreRequest),
		Executor:   kueueRequests(&e.SparkPodSpec, e.CoreRequest),
		SizeFields: "coreRequest, coreLimit, memory, memoryLimit, gpu, sidecars and initContainers",
	}
}

// kueueRequests returns the requests that Kueue reads of one pod. A size that it cannot read is missing.
func kueueRequests(p *v1beta2.SparkPodSpec, coreRequest *string) corev1.ResourceList {
	main := corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}}
	for _, cpu := range []struct {
		list corev1.ResourceList
		text *string
	}{{main.Resources.Requests, coreRequest}, {main.Resources.Limits, p.CoreLimit}} {
		if q, err := spark.ParseQuantity(ptr.Deref(cpu.text, "")); err == nil {
			cpu.list[corev1.ResourceCPU] = q
		}
	}
	for _, memory := range []struct {
		list corev1.ResourceList
		text *string
	}{{main.Resources.Requests, p.Memory}, {main.Resources.Limits, p.MemoryLimit}} {
		if q, problems := memoryLimit(memory.text, ""); q != nil && len(problems) == 0 {
			memory.list[corev1.ResourceMemory] = *q
		}
	}
	for name, q := range gpuLimits(p.GPU) {
		main.Resources.Limits[name] = q
	}
	return spark.RequestsOf(&corev1.PodSpec{
		Containers: append([]corev1.Container{main}, p.Sidecars...), InitContainers: p.InitContainers,
	})
}
