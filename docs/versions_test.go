// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const versionsHead = `# Supported versions: what is tested with what

<!-- Written by the test TestVersions out of the files in the last column: go test ./docs -run TestVersions -update -->

The tests of a landing and those of each day build these programs, at these versions, and run the operator with them. Other versions are not refused, and not tested here.

| Program | Version | How it is tested | Pinned in |
|---|---|---|---|
`

const versionsTail = `
## What else is said to work

| | |
|---|---|
| Kubernetes | %s or newer: the chart refuses older ones. Tests run the version above only |
| Helm | 3.17 or newer; tests run the version above |
| Spark | manifests for %s are submitted, each as its own release would: recordings of spark-submit are compared. Jobs are run with the releases above |
| Airflow | the requests of its provider are repeated in the same way, and were compared with provider %s. Airflow itself is not run |
| Kubeflow's operator | manifests, statuses and values of %s are taken over in tests. The operator itself is not run |

The plugin should have the version of the operator: [upgrades](upgrade.md) says what else goes together.
`

// found is what a pattern captures in a file.
func found(t *testing.T, file, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, file), -1)
	if len(m) == 0 {
		t.Fatalf("%s: nothing matches %s", file, pattern)
	}
	var all []string
	for _, one := range m {
		all = append(all, one[1])
	}
	return strings.Join(all, ", ")
}

// The page has the versions that the tools, images and tests have.
func TestVersions(t *testing.T) {
	var b strings.Builder
	b.WriteString(versionsHead)
	for _, row := range []struct{ program, how, file, pattern string }{
		{"Kubernetes: API server, kubelet, scheduler, controllers", "each test with a cluster", "hack/tools/kubernetes/go.mod", `(?m)^\s*k8s.io/kubernetes v(\S+)`},
		{"etcd", "the same", "hack/tools/etcd/go.mod", `go.etcd.io/etcd/server/v3 v(\S+)`},
		{"Helm", "the chart is installed and upgraded", "hack/tools/helm/go.mod", `helm.sh/helm/v4 v(\S+)`},
		{"Spark", "real jobs on a real node", "hack/image/pyspark.txt", `(?m)^pyspark==(\S+)`},
		{"Clients of Spark Connect", "against real servers", "hack/tools/spark-clients.txt", `(?m)^pyspark-client==(\S+)`},
		{"Volcano", "queues and gangs of real jobs", "hack/tools/volcano/go.mod", `(?m)^\s*volcano.sh/volcano v(\S+)`},
		{"YuniKorn", "the same", "hack/tools/yunikorn/go.mod", `yunikorn-k8shim v(\S+)`},
		{"Coscheduling (scheduler-plugins)", "the same", "hack/tools/scheduler-plugins/go.mod", `sigs.k8s.io/scheduler-plugins v(\S+)`},
		{"Kueue", "its integration for SparkApplications, without jobs", "hack/tools/kueue/go.mod", `sigs.k8s.io/kueue v(\S+)`},
		{"Prometheus", "alerts and recording rules", "hack/tools/promql/go.mod", `prometheus/prometheus v(\S+)`},
	} {
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", row.program, found(t, row.file, row.pattern), row.how, row.file)
	}
	fmt.Fprintf(&b, versionsTail, found(t, "charts/spark-operator/Chart.yaml", `kubeVersion: ">=([\d.]+)\.0-0"`), strings.Join(spark.SupportedVersions(), ", "),
		found(t, "test/integration/contract_test.go", `verified with provider ([\d.]+\d)`),
		found(t, "docs/migrate-from-kubeflow.md", `Kubeflow's release (2[\d.]+\d)`))
	testutil.Golden(t, "versions.md", b.String())
	lines := spark.SupportedVersions()
	newest := lines[len(lines)-1]
	if image := found(t, "internal/convert/apache/cluster.go", `(?m)^const clusterImage = "apache/spark:(\S+)"`); !strings.HasPrefix(image, newest+".") ||
		!slices.Contains(strings.Split(found(t, "hack/image/pyspark.txt", `(?m)^pyspark==(\S+)`), ", "), image) || !strings.Contains(read(t, "hack/test.sh"), "build.sh spark "+image) {
		t.Errorf("the newest line, %s, is not run on a node as a cluster gets it that names no image, as %s", newest, image)
	}
}
