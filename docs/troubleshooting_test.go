// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

// Whoever looks for the words on the screen finds them: the page quotes what the programs print.
func TestTroubleshootingQuotes(t *testing.T) {
	page := strings.Join(strings.Fields(read(t, "docs/troubleshooting.md")), " ")
	for quote, source := range map[string]string{
		"check that the operator is running and watches this namespace":                            "internal/explain/advice.go",
		"the cluster does not know ":                                                               "internal/inspect/messages.go",
		"cannot watch; retrying":                                                                   "internal/informers/namespaces.go",
		"spark_operator_namespace_watched":                                                         "internal/metrics/tenancy.go",
		"spark_operator_configuration_reloads_total":                                               "internal/metrics/tenancy.go",
		"the changed configuration is not applied; the previous one stays in force":                "internal/operator/reload.go",
		"not a heap size that a JVM takes":                                                         "internal/cli/testdata/validate-bad.golden",
		"operator policy":                                                                          "internal/policy/check.go",
		"already exists and does not belong to this application":                                   "internal/actuate/actuate.go",
		"spec.suspend is true":                                                                     "internal/lifecycle/testdata/stories/suspend-while-running.txt",
		"is not installed: the API server has no":                                                  "internal/scheduler/readiness.go",
		"grant it that permission to use":                                                          "internal/scheduler/readiness.go",
		"is not known to this operator":                                                            "internal/scheduler/registry.go",
		"is not enabled (batchScheduler.enabled in the operator's configuration)":                  "internal/scheduler/registry.go",
		"is not a known scheduler; known: ":                                                        "internal/scheduler/registry.go",
		"is not among batchScheduler.enabled":                                                      "internal/scheduler/registry.go",
		"rewrites the pods of this namespace":                                                      "internal/scheduler/core.go",
		"no scheduler has processed the driver pod":                                                "internal/lifecycle/run.go",
		"driver container failed with ExitCode: ":                                                  "internal/lifecycle/observation.go",
		"java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found": "internal/lifecycle/testdata/causes/causes.txt",
		"[DATA_SOURCE_NOT_FOUND] ":                                                                 "internal/lifecycle/testdata/causes/causes.txt",
		"[PATH_NOT_FOUND] Path does not exist: ":                                                   "internal/lifecycle/testdata/causes/causes.txt",
		"ModuleNotFoundError: No module named '":                                                   "internal/lifecycle/testdata/causes/causes.txt",
		"Cannot run program \"python9\": error=2, No such file or directory":                       "internal/lifecycle/testdata/causes/causes.txt",
		"java.lang.UnsupportedClassVersionError: ":                                                 "internal/lifecycle/testdata/causes/causes.txt",
		"java.lang.OutOfMemoryError: Java heap space":                                              "internal/lifecycle/testdata/causes/causes.txt",
		"entrypoint.sh: exec format error":                                                         "internal/lifecycle/testdata/causes/causes.txt",
		"decode configuration: ":                                                                   "internal/config/config.go",
		"serviceaccount \"spark\" not found":                                                       "internal/lifecycle/testdata/stories/admission-refused.txt",
		"exceeded quota: team, requested: pods=1, used: pods=10, limited: pods=10":                 "internal/lifecycle/testdata/stories/quota.txt",
		"0/3 nodes are available: 3 Insufficient cpu.":                                             "internal/lifecycle/testdata/stories/unschedulable.txt",
		"container spark-kubernetes-driver: Back-off pulling image \"spark:latst\"":                "internal/lifecycle/testdata/stories/image-heals.txt",
		"cannot create resource \"pods\" in API group \"\"":                                        "internal/lifecycle/testdata/stories/operator-forbidden.txt",
		"waiting for quota in namespace team-a: requests.cpu asked 12, free 4 of 40":               "docs/schedulers-admin.md",
		"spec.batchSchedulerOptions.queue: queue \"taem-a\" does not exist; queues you may use":    "docs/kubectl-spark.md",
	} {
		if !strings.Contains(page, strings.TrimSpace(quote)) {
			t.Errorf("docs/troubleshooting.md does not quote %q", quote)
		}
		if !strings.Contains(read(t, source), quote) {
			t.Errorf("%s does not say %q", source, quote)
		}
	}
}

// Reasons are those of the closed list.
func TestTroubleshootingReasons(t *testing.T) {
	reason := regexp.MustCompile(`^[A-Z][a-z]+([A-Z][a-z]+)+$`)
	others := map[string]bool{"SparkApplication": true, "SparkApplications": true, "LikeThis": true, "ExecutorsReady": true}
	list := read(t, "docs/conditions.md")
	seen := 0
	for _, word := range markdown.Inline(read(t, "docs/troubleshooting.md")) {
		if !reason.MatchString(word) || others[word] {
			continue
		}
		if seen++; !strings.Contains(list, "| `"+word+"` |") {
			t.Errorf("docs/troubleshooting.md: %s is no reason of docs/conditions.md", word)
		}
	}
	if seen < 30 {
		t.Errorf("only %d reasons were found: the test does not see what it should", seen)
	}
}
