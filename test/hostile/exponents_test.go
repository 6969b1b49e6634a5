// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// exponents are quantities that Kubernetes reads at once, and adds in seconds and tens of megabytes, in minutes and hundreds, and in vain.
var exponents = []string{"1e9999999", "1E99999999", " -1e+0999999999", "e99999999"}

// sizes are fields that have a quantity, instead of EXPONENT.
var sizes = map[schema.GroupVersionKind][]string{
	application: {
		`driver: {coreRequest: "EXPONENT"}`, `executor: {coreLimit: "EXPONENT", memoryLimit: "EXPONENT"}`, `batchSchedulerOptions: {resources: {cpu: "EXPONENT"}}`,
		`driver: {template: {spec: {overhead: {cpu: "EXPONENT"}, containers: [{name: x, image: registry.example/x, resources: {requests: {cpu: "EXPONENT"}, limits: {cpu: "EXPONENT", memory: "EXPONENT"}}}]}}}`,
		`executor: {template: {spec: {volumes: [{name: v, emptyDir: {sizeLimit: "EXPONENT"}}]}}}`,
		`sparkConf: {spark.kubernetes.executor.limit.cores: "EXPONENT", spark.kubernetes.driver.volumes.emptyDir.v.mount.path: /v, spark.kubernetes.driver.volumes.emptyDir.v.options.sizeLimit: "EXPONENT"}`,
	},
	connect: {
		`server: {template: {spec: {containers: [{name: x, image: registry.example/x, resources: {requests: {cpu: "EXPONENT"}}}]}}}`,
		`sparkConf: {spark.kubernetes.driver.request.cores: "EXPONENT", spark.driver.resource.gpu.amount: "EXPONENT"}`,
	},
	apache: {
		`driverSpec: {podTemplateSpec: {spec: {containers: [{name: x, image: registry.example/x, resources: {limits: {memory: "EXPONENT"}}}]}}}`,
		`executorSpec: {podTemplateSpec: {spec: {initContainers: [{name: x, image: registry.example/x, resources: {requests: {cpu: "EXPONENT"}}}]}}}`,
		`sparkConf: {spark.kubernetes.executor.request.cores: "EXPONENT", spark.kubernetes.container.image: "registry.example/spark:4.1.4"}`,
	},
	standalone: {
		`masterSpec: {statefulSetSpec: {template: {spec: {containers: [{name: master, resources: {limits: {cpu: "EXPONENT"}}}]}}}}`,
		`workerSpec: {statefulSetSpec: {template: {spec: {containers: [{name: worker, resources: {requests: {cpu: "EXPONENT", memory: "EXPONENT"}}}]}}, volumeClaimTemplates: [{metadata: {name: v}, spec: {resources: {requests: {storage: "EXPONENT"}}}}]}}`,
		`clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 2}}
workerSpec: {horizontalPodAutoscalerSpec: {metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: "EXPONENT"}}}]}}`,
	},
}

func init() {
	add(attack{
		name: "QuantitiesOfManyDigits", reason: "a sum with a quantity of nine bytes makes an integer of a hundred million digits", by: tenant,
		do: func(a *arena) error {
			return eachSize(func(kind schema.GroupVersionKind, name, spec string, edited bool) error {
				if !edited {
					return a.apply(kind, name, spec)
				}
				if err := a.apply(kind, name); err != nil {
					return err
				}
				return a.edit(kind, name, "spec:\n  "+strings.ReplaceAll(spec, "\n", "\n  "))
			})
		},
		cannot: func(a *arena) error {
			return eachSize(func(kind schema.GroupVersionKind, name, _ string, _ bool) error {
				if _, err := a.stored(kind, name); apierrors.IsNotFound(err) {
					return nil // where the definition knows a quantity it does not take all of them
				}
				return a.looked(kind, name)
			})
		},
		told: "too large exponent",
	})
}

// eachSize is called for each field of each kind, with each exponent. With the first of them an object is edited, with the others it is created.
func eachSize(do func(kind schema.GroupVersionKind, name, spec string, edited bool) error) error {
	for kind, specs := range sizes {
		group, _, _ := strings.Cut(kind.Group, ".") // a driver has the same name in both families
		for i, spec := range specs {
			for j, text := range exponents {
				name := strings.ToLower(fmt.Sprintf("%s-%s-%d-%d", group, kind.Kind, i, j))
				if err := do(kind, name, strings.ReplaceAll(spec, "EXPONENT", text), j == 0); err != nil {
					return fmt.Errorf("%s: %s: %w", kind, spec, err)
				}
			}
		}
	}
	return nil
}
