// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// elsewhere is an error if anything that is not the bystander's own runs in its namespace, or if properties of a driver would
// take it there.
func elsewhere(a *arena) error {
	var pods corev1.PodList
	if err := a.admin.List(a.ctx, &pods, client.InNamespace(bystanders)); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if !strings.HasPrefix(pod.Name, "calm-") {
			return fmt.Errorf("pod %s is in the bystander's namespace", pod.Name)
		}
	}
	var files corev1.ConfigMapList
	if err := a.admin.List(a.ctx, &files, client.InNamespace(a.namespace)); err != nil {
		return err
	}
	for _, file := range files.Items {
		for _, text := range file.Data {
			for line := range strings.Lines(text) {
				line = strings.TrimLeft(line, " \t\f\r")
				value, is := strings.CutPrefix(line, "spark.kubernetes.namespace")
				if is && strings.ContainsAny(value[:1], "=: \t\f") && strings.Contains(value, bystanders) {
					return fmt.Errorf("ConfigMap %s has the line %q", file.Name, line)
				}
			}
		}
	}
	return nil
}

// submitted waits until the operator has seen all of these applications, and looks where they are.
func submitted(names ...string) func(*arena) error {
	return func(a *arena) error {
		for _, name := range names {
			if err := a.looked(application, name); err != nil {
				return err
			}
		}
		return elsewhere(a)
	}
}

// conf is an attack by a property of Spark.
func conf(name, reason, key, value, told string) attack {
	return attack{
		name: name, reason: reason, by: tenant, told: told, shares: started, cannot: submitted(objectOf(name)),
		do: func(a *arena) error { return a.app(objectOf(name), fmt.Sprintf("sparkConf: {%q: %q}", key, value)) },
	}
}

func init() {
	const namespace = "spark.kubernetes.namespace"
	add(
		conf("NamespaceProperty", "a property moves the pods into another namespace", namespace, bystanders, ""),
		conf("NamespaceInAnotherCase", "a key that differs by case is read as the one that is reserved", "SPARK.Kubernetes.Namespace", bystanders, ""),
		conf("SpaceBeforeAKey", "Java's properties have no space before a key", " "+namespace, bystanders, ""),
		conf("SpaceAfterAKey", "or after it", namespace+" ", bystanders, ""),
		conf("TabAfterAKey", "or a tab", namespace+"\t", bystanders, ""),
		conf("NewlineInAKey", "a key is two lines", "spark.a\n"+namespace, bystanders, ""),
		conf("NewlineInAValue", "a value is two lines", "spark.a", "b\n"+namespace+"="+bystanders, ""),
		conf("CarriageReturnInAValue", "a line may end so, too", "spark.a", "b\r"+namespace+"="+bystanders, ""),
		conf("BackslashAtTheEnd", "a line goes on in the next one", "spark.kubernetes.namespacd", bystanders+`\`, ""),
		conf("SeparatorInAKey", "a key has its value in itself", namespace+"="+bystanders+"#", "x", ""),
		conf("UnicodeEscapes", "Java's properties decode what a check reads as text", `spark.kubernetes.n\u0061mespace`, bystanders, ""),
		conf("UnicodeLineSeparators", "there are more ends of lines than one", "spark.a", "b\u2028"+namespace+"="+bystanders+"\u2029\u0085"+namespace+" "+bystanders, ""),
		conf("MasterProperty", "the driver asks another API server", "spark.master", "k8s://https://192.0.2.1", ""),
		conf("MemoryThatOverflows", "the sum of two sizes is negative", "spark.executor.memoryOverhead", "9223372036854775807t", "spark.executor.memoryOverhead"),
		conf("MemoryThatIsNegative", "a pod is smaller than nothing", "spark.driver.memoryOverhead", "-1g", ""),
		conf("FactorThatIsNoNumber", "a comparison with NaN is never true", "spark.kubernetes.memoryOverheadFactor", "NaN", "spark.kubernetes.memoryOverheadFactor"),
		conf("FactorThatIsInfinite", "a size is infinite", "spark.driver.memoryOverheadFactor", "1e999", "spark.driver.memoryOverheadFactor"),
		conf("CountThatOverflows", "a count is negative", "spark.dynamicAllocation.maxExecutors", "99999999999999999999", ""),
	)
	add(numbers()...)
}

// numbers are those of fields.
func numbers() []attack {
	spec := func(name, reason, told string, specs ...string) attack {
		var names []string
		for i := range specs {
			names = append(names, fmt.Sprintf("%s-%d", objectOf(name), i))
		}
		return attack{
			name: name, reason: reason, by: tenant, told: told,
			do: func(a *arena) error {
				for i, text := range specs {
					if err := a.app(names[i], text); err != nil {
						return err
					}
				}
				return nil
			},
		}
	}
	light := func(x attack) attack {
		x.shares = started
		return x
	}
	return []attack{
		light(spec(
			"NumbersAtTheirEnds", "the largest numbers, added and multiplied, overflow", "",
			"executor: {instances: 2147483647, cores: 2147483647}", "driver: {cores: 2147483647, memory: 8191p}",
			"timeToLiveSeconds: 9223372036854775807", "timeToLiveSeconds: -9223372036854775808",
			"restartPolicy: {type: OnFailure, onFailureRetries: 2147483647, onFailureRetryInterval: 9223372036854775807, onSubmissionFailureRetries: 2147483647, onSubmissionFailureRetryInterval: 9223372036854775807}",
			"driver: {terminationGracePeriodSeconds: -9223372036854775808}", "dynamicAllocation: {enabled: true, initialExecutors: -2147483648, minExecutors: 2147483647, maxExecutors: -1, shuffleTrackingTimeout: -9223372036854775808}",
			"deadlines: {queued: 2562047h47m16.854775807s, run: -2562047h47m16s}", "driver: {gpu: {name: nvidia.com/gpu, quantity: -9223372036854775808}}",
		)),
		light(spec(
			"QuantitiesThatAreHuge", "a quantity has an exponent", "too large exponent",
			`driver: {coreRequest: "9e999999999"}`, `executor: {coreLimit: "-1e-999999999"}`, `driver: {memoryLimit: "1E18446744073709551616"}`,
			`driver: {template: {spec: {containers: [{name: x, resources: {limits: {cpu: "1e2147483647", memory: "-0"}}}]}}}`,
		)),
		spec(
			"NumbersOfManyDigits", "reading a number takes the square of its length", "a number has more than",
			`driver: {template: {spec: {containers: [{name: x, resources: {limits: {cpu: "`+strings.Repeat("9", 300_000)+`"}}}]}}}`,
		),
		light(spec(
			"NamesOfOddCharacters", "text that is written to a terminal, a log or a label", "",
			`driver: {labels: {"a": "\u202e\u200b"}}`, `arguments: ["\e]0;owned\a", "\0"]`, `mainClass: "\0\uFEFF\u2066"`, `image: "registry.example/\u00e4:\n"`,
			`driver: {podName: "x\ny"}`, `batchScheduler: "\a"`, `sparkVersion: "4.1.4\u2028"`,
		)),
		spec(
			"MountsWithVolumes", "each mount is compared with each volume", "",
			"driver: {template: {spec: {volumes: ["+repeated(1_500, "{name: v%d, emptyDir: {}}")+"], containers: [{name: x, volumeMounts: ["+repeated(1_500, "{name: v%d, mountPath: /m%[1]d}")+"]}]}}}",
			"volumes: ["+repeated(256, "{name: v%d, emptyDir: {}}")+"]\ndriver: {volumeMounts: ["+repeated(256, "{name: v%d, mountPath: /m%[1]d}")+"]}",
		),
		spec(
			"VariablesWithVariables", "each variable is compared with each", "",
			"driver: {env: ["+repeated(1_900, "{name: E%d, value: x}")+"]}", "driver: {template: {spec: {containers: [{name: x, env: ["+repeated(1_900, "{name: E%d}")+"]}]}}}",
			"driver: {envVars: {"+repeated(3_000, "E%d: x")+"}}", "executor: {envSecretKeyRefs: {"+repeated(1_500, "E%d: {name: s, key: k}")+"}}",
		),
		spec(
			"PortsWithPorts", "each port is compared with each", "",
			"driver: {ports: ["+repeated(1_500, "{name: p%d, protocol: TCP, containerPort: 1%04[1]d}")+"]}",
			"driver: {template: {spec: {containers: [{name: x, ports: ["+repeated(1_500, "{name: p%d, containerPort: 1%04[1]d}")+"]}]}}}",
		),
		spec(
			"ContainersWithContainers", "each container is compared with each", "",
			"driver: {template: {spec: {containers: ["+repeated(1_500, "{name: c%d}")+"], initContainers: ["+repeated(400, "{name: i%d}")+"]}}}",
		),
		spec(
			"PropertiesOfVolumes", "each property of a volume makes a volume", "",
			"sparkConf: {"+repeated(2_000, "spark.kubernetes.driver.volumes.emptyDir.v%d.mount.path: /v%[1]d")+"}",
			"sparkConf: {"+repeated(2_000, "spark.kubernetes.executor.volumes.emptyDir.v%d.mount.path: /v%[1]d")+"}",
		),
	}
}

// repeated are so many elements of a list or a map in YAML, with their numbers.
func repeated(n int, format string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return strings.Join(all, ", ")
}
