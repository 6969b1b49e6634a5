// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

var sizeRow = regexp.MustCompile("(?m)^\\| `(Scala|Python)` \\| `(\\w+)` \\| (?:`(\\w+)`)? ?\\| (?:`([\\d.]+)`)? ?\\| (\\d+) \\+ (\\d+) \\| `(\\d+)Mi` \\|$")

// The sums of the page are right, and are what the pods of both roles ask for.
func TestMemoryArithmetic(t *testing.T) {
	rows := sizeRow.FindAllStringSubmatch(read(t, "docs/memory.md"), -1)
	if len(rows) < 7 {
		t.Fatalf("only %d rows were found: the test does not see what it should", len(rows))
	}
	for _, row := range rows {
		total := row[7] + "Mi"
		driver, executor := sizes(t, row[1], row[2], row[3], row[4])
		for role, got := range map[string]spark.PodResources{"driver": driver, "executor": executor} {
			request, limit := got.Requests[corev1.ResourceMemory], got.Limits[corev1.ResourceMemory]
			if want := resource.MustParse(total); request.Cmp(want) != 0 || limit.Cmp(want) != 0 {
				t.Errorf("%s: the %s asks for %s, at most %s", row[0], role, &request, &limit)
			}
		}
		var heap, overhead, sum int
		if _, err := fmt.Sscan(strings.Join(row[5:], " "), &heap, &overhead, &sum); err != nil || heap+overhead != sum {
			t.Errorf("%s: the sum is %d (%v)", row[0], heap+overhead, err)
		}
	}
}

// sizes are what the pods of an application ask for whose roles have the same memory. What is empty is not set.
func sizes(t *testing.T, language, memory, overhead, factor string) (driver, executor spark.PodResources) {
	t.Helper()
	o := &v1beta2.SparkApplication{}
	o.Name, o.Namespace, o.UID = "sizes", "jobs", "1"
	o.Spec = v1beta2.SparkApplicationSpec{
		Type: v1beta2.ApplicationType(language), SparkVersion: "4.1.4", Image: ptr.To("spark"), MainApplicationFile: ptr.To("local:///app.py"),
	}
	if language != "Python" {
		o.Spec.MainApplicationFile, o.Spec.MainClass = ptr.To("local:///app.jar"), ptr.To("Main")
	}
	for _, role := range []*v1beta2.SparkPodSpec{&o.Spec.Driver.SparkPodSpec, &o.Spec.Executor.SparkPodSpec} {
		role.Memory = &memory
		if overhead != "" {
			role.MemoryOverhead = &overhead
		}
	}
	if factor != "" {
		o.Spec.MemoryOverheadFactor = &factor
	}
	app := kubeflow.SparkApplications{}.Load(o, kubeflow.SparkApplications{}.FromStatus(o)).App
	profile, err := spark.ProfileOf(app)
	if err != nil {
		t.Fatal(err)
	}
	made, err := spark.Build(app, spark.NewIdentity(o.UID, 1, time.Unix(0, 0)), profile)
	if err != nil {
		t.Fatal(err)
	}
	return made.PodSets.Driver, made.PodSets.Executor
}
