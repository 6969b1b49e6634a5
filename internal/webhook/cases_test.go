// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

// strict is an operator with policies and with something to expose.
func strict(t *testing.T) resolve.Operator {
	t.Helper()
	o := operator(t, policy.Policy{
		Name: "strict", Namespaces: []string{"*"}, Defaults: policy.Defaults{Labels: map[string]string{"team": "a"}},
		Limits: policy.Limits{
			ServiceTypes: []string{"ClusterIP"}, Hosts: []string{"*.example.org"}, Executors: new(int32(1000)), ForbiddenConf: []string{"spark.forbidden"},
			PodSecurity: "baseline", ForbiddenAnnotations: []string{"external-dns.*"}, Tolerations: []string{"team/*"}, VolumeClaims: new(int32(1000)),
			Driver: policy.RoleLimits{Resources: map[string]policy.Amount{"evil/*": "0"}},
		},
	})()
	o.Exposure = exposure.Config{Service: true, Ingress: exposure.Ingress{Enabled: true, URLFormat: "ui.example.org/{{$appNamespace}}/{{$appName}}"}}
	return o
}

// casesOfTurn are fields of applications, one for each kind of fault in the cases of turn 4 that concerns a spec.
var casesOfTurn = map[string]string{
	"001 null":        "sparkConf: null, arguments: null, driver: {memory: null, labels: null}",
	"003 no CPU":      "driver: {coreRequest: '0'}, executor: {coreRequest: '0'}",
	"003 negative":    "driver: {coreRequest: '-1'}",
	"005 placeholder": "deps: {jars: ['s3a://<bucket>/a.jar']}",
	"009 class":       "batchSchedulerOptions: {queue: nightly}",
	"010 version":     "sparkVersion: 3.1.1, restartPolicy: {type: Never}",
	"011 two mounts":  "driver: {volumeMounts: [{name: a, mountPath: /opt/spark/conf}]}, volumes: [{name: a, emptyDir: {}}]",
	"012 host":        "sparkUIOptions: {ingressTLS: [{secretName: A_B, hosts: ['<x>']}]}",
	"013 sizes":       "driver: {template: {spec: {containers: [{name: spark-kubernetes-driver, resources: {requests: {memory: 6Gi}}}]}}}",
	"015 retries":     "restartPolicy: {type: OnFailure}",
	"017 property":    "sparkConf: {spark.executor.instance: '4'}",
	"019 executor":    "executor: {tolerations: [{key: team/a, operator: Equals}]}",
	"020 driver":      "driver: {envFrom: [{secretRef: {name: Login_A}}]}",
	"022 packages":    "deps: {packages: ['o:a:1']}",
	"023 Kerberos":    "sparkConf: {spark.kerberos.keytab: /a.keytab, spark.kerberos.principal: a}",
	"id":              "sparkConf: {spark.app.id: Fixed_ID}",
	"prefix":          "sparkConf: {spark.kubernetes.executor.podNamePrefix: Fixed_ID}",
}

// casesOfKueue are fields of applications in a queue of Kueue, which counts executor.instances (finding 2 of the review of the schedulers).
var casesOfKueue = map[string]string{
	"counted":  "executor: {instances: 2}",
	"left out": "executor: {}",
	"more":     "executor: {instances: 1}, sparkConf: {spark.dynamicAllocation.enabled: 'true', spark.dynamicAllocation.maxExecutors: '50'}",
	"no limit": "dynamicAllocation: {enabled: true}",
}

// addCases adds the applications of these cases.
func addCases(t *testing.T, apps map[string]*v1beta2.SparkApplication) {
	t.Helper()
	for metadata, cases := range map[string]map[string]string{"labels: {}": casesOfTurn, "labels: {kueue.x-k8s.io/queue-name: q}": casesOfKueue} {
		for name, fields := range cases {
			o := &v1beta2.SparkApplication{}
			if err := json.Unmarshal(object(t, with(metadata, strings.Replace(good, "type:", fields+", type:", 1))), o); err != nil {
				t.Fatal(err)
			}
			apps["case "+name] = o
		}
	}
}

// apacheFixtures are fields of applications of the other family, in the same way.
var apacheFixtures = map[string]string{
	"good":           apacheImage,
	"001 null":       apacheImage + "  driverArgs: null\n",
	"012 Ingress":    apacheImage + "  driverServiceIngressList: [{serviceMetadata: {name: U_I}, serviceSpec: {ports: [{port: 4040}]}, ingressMetadata: {name: ui}, ingressSpec: {rules: [{host: a.example.org}]}}]\n",
	"013 sizes":      apacheImage + "  driverSpec: {podTemplateSpec: {spec: {containers: [{name: spark-kubernetes-driver, resources: {requests: {memory: 6Gi}}}]}}}\n",
	"019 executor":   apacheImage + "  executorSpec: {podTemplateSpec: {spec: {dnsPolicy: Cluster}}}\n",
	"020 driver":     apacheImage + "  driverSpec: {podTemplateSpec: {spec: {dnsPolicy: Cluster}}}\n",
	"id":             "  sparkConf: {spark.kubernetes.container.image: a, spark.app.id: Fixed_ID}\n",
	"prefix":         "  sparkConf: {spark.kubernetes.container.image: a, spark.kubernetes.executor.podNamePrefix: Fixed_ID}\n",
	"name of a pod":  "  sparkConf: {spark.kubernetes.container.image: a, spark.kubernetes.driver.pod.name: Fixed_ID}\n",
	"property":       "  sparkConf: {spark.kubernetes.container.image: a, spark.executor.instance: '4'}\n",
	"memory":         "  sparkConf: {spark.kubernetes.container.image: a, spark.driver.memory: 2Gi}\n",
	"unknown fields": apacheImage + "  ttlSecondsAfterFinished: 5\n",
}
