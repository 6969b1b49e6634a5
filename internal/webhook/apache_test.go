// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/test/golden"
)

const validateApache = "/validate-spark-apache-org-v1-sparkapplication"

// apachePi is a good application of the other family, with more fields in its spec.
func apachePi(fields string) string {
	return "apiVersion: spark.apache.org/v1\nkind: SparkApplication\nmetadata: {name: pi, namespace: jobs}\nspec:\n  mainClass: Main\n  jars: local:///a.jar\n" +
		"  runtimeVersions: {sparkVersion: 4.1.4}\n" + fields
}

const apacheImage = "  sparkConf: {spark.kubernetes.container.image: 'spark:4.1.4'}\n"

func TestValidateApache(t *testing.T) {
	tight := policy.Policy{Name: "tight", Namespaces: []string{"jobs"}, Limits: policy.Limits{
		Driver: policy.RoleLimits{Memory: "4Gi"}, RequiredLabels: []string{"team"}, Hosts: []string{"*.example.org"},
	}}
	for name, tc := range map[string]struct {
		reason, sent string
		policies     []policy.Policy
		refused      []string
		warned       string
	}{
		"Good":   {reason: "nothing is wrong", sent: apachePi(apacheImage)},
		"Memory": {reason: "not Spark's unit", sent: apachePi("  sparkConf: {spark.kubernetes.container.image: a, spark.driver.memory: 2Gi}\n"), refused: []string{`spec.sparkConf["spark.driver.memory"]: "2Gi"`}},
		"Image":  {reason: "nothing could start; their API takes it", sent: apachePi(""), warned: `spec.sparkConf["spark.kubernetes.container.image"]`},
		"Client": {reason: "there is no such driver; their API takes it", sent: apachePi(apacheImage + "  deploymentMode: ClientMode\n"), warned: `spec.deploymentMode: "ClientMode"`},
		"Sentinel": {
			reason: "nothing runs of it, as of those of their chart", sent: strings.NewReplacer("namespace: jobs", "namespace: jobs, labels: {spark.operator/sentinel: 'true'}", "4.1.4", "dummy").Replace(apachePi("")),
			warned: "the application has no image",
		},
		"Limits": {
			reason: "named by the fields of the family", policies: []policy.Policy{tight},
			sent: apachePi("  sparkConf: {spark.kubernetes.container.image: a, spark.driver.memory: 8g}\n  driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 4040}]}, ingressMetadata: {name: ui}}]\n"),
			refused: []string{
				`spec.sparkConf["spark.driver.memory"]: "8g"`, `spec.driverSpec.podTemplateSpec.metadata.labels["team"]: missing on the driver pod`,
				`spec.executorSpec.podTemplateSpec.metadata.labels["team"]`, "spec.driverServiceIngressList[0].ingressSpec.rules[0]",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			response := call(t, validateApache, admissionv1.Create, "", tc.sent, tc.policies...)
			if response.Allowed != (len(tc.refused) == 0) {
				t.Fatalf("%s: %+v", tc.reason, response)
			}
			if warned := strings.Join(response.Warnings, "\n"); !strings.Contains(warned, tc.warned) || tc.warned == "" && warned != "" {
				t.Errorf("%s: it warns %q", tc.reason, warned)
			}
			for _, text := range tc.refused {
				if !strings.Contains(response.Result.Message, text) {
					t.Errorf("%s: it does not say %s: %s", tc.reason, text, response.Result.Message)
				}
			}
		})
	}
}

// What another operator works on is its own webhook's to judge. Kinds of the other family have no such selector.
func TestLabelSelectorOfApache(t *testing.T) {
	c := config.OperatorConfiguration{Apache: config.Apache{Enabled: true, LabelSelector: "team=a"}}
	wrong := apachePi("  sparkConf: {spark.kubernetes.container.image: a, spark.driver.memory: 2Gi}\n")
	labeled := func(team string) string {
		return strings.Replace(wrong, "namespace: jobs", "namespace: jobs, labels: {team: "+team+"}", 1)
	}
	for name, tc := range map[string]struct {
		reason, path, stored, sent string
		allowed                    bool
	}{
		"Chosen":   {reason: "this operator runs it", path: validateApache, sent: labeled("a")},
		"Other":    {reason: "another one does", path: validateApache, sent: labeled("b"), allowed: true},
		"None":     {reason: "it has no label", path: validateApache, sent: wrong, allowed: true},
		"Edit":     {reason: "an edit makes it this operator's", path: validateApache, stored: strings.Replace(labeled("b"), "2Gi", "2g", 1), sent: labeled("a")},
		"Kubeflow": {reason: "the selector is that of the other family", path: validate, sent: badMemory},
	} {
		operation := admissionv1.Create
		if tc.stored != "" {
			operation = admissionv1.Update
		}
		if response := callWith(t, c, tc.path, operation, tc.stored, tc.sent); response.Allowed != tc.allowed {
			t.Errorf("%s: %s: %+v", name, tc.reason, response)
		}
	}
}

// Whatever got a driver from Apache's operator is taken.
func TestAcceptsWhatApacheRuns(t *testing.T) {
	corpus := golden.Open(t, "GOLDEN_APACHE", filepath.Join("..", "convert", "apache", "testdata", "golden.zip"))
	ran := 0
	for _, c := range corpus.Cases(t) {
		var input struct{ Manifest map[string]any }
		corpus.Read(t, &input, c.Dir, "case.json")
		var states struct{ Sequence []string }
		if input.Manifest["kind"] != "SparkApplication" {
			continue
		}
		if corpus.Read(t, &states, c.Dir, "states.json"); !slices.Contains(states.Sequence, "DriverRequested") {
			continue
		}
		ran++
		input.Manifest["apiVersion"] = "spark.apache.org/v1" // as the API server sends it
		text, err := json.Marshal(input.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		if response := call(t, validateApache, admissionv1.Create, "", string(text)); !response.Allowed {
			t.Errorf("%s is refused: %s", c.Dir, response.Result.Message)
		}
	}
	if ran < 50 {
		t.Errorf("only %d recorded applications had a driver", ran)
	}
}
