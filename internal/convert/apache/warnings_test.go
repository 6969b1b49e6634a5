// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Apache's operator takes what has no effect without a word. It is taken here, too, and told.
func TestWarnings(t *testing.T) {
	const tolerations = "applicationTolerations: "
	cases := map[string]struct {
		reason, spec string
		label        string
		want         []string
	}{
		"Nothing": {reason: "all of it has an effect", spec: tolerations + `
  restartConfig: {restartPolicy: OnFailure, maxRestartAttempts: 2}
  instanceConfig: {initExecutors: 1, minExecutors: 1, maxExecutors: 2}
  ttlAfterStopMillis: 1000
  resourceRetainDurationMillis: -1`},
		"Restarts": {reason: "the usual policy is Never", spec: tolerations + "{restartConfig: {maxRestartAttempts: 3}}", want: []string{`spec.applicationTolerations.restartConfig.maxRestartAttempts: "3"`}},
		"Limits": {
			reason: "always in one order", spec: tolerations + "{restartConfig: {maxRestartOnSchedulingFailure: 1, maxRestartOnFailure: 2, maxRestartAttempts: 3}}", want: []string{
				`spec.applicationTolerations.restartConfig.maxRestartAttempts: "3"`, `spec.applicationTolerations.restartConfig.maxRestartOnFailure: "2"`,
				`spec.applicationTolerations.restartConfig.maxRestartOnSchedulingFailure: "1"`,
			},
		},
		"Keeps":   {reason: "it may run again", spec: tolerations + "{resourceRetainPolicy: Always, restartConfig: {restartPolicy: Always}}", want: []string{`spec.applicationTolerations.resourceRetainPolicy: "Always"`}},
		"KeptFor": {reason: "nothing is kept", spec: tolerations + "{resourceRetainDurationMillis: 1000}", want: []string{`spec.applicationTolerations.resourceRetainDurationMillis: "1000"`}},
		"NoInit":  {reason: "their own example has it so", spec: tolerations + "{instanceConfig: {minExecutors: 1, maxExecutors: 2}}", want: []string{`spec.applicationTolerations.instanceConfig.initExecutors: "0"`}},
		"TooMany": {reason: "Spark starts two by default", spec: tolerations + "{instanceConfig: {initExecutors: 3}}", want: []string{`spec.applicationTolerations.instanceConfig.initExecutors: "3"`}},
		"Elastic": {reason: "dynamic allocation may come to three", spec: tolerations + "{instanceConfig: {initExecutors: 3}}\nsparkConf: {spark.dynamicAllocation.enabled: 'True'}"},
		"MinMax":  {reason: "both cannot be", spec: tolerations + "{instanceConfig: {initExecutors: 1, minExecutors: 3, maxExecutors: 2}}", want: []string{`spec.applicationTolerations.instanceConfig.minExecutors: "3"`}},
		"Ingress": {reason: "the rule to the Service is all that it gets", spec: "driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 1}]}, ingressSpec: {tls: [{hosts: [a.b]}]}}]", want: []string{`spec.driverServiceIngressList[0].ingressSpec: ""`}},
		"Grace": {
			reason: "Spark has a property for it", spec: "executorSpec: {podTemplateSpec: {spec: {terminationGracePeriodSeconds: 0}}}\nruntimeVersions: {sparkVersion: 4.1.4}",
			want: []string{`spec.executorSpec.podTemplateSpec.spec.terminationGracePeriodSeconds: "0"`},
		},
		"GraceBefore": {reason: "Spark leaves the template's", spec: "executorSpec: {podTemplateSpec: {spec: {terminationGracePeriodSeconds: 0}}}\nruntimeVersions: {sparkVersion: 4.0.4}"},
		"GraceSaid": {
			reason: "the property is what holds", spec: "executorSpec: {podTemplateSpec: {spec: {terminationGracePeriodSeconds: 0}}}\nruntimeVersions: {sparkVersion: 4.1.4}\n" +
				"sparkConf: {spark.kubernetes.executor.terminationGracePeriodSeconds: 0s}",
		},
		"Main":      {reason: "the first of them runs", spec: "pyFiles: local:///a.py", want: []string{`spec.pyFiles: "local:///a.py"`}},
		"Versions":  {reason: "the image decides", spec: "runtimeVersions: {sparkVersion: 4.1.4, scalaVersion: '2.13', jdkVersion: '17'}\nfiles: a", want: []string{`spec.files: "a"`, `spec.runtimeVersions.scalaVersion: "2.13"`, `spec.runtimeVersions.jdkVersion: "17"`}},
		"Kueue":     {reason: "a user would wait for it", label: "team", spec: "{}", want: []string{`metadata.labels["kueue.x-k8s.io/queue-name"]: "team"`}},
		"BadNumber": {reason: "it is named elsewhere", spec: tolerations + "{instanceConfig: {initExecutors: 1}}\nsparkConf: {spark.executor.instances: x}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := own(nil).app
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &o.Spec); err != nil {
				t.Fatal(err)
			}
			if tc.label != "" {
				o.Labels = map[string]string{labelQueue: tc.label}
			}
			model, _ := Normalize(o)
			var got []string
			for _, w := range model.Warnings {
				got = append(got, model.PathOf(w)+`: "`+w.Value+`"`)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
