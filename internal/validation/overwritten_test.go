// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// list are resources: name and quantity, in turns.
func list(all ...string) corev1.ResourceList {
	of := corev1.ResourceList{}
	for i := 0; i < len(all); i += 2 {
		of[corev1.ResourceName(all[i])] = resource.MustParse(all[i+1])
	}
	return of
}

func sizedContainer(requests, limits corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
}

func executorTemplate(all ...corev1.Container) change {
	return func(a *spark.Application) {
		a.Executor.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: all}}
	}
}

// Case 013: Spark sets CPU and memory of its container itself.
func TestSizesInTemplates(t *testing.T) {
	const driver, executor = "spec.driver.template.spec.containers[0].resources.", "spec.executor.template.spec.containers[0].resources."
	const overhead = ", to which an overhead is added"
	for _, tc := range []struct {
		reason string
		change change
		want   []string
	}{
		{
			"the driver's",
			template(sizedContainer(list("cpu", "3", "memory", "6Gi", "ephemeral-storage", "5Gi"), list("memory", "6Gi", "ephemeral-storage", "5Gi"))),
			[]string{
				driver + `requests.cpu: "3": has no effect: Spark's container gets 1; write it to spec.driver.cores`,
				driver + `requests.memory: "6Gi": has no effect: Spark's container gets 1408Mi; write it to spec.driver.memory` + overhead,
				driver + `limits.memory: "6Gi": has no effect: Spark's container gets 1408Mi; write it to spec.driver.memory` + overhead,
			},
		},
		{
			"the executors', of which off-heap memory is a part",
			all(conf("spark.memory.offHeap.enabled", "true"), conf("spark.memory.offHeap.size", "1g"), executorTemplate(sizedContainer(list("memory", "6Gi"), nil))),
			[]string{executor + `requests.memory: "6Gi": has no effect: Spark's container gets 2432Mi; write it to spec.executor.memory` + overhead},
		},
		{
			"the property that counts is named",
			all(conf(spark.ConfExecutorRequestCores, "500m"), executorTemplate(sizedContainer(list("cpu", "2"), nil))),
			[]string{executor + `requests.cpu: "2": has no effect: Spark's container gets 500m; write it to spec.sparkConf["spark.kubernetes.executor.request.cores"]`},
		},
		{
			"a limit of CPU that a field replaces",
			all(typed(spark.ConfDriverLimitCores, "4", "driver.coreLimit"), template(sizedContainer(nil, list("cpu", "2")))),
			[]string{driver + `limits.cpu: "2": has no effect: Spark's container gets 4; write it to spec.driver.coreLimit`},
		},
		{
			"a limit of memory that a field replaces",
			all(limited("3Gi"), template(sizedContainer(nil, list("memory", "2Gi")))),
			[]string{driver + `limits.memory: "2Gi": has no effect: Spark's container gets 3Gi; write it to spec.driver.memoryLimit`},
		},
		{"a limit of CPU that nothing replaces", template(sizedContainer(nil, list("cpu", "2"))), nil},
		{"the same sizes, in other words", template(sizedContainer(list("cpu", "1000m", "memory", "1441792Ki"), list("memory", "1408Mi"))), nil},
		{"another container", template(corev1.Container{Name: "main"}, sizedContainer(list("cpu", "3"), nil)), nil},
		{"devices stay", executorTemplate(sizedContainer(nil, list("example.org/gpu", "1"))), nil},
		{"sizes that are refused", all(conf(spark.ConfDriverMemory, "x"), template(sizedContainer(list("cpu", "3"), nil))), nil},
	} {
		app := testutil.Model()
		tc.change(&app)
		var got []string
		for _, e := range warnSizes(app) {
			got = append(got, e.About(app.PathOf(e)))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func limited(memory string) change {
	return driver(func(o *spark.PodOverlay) { o.MemoryLimit = new(resource.MustParse(memory)) })
}
