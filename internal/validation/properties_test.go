// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Case 017: a property that no release of Spark has is set by many who meant another one.
func TestPropertiesThatSparkLacks(t *testing.T) {
	for _, tc := range []struct{ reason, key, want string }{
		{"a slip", "spark.executor.instance", `did you mean "spark.executor.instances"?`},
		{"a slip in the middle", "spark.kubernetes.driver.requests.cores", `did you mean "spark.kubernetes.driver.request.cores"?`},
		{"a word is missing", "spark.kubernetes.scheduler", `did you mean "spark.kubernetes.scheduler.name"?`},
		{"a word is missing before an open name", "spark.driverEnv.REGION", `did you mean "spark.kubernetes.driverEnv.REGION"?`},
		{"a word too many", "spark.kubernetes.executor.instances", `did you mean "spark.executor.instances"?`},
		{"a word too many, of the memory", "spark.kubernetes.driver.memory", `did you mean "spark.driver.memory"?`},
		{"a word too many before an open name", "spark.kubernetes.executorEnv.A", `did you mean "spark.executorEnv.A"?`},
		{"the plural of an open name", "spark.kubernetes.driver.labels.team", `did you mean "spark.kubernetes.driver.label.team"?`},
		{"dots for capitals", "spark.executor.memory.overhead", `did you mean "spark.executor.memoryOverhead"?`},
		{"dots for capitals in an open name", "spark.executor.env.A", `did you mean "spark.executorEnv.A"?`},
		{"the letters' case", "spark.driver.extrajavaoptions", `did you mean "spark.driver.extraJavaOptions"?`},
		{"two words are missing, and a field is the remedy", "spark.kubernetes.driver.serviceAccount", "use spec.driver.serviceAccount"},
		{"a field is the remedy", "spark.kubernetes.image", "use spec.image"},
		{"known", "spark.executor.heartbeatInterval", ""},
		{"known by few releases", "spark.kubernetes.executor.resizeFactor", ""},
		{"put together", "spark.kubernetes.authenticate.executor.caCertFile", ""},
		{"open", "spark.kubernetes.driver.annotation.example.org/a.b", ""},
		{"open, at the end of a key", "spark.executor.resource.gpu.discoveryScript", ""},
		{"of a library, far from all others", "spark.executor.acme.mode", ""},
		{"of a library, elsewhere", "spark.sql.shufle.partitions", ""},
		{"other settings of Apache's operator", "spark.kubernetes.operator.name", ""},
	} {
		app := spark.Application{Conf: map[string]string{tc.key: "a"}, Fields: spark.Fields{"": "spec"}}
		var got []string
		for _, e := range UnknownProperties(app) {
			got = append(got, e.Problem)
		}
		want := ""
		if tc.want != "" {
			want = "has no effect: Spark has no property of this name; " + tc.want
		}
		if said := strings.Join(got, "; "); said != want {
			t.Errorf("%s: %s: %q, want %q", tc.reason, tc.key, said, want)
		}
	}
}
