// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/firesteel-dev/firesteel/internal/policy"
)

const validateConnect = "/validate-sparkoperator-k8s-io-v1alpha1-sparkconnect"

// lab is a good server, with more fields in its spec.
func lab(fields string) string { return labOf("lab", "4.1.4", fields) }

func labOf(name, version, fields string) string {
	if !strings.Contains(fields, "server:") {
		fields += ", server: {}"
	}
	if !strings.Contains(fields, "image:") {
		fields += ", image: 'spark:4.1.4'"
	}
	if !strings.Contains(fields, "executor:") {
		fields += ", executor: {}"
	}
	return "apiVersion: sparkoperator.k8s.io/v1alpha1\nkind: SparkConnect\nmetadata: {name: " + name + ", namespace: jobs}\nspec: {sparkVersion: '" + version + "', " +
		strings.TrimPrefix(fields, ", ") + "}"
}

// wrongServers are fields of servers that are refused.
var wrongServers = map[string]string{
	"memory":     "server: {memory: 2gb}",
	"executors":  "executor: {memory: 2Gi}",
	"malformed":  "server: {template: text}",
	"idle":       "idleTimeout: -5m",
	"drain":      "drainTimeout: -1s",
	"scaling":    "dynamicAllocation: {enabled: true, minExecutors: 3, maxExecutors: 2}",
	"service":    "server: {service: {metadata: {name: My_Service}}}",
	"balancer":   "server: {service: {spec: {type: LoadBalancer}}}",
	"limit":      "executor: {instances: 1001}",
	"forbidden":  "sparkConf: {spark.forbidden: x}",
	"namespace":  "sparkConf: {spark.kubernetes.namespace: other}",
	"everything": "server: {memory: x}, executor: {memory: y}, idleTimeout: -1s",
}

func TestValidateConnect(t *testing.T) {
	tight := policy.Policy{Name: "tight", Namespaces: []string{"jobs"}, Limits: policy.Limits{
		Executors: new(int32(2)), Driver: policy.RoleLimits{Memory: "4Gi"}, ServiceTypes: []string{"ClusterIP"}, Images: []string{"spark:*"},
	}}
	for name, tc := range map[string]struct {
		reason, sent string
		refused      []string
		warned       []string
	}{
		"Good":       {reason: "nothing is wrong", sent: lab("executor: {instances: 2}")},
		"Everything": {reason: "each with its field", sent: lab("server: {memory: 2gb}, executor: {memory: 2giga}, idleTimeout: -5m"), refused: []string{`spec.server.memory: "2gb"`, `spec.executor.memory: "2giga"`, `spec.idleTimeout: "-5m0s"`}},
		"Name":       {reason: "their rule", sent: labOf("lab.1", "4.1.4", ""), refused: []string{`metadata.name: invalid SparkConnect name "lab.1"`}},
		"Long":       {reason: "their rule", sent: labOf(strings.Repeat("a", 57), "4.1.4", ""), refused: []string{"must be no more than 56 characters"}},
		"Version":    {reason: "their rule", sent: labOf("lab", "", ""), refused: []string{"spec.sparkVersion: missing"}},
		"Template":   {reason: "their rule", sent: labOf("lab", "2.4.8", "server: {template: {spec: {containers: [{name: a}]}}}"), refused: []string{`spec.sparkVersion: "2.4.8"`}},
		"Scaling":    {reason: "their rule", sent: lab("dynamicAllocation: {enabled: true, minExecutors: 3, maxExecutors: 2}"), refused: []string{"spec.dynamicAllocation.maxExecutors"}},
		"Negative":   {reason: "their rule", sent: lab("dynamicAllocation: {enabled: true, minExecutors: -1, maxExecutors: 2}"), refused: []string{"spec.dynamicAllocation.minExecutors"}},
		"Denied":     {reason: "their rule", sent: lab("sparkConf: {spark.master: local}"), refused: []string{`spec.sparkConf["spark.master"]`}},
		"Image":      {reason: "use the field", sent: lab("sparkConf: {spark.kubernetes.driver.container.image: x}"), refused: []string{"use spec.server.template"}},
		"NoImage":    {reason: "their rule: neither the spec nor the templates", sent: lab("image: ''"), refused: []string{"spec.image"}},
		"OneImage":   {reason: "executors have none", sent: lab("image: '', server: {template: {spec: {containers: [{name: spark-kubernetes-driver, image: 'spark:4'}]}}}, executor: {instances: 1}"), refused: []string{"spec.image"}},
		"Service":    {reason: "no Service can be called so", sent: lab("server: {service: {metadata: {name: My_Books}}}"), refused: []string{`spec.server.service.metadata.name: "My_Books"`}},
		"Malformed":  {reason: "the schema is open there", sent: lab("server: {template: text}"), refused: []string{"spec: cannot be decoded"}},
		"Policy": {
			reason: "limits of the installation", sent: lab("server: {memory: 8g, service: {spec: {type: LoadBalancer}}}, executor: {instances: 3}"),
			refused: []string{`spec.server.memory: "8g"`, `spec.executor.instances: "3": namespace jobs allows at most 2 executors`, `spec.server.service.spec.type: "LoadBalancer"`},
		},
		"Images":    {reason: "of a template", sent: lab("server: {template: {spec: {containers: [{name: spark-kubernetes-driver, image: 'evil:1'}]}}}, executor: {instances: 1}"), refused: []string{`spec.server.template: "evil:1"`}},
		"Token":     {reason: "an older Spark asks for none; another operator knows no such field", sent: labOf("lab", "3.5.9", "authentication: {token: true}, executor: {instances: 1}"), warned: []string{"spec.authentication.token: "}},
		"OldSpark":  {reason: "another operator may run it", sent: labOf("lab", "3.2.1", ""), warned: []string{`spec.sparkVersion: "3.2.1"`}},
		"Unknown":   {reason: "a typing error where the schema is open", sent: lab("server: {template: {spec: {node: {}}}}, executor: {instances: 1}"), warned: []string{"spec.server.template.spec.node: unknown field"}},
		"Container": {reason: "Spark's is another", sent: lab("server: {template: {spec: {containers: [{name: main}]}}}, executor: {instances: 1}"), warned: []string{`spec.server.template: "main": no container is named spark-kubernetes-driver`}},
	} {
		t.Run(name, func(t *testing.T) {
			response := call(t, validateConnect, admissionv1.Create, "", tc.sent, tight)
			if response.Allowed != (len(tc.refused) == 0) {
				t.Fatalf("%s: allowed: %t, %+v, %q", tc.reason, response.Allowed, response.Result, response.Warnings)
			}
			for _, text := range tc.refused {
				if response.Result.Details.Kind != "SparkConnect" || !strings.Contains(response.Result.Message, text) {
					t.Errorf("%s: it does not say %q of its kind: %s", tc.reason, text, response.Result.Message)
				}
			}
			warnings := strings.Join(response.Warnings, "\n")
			for _, text := range tc.warned {
				if !strings.Contains(warnings, text) {
					t.Errorf("%s: no warning says %q: %s", tc.reason, text, warnings)
				}
			}
			if len(tc.warned)+len(tc.refused) == 0 && warnings != "" {
				t.Errorf("%s: warned of %s", tc.reason, warnings)
			}
		})
	}
}

// What is wrong already must not keep anybody from stopping the server.
func TestEditsOfAServer(t *testing.T) {
	bad := lab("server: {memory: 2gb}")
	for name, tc := range map[string]struct {
		reason       string
		stored, sent string
		allowed      bool
	}{
		"Suspend":  {reason: "it was wrong before", stored: bad, sent: lab("server: {memory: 2gb}, suspend: true"), allowed: true},
		"Metadata": {reason: "the spec is as it was", stored: bad, sent: strings.Replace(bad, "namespace: jobs", "namespace: jobs, labels: {a: b}", 1), allowed: true},
		"Worse":    {reason: "the edit makes it wrong", stored: lab(""), sent: bad},
		"Better":   {reason: "it is right now", stored: bad, sent: lab(""), allowed: true},
	} {
		if response := call(t, validateConnect, admissionv1.Update, tc.stored, tc.sent); response.Allowed != tc.allowed {
			t.Errorf("%s: %s: allowed: %t, %+v", name, tc.reason, response.Allowed, response.Result)
		}
	}
	if response := call(t, validateConnect, admissionv1.Delete, bad, ""); !response.Allowed {
		t.Errorf("anything may go: %+v", response.Result)
	}
}
