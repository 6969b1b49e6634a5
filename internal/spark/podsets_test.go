// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"maps"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The table of the memory arithmetic, in MiB, for both roles.
func TestMemory(t *testing.T) {
	tests := []struct {
		version, mainFile string
		conf              map[string]string
		driver, executor  int64
		reason            string
	}{
		{"4.1", "local:///a.jar", nil, 1408, 1408, "1g and the minimum of 384m"},
		{"4.1", "local:///a.py", nil, 1433, 1433, "Python takes a factor of 0.4"},
		{"4.1", "local:///a.R", nil, 1433, 1433, "so does R"},
		{"4.1", "local:///a.jar", memoryOf("512m"), 896, 896, "the minimum again"},
		{"4.1", "local:///a.jar", memoryOf("2g"), 2432, 2432, "still the minimum"},
		{"4.1", "local:///a.jar", memoryOf("4g"), 4505, 4505, "a tenth, rounded down"},
		{"4.1", "local:///a.jar", memoryOf("16g"), 18022, 18022, "a tenth, rounded down"},
		{"4.1", "local:///a.py", memoryOf("8g"), 11468, 11468, "Python"},
		{"4.1", "local:///a.py", map[string]string{ConfMemoryOverheadFactor: "0.1"}, 1408, 1408,
			"a factor for both roles replaces that of Python, even if it is the default"},
		{"4.1", "local:///a.jar", map[string]string{
			ConfDriverMemory: "8g", ConfDriverMemoryOverheadFactor: "0.2", ConfExecutorMemory: "8g",
		}, 9830, 9011, "a factor for the driver only"},
		{"4.1", "local:///a.jar", map[string]string{
			ConfDriverMemory: "8g", ConfDriverMemoryOverhead: "1g", ConfExecutorMemoryOverhead: "100m",
		}, 9216, 1124, "an overhead replaces factor and minimum"},
		{"4.1", "local:///a.jar", map[string]string{
			ConfDriverMemory: "100m", ConfMemoryOverheadFactor: "0.29", ConfDriverMinMemoryOverhead: "0",
		}, 128, 1408, "0.29 of 100 is a little less than 29 in binary"},
		{"4.1", "local:///a.jar", map[string]string{
			ConfDriverMinMemoryOverhead: "1g", ConfExecutorMinMemoryOverhead: "2g",
		}, 2048, 3072, "minimums"},
		{"3.5", "local:///a.jar", map[string]string{
			ConfDriverMinMemoryOverhead: "1g", ConfExecutorMinMemoryOverhead: "2g",
		}, 1408, 1408, "which older releases do not know"},
		{"4.1", "local:///a.jar", map[string]string{ConfOffHeapEnabled: "true", ConfOffHeapSize: "512m"}, 1408, 1920,
			"memory off the heap is the executors' only"},
		{"4.1", "local:///a.jar", map[string]string{ConfOffHeapSize: "512m"}, 1408, 1408, "and has to be enabled"},
		{"4.1", "local:///a.py", map[string]string{ConfExecutorPySparkMemory: "256m"}, 1433, 1689, "Python workers"},
		{"4.1", "local:///a.jar", map[string]string{ConfExecutorPySparkMemory: "256m"}, 1408, 1408, "only in Python"},
	}
	for _, test := range tests {
		app := Application{MainFile: test.mainFile, Conf: test.conf}
		sets, err := podSets(app, profileOf(t, test.version))
		if err != nil {
			t.Errorf("%v: %v: %s", test.conf, err, test.reason)
			continue
		}
		for role, pair := range map[string]struct {
			shape PodResources
			want  int64
		}{"driver": {sets.Driver, test.driver}, "executor": {sets.Executor, test.executor}} {
			for kind, list := range map[string]corev1.ResourceList{"requests": pair.shape.Requests, "limits": pair.shape.Limits} {
				if got := list.Memory().Value() / mebibyte; got != pair.want {
					t.Errorf("%v: %s of the %s are %d MiB, want %d: %s", test.conf, kind, role, got, pair.want, test.reason)
				}
			}
		}
	}
}

func memoryOf(size string) map[string]string {
	return map[string]string{ConfDriverMemory: size, ConfExecutorMemory: size}
}

func TestExecutors(t *testing.T) {
	tests := []struct {
		conf                      map[string]string
		initial, minimum, maximum int32
		reason                    string
	}{
		{nil, 2, 2, 2, "Spark starts two"},
		{map[string]string{ConfExecutorInstances: "7"}, 7, 7, 7, "a fixed number"},
		{map[string]string{ConfDynamicAllocation: "true"}, 0, 0, math.MaxInt32, "without limits"},
		{map[string]string{ConfDynamicAllocation: "true", ConfMinExecutors: "2"}, 2, 2, math.MaxInt32, "at least"},
		{map[string]string{ConfDynamicAllocation: "true", ConfMinExecutors: "1", ConfInitialExecutors: "3",
			ConfMaxExecutors: "9"}, 3, 1, 9, "at the start"},
		{map[string]string{ConfDynamicAllocation: "true", ConfInitialExecutors: "3", ConfExecutorInstances: "5",
			ConfMaxExecutors: "9"}, 5, 0, 9, "the largest of three numbers"},
	}
	for _, test := range tests {
		sets, err := podSets(Application{Conf: test.conf}, profileOf(t, "4.1"))
		if err != nil {
			t.Errorf("%v: %v", test.conf, err)
		}
		got := [3]int32{sets.Initial, sets.Min, sets.Max}
		if want := [3]int32{test.initial, test.minimum, test.maximum}; got != want {
			t.Errorf("%v: initial, min and max are %v, want %v: %s", test.conf, got, want, test.reason)
		}
	}
}

func TestPodSetsRefuses(t *testing.T) {
	tests := []struct {
		conf        map[string]string
		key, reason string
	}{
		{map[string]string{ConfDriverMemory: "1.5g"}, ConfDriverMemory, "fraction"},
		{map[string]string{ConfExecutorMemory: "x"}, ConfExecutorMemory, "text"},
		{map[string]string{ConfDriverMemory: "9000000p"}, ConfDriverMemory, "more than 64 bits of bytes"},
		{map[string]string{ConfExecutorMemoryOverhead: "-2g"}, ConfExecutorMemory, "less than nothing"},
		{map[string]string{ConfDriverRequestCores: "two"}, ConfDriverRequestCores, "text"},
		{map[string]string{ConfDriverLimitCores: "2 cores"}, ConfDriverLimitCores, "unit"},
		{map[string]string{ConfExecutorCores: "0.5"}, ConfExecutorCores, "fraction of a core"},
		{map[string]string{ConfExecutorInstances: "-1"}, ConfExecutorInstances, "negative"},
		{map[string]string{ConfDynamicAllocation: "maybe"}, ConfDynamicAllocation, "neither"},
		{map[string]string{ConfDynamicAllocation: "true", ConfMinExecutors: "5", ConfMaxExecutors: "4"},
			ConfMaxExecutors, "more at the start than ever"},
		{map[string]string{"spark.driver.resource.gpu.vendor": "nvidia.com"}, "spark.driver.resource.gpu.amount", "no amount"},
		{map[string]string{"spark.executor.resource.gpu.amount": "1"}, "spark.executor.resource.gpu.vendor", "no vendor"},
		{map[string]string{"spark.driver.resource.gpu.amount": "some"}, "spark.driver.resource.gpu.amount", "text"},
	}
	for _, test := range tests {
		_, err := podSets(Application{Conf: test.conf}, profileOf(t, "4.1"))
		if conf, ok := errors.AsType[*ConfError](err); !ok || conf.Key != test.key {
			t.Errorf("%v: error %v, want one about %s: %s", test.conf, err, test.key, test.reason)
		}
	}
}

// The sets must be those of the pods that Build makes, with templates and overlays.
func TestPodSetsMatchBuild(t *testing.T) {
	app := with(map[string]string{
		"spark.driver.resource.gpu.amount": "2", "spark.driver.resource.gpu.vendor": "nvidia.com",
		ConfDriverLimitCores: "3",
	})
	app.Driver.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{
			{Name: "main", Resources: requirements("100", "ephemeral-storage", "1Gi")},
			{Name: "side", Resources: requirements("1", "memory", "1Gi")},
		},
		InitContainers: []corev1.Container{{Name: "big", Resources: requirements("50", "memory", "1Mi")}},
	}}
	app.Driver.Overlay = PodOverlay{
		MemoryLimit: new(resource.MustParse("7Gi")),
		Sidecars:    []corev1.Container{{Name: "second", Resources: requirements("500m", "memory", "1Gi")}},
	}
	profile := profileOf(t, app.SparkVersion)
	sets, err := podSets(app, profile)
	if err != nil {
		t.Fatal(err)
	}
	submission := mustBuild(t, app, app.SparkVersion)
	if diff := cmp.Diff(resourcesOf(&submission.Driver.Spec), sets.Driver); diff != "" {
		t.Errorf("driver (-built +shape):\n%s", diff)
	}
	want := map[corev1.ResourceName]string{
		"cpu": "50", "memory": "4480Mi", "nvidia.com/gpu": "2", "ephemeral-storage": "1Gi",
	}
	for name, text := range want {
		if got := sets.Driver.Requests[name]; got.Cmp(resource.MustParse(text)) != 0 {
			t.Errorf("the driver requests %s of %s, want %s", got.String(), name, text)
		}
	}
}

func requirements(cpu, name, quantity string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceName(name): resource.MustParse(quantity),
	}}
}

func TestShapeOfInitContainers(t *testing.T) {
	always := new(corev1.ContainerRestartPolicyAlways)
	spec := &corev1.PodSpec{
		InitContainers: []corev1.Container{
			{Resources: requirements("1", "memory", "1Gi"), RestartPolicy: always},
			{Resources: requirements("3", "memory", "1Gi")},
			{Resources: requirements("2", "memory", "9Gi")},
		},
		Containers: []corev1.Container{{Resources: requirements("2", "memory", "2Gi")}},
		Overhead:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
	}
	got := resourcesOf(spec).Requests
	if cpu := got.Cpu().MilliValue(); cpu != 4100 {
		t.Errorf("%d mCPU, want 4100: the init container of 3 beside the sidecar of 1, and the runtime's overhead", cpu)
	}
	if memory := got.Memory().String(); memory != "10Gi" {
		t.Errorf("%s, want 10Gi: the init container of 9Gi beside the sidecar of 1Gi", memory)
	}
}

// A quota counts the overhead of a pod's runtime with its limits, and what is said of the pod as a whole instead of its containers'.
func TestShapeOfWholePods(t *testing.T) {
	limited := func(cpu string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
	}
	overhead := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("1Mi")}
	for name, tc := range map[string]struct {
		reason           string
		whole            *corev1.ResourceRequirements
		requests, limits int64
	}{
		"Containers": {"limits are requests, and overhead is added to both", nil, 2100, 2100},
		"Whole":      {"a limit of the pod leaves what its containers request", new(limited("5")), 2100, 5100},
		"Requests":   {"the pod requests more", &corev1.ResourceRequirements{Requests: limited("3").Limits, Limits: limited("5").Limits}, 3100, 5100},
	} {
		got := resourcesOf(&corev1.PodSpec{Containers: []corev1.Container{{Resources: limited("2")}}, Resources: tc.whole, Overhead: overhead})
		requests, limits := got.Requests[corev1.ResourceCPU], got.Limits[corev1.ResourceCPU]
		if requests.MilliValue() != tc.requests || limits.MilliValue() != tc.limits {
			t.Errorf("%s: %s: requests %s and limits %s", name, tc.reason, requests.String(), limits.String())
		}
		if memory, limited := got.Limits[corev1.ResourceMemory]; limited {
			t.Errorf("%s: a limit of %s of memory that was not written", name, memory.String())
		}
	}
}

// The driver overwrites an executor template's CPU request and memory, and keeps everything else.
func TestExecutorShapeFromTemplate(t *testing.T) {
	app := with(map[string]string{ConfExecTemplateContainer: "ex"})
	app.Executor.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "side", Resources: requirements("250m", "memory", "1Gi")},
		{Name: "ex", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
			"cpu": resource.MustParse("4"), "memory": resource.MustParse("100Gi"), "example.com/fpga": resource.MustParse("1"),
		}}},
	}}}
	app.Executor.Overlay.MemoryLimit = new(resource.MustParse("50Gi"))
	sets, err := podSets(app, profileOf(t, "4.1"))
	if err != nil {
		t.Fatal(err)
	}
	want := PodResources{
		Requests: corev1.ResourceList{
			"cpu": resource.MustParse("1250m"), "memory": resource.MustParse("2432Mi"), "example.com/fpga": resource.MustParse("1"),
		},
		Limits: corev1.ResourceList{
			"cpu": resource.MustParse("4"), "memory": resource.MustParse("1408Mi"), "example.com/fpga": resource.MustParse("1"),
		},
	}
	if diff := cmp.Diff(want, sets.Executor, withoutParts); diff != "" {
		t.Errorf("executor (-want +got):\n%s", diff)
	}
}

// podShapes builds an application that may lack what only the driver's container needs.
func podSets(app Application, profile Profile) (PodSets, error) {
	if app.MainFile == "" {
		app.MainFile = NoResource
	}
	if app.MainClass == "" {
		app.MainClass = "Pi"
	}
	conf := map[string]string{ConfMaster: "k8s://https://kubernetes.default.svc", ConfImage: "spark"}
	maps.Copy(conf, app.Conf)
	app.Conf = conf
	submission, err := Build(app, testIdentity(), profile)
	return submission.PodSets, err
}

func TestDriverMemory(t *testing.T) {
	tests := []struct {
		main, version  string
		conf           map[string]string
		heap, overhead int64
		reason         string
	}{
		{"local:///a.jar", "4.1", nil, 1024, 384, "Spark's defaults"},
		{"local:///a.jar", "4.1", map[string]string{ConfDriverMemory: "8g"}, 8192, 819, "a tenth"},
		{"local:///a.py", "3.5.9", map[string]string{ConfDriverMemory: "8g"}, 8192, 3276, "two fifths for Python"},
		{"local:///a.jar", "4.1", map[string]string{ConfDriverMemory: "2g", ConfDriverMemoryOverhead: "1g"}, 2048, 1024, "what the user wrote"},
		{"local:///a.jar", "2.4", nil, 0, 0, "no such version"},
		{"local:///a.jar", "4.1", map[string]string{ConfDriverMemory: "a lot"}, 0, 0, "no number"},
		{"local:///a.jar", "4.1", map[string]string{ConfDriverMemory: "9000000p"}, 0, 0, "more than 64 bits of bytes"},
		{"local:///a.jar", "4.1", map[string]string{ConfDriverMemoryOverhead: "-2g"}, 0, 0, "less than nothing"},
	}
	for _, test := range tests {
		heap, overhead := DriverMemory(Application{MainFile: test.main, SparkVersion: test.version, Conf: test.conf})
		if heap != test.heap*mebibyte || overhead != test.overhead*mebibyte {
			t.Errorf("%s: heap %d, overhead %d, want %d and %d MiB", test.reason, heap, overhead, test.heap, test.overhead)
		}
	}
}
