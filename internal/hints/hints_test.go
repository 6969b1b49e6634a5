// SPDX-License-Identifier: Apache-2.0

package hints

import (
	"reflect"
	"testing"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

func TestField(t *testing.T) {
	block, list := map[string]any{}, []any{}
	application, schedule, server := reflect.TypeFor[*v1beta2.SparkApplication](), reflect.TypeFor[v1beta2.ScheduledSparkApplication](), reflect.TypeFor[v1alpha1.SparkConnect]()
	apache, cluster := reflect.TypeFor[v1.SparkApplication](), reflect.TypeFor[v1.SparkCluster]()
	for _, tc := range []struct {
		reason string
		of     reflect.Type
		path   string
		value  any
		want   string
	}{
		{"case 006: both roles have it", application, "spec.tolerations", list, "write spec.driver.tolerations or spec.executor.tolerations"},
		{"a map of theirs", application, "spec.env", list, "write spec.driver.env or spec.executor.env"},
		{"one of them has it", application, "spec.podName", "a", "write spec.driver.podName"},
		{"the wrong role", application, "spec.driver.instances", int64(2), "write spec.executor.instances"},
		{"the other way round", application, "spec.executor.kubernetesMaster", "a", "write spec.driver.kubernetesMaster"},
		{"too far down", application, "spec.driver.sparkConf", block, "write spec.sparkConf"},
		{"too far up", application, "sparkConf", block, "write spec.sparkConf"},
		{"beside a template", application, "spec.driver.containers", list, "write spec.driver.template.spec.containers"},
		{"beside the spec of a template", application, "spec.driver.template.containers", list, "write spec.driver.template.spec.containers"},
		{"in a container of a template", application, "spec.driver.template.spec.containers[1].nodeSelector", block, "write spec.driver.template.spec.nodeSelector"},
		{"in the wrong block", application, "spec.monitoring.ingressTLS", list, "write spec.sparkUIOptions.ingressTLS"},
		{"above its block", application, "spec.packages", list, "write spec.deps.packages"},
		{"of the pod, not of the container", application, "spec.driver.securityContext.fsGroup", int64(1), "write spec.driver.podSecurityContext.fsGroup"},
		{"the letters' case", application, "spec.executor.PodName", "a", "write spec.driver.podName"},
		{"the letters' case, at this level", cluster, "spec.workerSpec.statefulsetSpec", block, "did you mean statefulSetSpec?"},
		{"misspelled, at another level", application, "spec.toleration", list, "write spec.driver.tolerations or spec.executor.tolerations"},
		{"misspelled, at this level", application, "spec.driver.memori", "1g", "did you mean memory?"},
		{"all kinds of things have a name", application, "spec.driver.name", "a", ""},
		{"nothing is near", application, "spec.quux", nil, ""},
		{"beside Spark's container, at which a field of the role ends, too", application, "spec.driver.template.spec.volumeMounts", list, "write spec.driver.template.spec.containers[].volumeMounts or spec.driver.volumeMounts"},
		{"a block is no word", server, "spec.restartPolicy", block, ""},
		{"of a run", schedule, "spec.mainClass", "a", "write spec.template.mainClass"},
		{"of the schedule", schedule, "spec.template.concurrencyPolicy", "Allow", "write spec.concurrencyPolicy"},
		{"of a role of a run", schedule, "spec.affinity", block, "write spec.template.driver.affinity or spec.template.executor.affinity"},
		{"of the server's template", server, "spec.server.tolerations", list, "write spec.server.template.spec.tolerations"},
		{"of both templates", apache, "spec.tolerations", list, "write spec.driverSpec.podTemplateSpec.spec.tolerations or spec.executorSpec.podTemplateSpec.spec.tolerations"},
		{"of this family", apache, "spec.ttlAfterStopMillis", int64(1), "write spec.applicationTolerations.ttlAfterStopMillis"},
		{"the name that is not out of date", apache, "spec.driverSpec.serviceAccount", "a", ""},
		{"of a cluster", cluster, "spec.workerSpec.tolerations", list, "write spec.workerSpec.statefulSetSpec.template.spec.tolerations"},
		{"too many to be a hint", cluster, "spec.annotations", block, ""},
	} {
		if got := Field(tc.of, tc.path, tc.value); got != tc.want {
			t.Errorf("%s: %s: %q, want %q", tc.reason, tc.path, got, tc.want)
		}
	}
}
