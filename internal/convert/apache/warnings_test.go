// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Apache's operator takes what has no effect without a word. It is taken here, too, and told.
func TestWarnings(t *testing.T) {
	const (
		tolerations, path = "applicationTolerations: ", "spec.applicationTolerations."
		noRestart         = ": has no effect with restartPolicy Never, which is the default; write OnFailure, OnInfrastructureFailure or Always"
		noInit            = `instanceConfig.initExecutors: "0": minExecutors and maxExecutors have no effect without initExecutors; write how many executors must be ready at the start`
		tooMany           = `instanceConfig.initExecutors: "3": is more than the 2 executors of the application (spark.executor.instances): they would never be ready`
		noRules           = "spec.driverServiceIngressList[0].ingressSpec: has no rules: its class, TLS and default backend are ignored; add a rule to the Service"
		ingress           = "driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 1}]}, ingressSpec: "
	)
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
		"Restarts": {reason: "the usual policy is Never", spec: tolerations + "{restartConfig: {maxRestartAttempts: 3}}", want: []string{path + `restartConfig.maxRestartAttempts: "3"` + noRestart}},
		"Limits": {
			reason: "always in one order", spec: tolerations + "{restartConfig: {maxRestartOnSchedulingFailure: 1, maxRestartOnFailure: 2, maxRestartAttempts: 3}}", want: []string{
				path + `restartConfig.maxRestartAttempts: "3"` + noRestart, path + `restartConfig.maxRestartOnFailure: "2"` + noRestart,
				path + `restartConfig.maxRestartOnSchedulingFailure: "1"` + noRestart,
			},
		},
		"Keeps":          {reason: "it may run again", spec: tolerations + "{resourceRetainPolicy: Always, restartConfig: {restartPolicy: Always}}", want: []string{path + `resourceRetainPolicy: "Always": has no effect with restartPolicy Always: an application that may run again keeps nothing`}},
		"KeptFor":        {reason: "nothing is kept", spec: tolerations + "{resourceRetainDurationMillis: 1000}", want: []string{path + `resourceRetainDurationMillis: "1000": has no effect with resourceRetainPolicy Never, which is the default; write OnFailure or Always`}},
		"NoInit":         {reason: "their own example has it so", spec: tolerations + "{instanceConfig: {minExecutors: 1, maxExecutors: 2}}", want: []string{path + noInit}},
		"TooMany":        {reason: "Spark starts two by default", spec: tolerations + "{instanceConfig: {initExecutors: 3}}", want: []string{path + tooMany}},
		"Elastic":        {reason: "dynamic allocation may come to three", spec: tolerations + "{instanceConfig: {initExecutors: 3}}\nsparkConf: {spark.dynamicAllocation.enabled: 'True'}"},
		"MinMax":         {reason: "both cannot be", spec: tolerations + "{instanceConfig: {initExecutors: 1, minExecutors: 3, maxExecutors: 2}}", want: []string{path + `instanceConfig.minExecutors: "3": is more than maxExecutors 2`}},
		"Ingress":        {reason: "the rule to the Service is all that it gets", spec: ingress + "{tls: [{hosts: [a.b]}]}}]", want: []string{noRules}},
		"IngressClass":   {reason: "so it loses its class", spec: ingress + "{ingressClassName: nginx}}]", want: []string{noRules}},
		"IngressBackend": {reason: "and its backend", spec: ingress + "{defaultBackend: {service: {name: a}}}}]", want: []string{noRules}},
		"IngressRules":   {reason: "with rules all of it stays", spec: ingress + "{ingressClassName: nginx, rules: [{host: a.b}]}}]"},
		"IngressNone":    {reason: "nothing is lost", spec: ingress + "{}}]"},
		"IngressUnsaid":  {reason: "nothing is said", spec: "driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 1}]}}]"},
		"NoLimits":       {reason: "no restart is what there is", spec: tolerations + "{restartConfig: {maxRestartAttempts: 0}}"},
		"KeptAsSaid":     {reason: "the policy has an effect", spec: tolerations + "{resourceRetainPolicy: OnFailure, resourceRetainDurationMillis: 0}"},
		"KeptForNothing": {
			reason: "0 is a number, too", spec: tolerations + "{resourceRetainDurationMillis: 0}",
			want: []string{path + `resourceRetainDurationMillis: "0": has no effect with resourceRetainPolicy Never, which is the default; write OnFailure or Always`},
		},
		"NoInitMin":  {reason: "nor is one number enough", spec: tolerations + "{instanceConfig: {minExecutors: 1}}", want: []string{path + noInit}},
		"NoInitMax":  {reason: "nor the other", spec: tolerations + "{instanceConfig: {maxExecutors: 2}}", want: []string{path + noInit}},
		"NoNumbers":  {reason: "nothing is counted", spec: tolerations + "{instanceConfig: {}}"},
		"JustEnough": {reason: "two of two", spec: tolerations + "{instanceConfig: {initExecutors: 2, minExecutors: 2, maxExecutors: 2}}"},
		"MinAlone":   {reason: "without a most nothing is more", spec: tolerations + "{instanceConfig: {initExecutors: 1, minExecutors: 3}}"},
		"R":          {reason: "the first of them runs", spec: "jars: ''\npyFiles: a.py\nsparkRFiles: a.R", want: []string{`spec.sparkRFiles: "a.R": is ignored: the application runs the file in spec.pyFiles`}},
		"Grace": {
			reason: "Spark has a property for it", spec: "executorSpec: {podTemplateSpec: {spec: {terminationGracePeriodSeconds: 0}}}\nruntimeVersions: {sparkVersion: 4.1.4}",
			want: []string{`spec.executorSpec.podTemplateSpec.spec.terminationGracePeriodSeconds: "0": is overwritten by Spark when it creates the executors; write spec.sparkConf["spark.kubernetes.executor.terminationGracePeriodSeconds"]: "0s"`},
		},
		"GraceBefore": {reason: "Spark leaves the template's", spec: "executorSpec: {podTemplateSpec: {spec: {terminationGracePeriodSeconds: 0}}}\nruntimeVersions: {sparkVersion: 4.0.4}"},
		"GraceSaid": {
			reason: "the property is what holds", spec: "executorSpec: {podTemplateSpec: {spec: {terminationGracePeriodSeconds: 0}}}\nruntimeVersions: {sparkVersion: 4.1.4}\n" +
				"sparkConf: {spark.kubernetes.executor.terminationGracePeriodSeconds: 0s}",
		},
		"Main": {reason: "the first of them runs", spec: "pyFiles: local:///a.py", want: []string{`spec.pyFiles: "local:///a.py": is ignored: the application runs the file in spec.jars`}},
		"Versions": {reason: "the image decides", spec: "runtimeVersions: {sparkVersion: 4.1.4, scalaVersion: '2.13', jdkVersion: '17'}\nfiles: a", want: []string{
			`spec.files: "a": is accepted and ignored; write spec.sparkConf["spark.files"]`, `spec.runtimeVersions.scalaVersion: "2.13": is accepted and ignored: the image decides`,
			`spec.runtimeVersions.jdkVersion: "17": is accepted and ignored: the image decides`,
		}},
		"Kueue":     {reason: "a user would wait for it", label: "team", spec: "{}", want: []string{`metadata.labels["kueue.x-k8s.io/queue-name"]: "team": is not read by this operator: the application does not wait for Kueue`}},
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
				got = append(got, w.About(model.PathOf(w)))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
