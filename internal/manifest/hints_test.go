// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"
)

const (
	ofApplication = "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\n"
	ofSchedule    = "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: ScheduledSparkApplication\n"
	ofServer      = "apiVersion: sparkoperator.k8s.io/v1alpha1\nkind: SparkConnect\n"
	ofApache      = "apiVersion: spark.apache.org/v1\nkind: SparkApplication\n"
	ofCluster     = "apiVersion: spark.apache.org/v1\nkind: SparkCluster\n"
)

// A field of another API, of another kind, or at another level is named by what does the same here.
func TestHints(t *testing.T) {
	for _, tc := range []struct{ reason, kind, spec, want string }{
		{"case 006", ofApplication, "{tolerations: []}", "write spec.driver.tolerations or spec.executor.tolerations"},
		{"case 007: of a Job, in another unit", ofApache, "{ttlSecondsAfterFinished: 6}", "write spec.applicationTolerations.ttlAfterStopMillis, in milliseconds"},
		{"the same unit", ofApplication, "{ttlSecondsAfterFinished: 6}", "write spec.timeToLiveSeconds"},
		{"of a Job, in a schedule", ofSchedule, "{backoffLimit: 6}", "write spec.template.restartPolicy.onFailureRetries"},
		{"of a Job, in Apache's words", ofApache, "{backoffLimit: 6}", "write spec.applicationTolerations.restartConfig.maxRestartAttempts"},
		{"of a Job, a duration here", ofApplication, "{activeDeadlineSeconds: 6}", `write spec.deadlines.run, a duration such as "30m"`},
		{"of a CronJob", ofSchedule, "{jobTemplate: {}}", "write spec.template"},
		{"of a CronJob, one level too many", ofSchedule, "{template: {spec: {type: Scala}}}", "write its fields below spec.template"},
		{"of a Deployment", ofServer, "{replicas: 2}", "write spec.executor.instances"},
		{"of a Deployment, a property here", ofApache, "{replicas: 2}", `write spec.sparkConf["spark.executor.instances"]`},
		{"of a Deployment, in a cluster", ofCluster, "{replicas: 2}", "write spec.clusterTolerations.instanceConfig.initWorkers"},
		{"of Flink", ofApplication, "{jarURI: a}", "write spec.mainApplicationFile"},
		{"of Flink, a block", ofApplication, "{taskManager: {replicas: 2}}", "write spec.executor"},
		{"of Flink, an annotation here", ofApplication, "{restartNonce: 2}", "write annotation sparkoperator.k8s.io/rerun-at"},
		{"of the other family, by the shared name", ofApache, "{sparkVersion: 4.1.1}", "write spec.runtimeVersions.sparkVersion"},
		{"of the other family, in another unit", ofApache, "{timeToLiveSeconds: 5}", "write spec.applicationTolerations.ttlAfterStopMillis, in milliseconds"},
		{"of the other family, the other way round", ofApplication, "{applicationTolerations: {ttlAfterStopMillis: 5000}}", "write spec.timeToLiveSeconds"},
		{"of the other family, a property here", ofApache, "{imagePullPolicy: Always}", `write spec.sparkConf["spark.kubernetes.container.image.pullPolicy"]`},
		{"of the other family, a block", ofApache, "{driver: {memory: 1g, tolerations: []}}", `write spec.sparkConf["spark.driver.memory"], spec.driverSpec.podTemplateSpec.spec.tolerations`},
		{"of the other family, what is written of a block", ofApache, "{executor: {instances: 2}}", `write spec.sparkConf["spark.executor.instances"]`},
		{"of the other family, a map", ofApache, "{hadoopConf: {fs.x: z}}", `write spec.sparkConf["spark.hadoop.fs.x"]`},
		{"of the other family, a list", ofApache, "{deps: {packages: [a]}}", `write spec.sparkConf["spark.jars.packages"]`},
		{"of the other family, a template", ofApplication, "{driverSpec: {podTemplateSpec: {}}}", "write spec.driver.template"},
		{"of the other family, a word that is a block here", ofApache, "{restartPolicy: {type: Never}}", "write spec.applicationTolerations.restartConfig"},
		{"of the other family, a word", ofApache, "{restartPolicy: Never}", "write spec.applicationTolerations.restartConfig.restartPolicy"},
		{"of an application, in a server", ofServer, "{driver: {cores: 1}}", "write spec.server.cores"},
		{"of an application, in a server's template", ofServer, "{executor: {serviceAccount: a}}", "write spec.executor.template.spec.serviceAccountName"},
		{"of an application, in a cluster", ofCluster, "{image: a}", `write spec.sparkConf["spark.kubernetes.container.image"]`},
		{"nothing does that here", ofApplication, "{schedule: a}", "it is a field of a ScheduledSparkApplication of sparkoperator.k8s.io/v1beta2"},
		{"a typo", ofApplication, "{imgae: a}", "did you mean image?"},
	} {
		problems := documents(t, tc.kind+"metadata: {name: a}\nspec: "+tc.spec+"\n")[0].Problems
		if len(problems) != 1 || !strings.HasSuffix(problems[0].Message, "unknown field; the operator would not see it; "+tc.want) {
			t.Errorf("%s: %+v, want %q", tc.reason, problems, tc.want)
		}
	}
}

// A word of the table that a kind has itself is none there, and each leads to a field of some kind.
func TestSynonymsLeadSomewhere(t *testing.T) {
	for word := range synonyms {
		found := false
		for _, kind := range []string{ofApplication, ofSchedule, ofServer, ofApache, ofCluster} {
			for _, value := range []string{"a", "[]", "{}"} {
				for _, p := range documents(t, kind+"metadata: {name: a}\nspec: {"+word+": "+value+"}\n")[0].Problems {
					found = found || strings.Contains(p.Message, "; write ")
				}
			}
		}
		if !found {
			t.Errorf("%s: no kind has what it stands for", word)
		}
	}
}
