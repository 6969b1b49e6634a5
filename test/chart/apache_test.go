// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/config"
)

func TestApache(t *testing.T) { checkAll(t, families) }

// Who applies the folder of the definitions, as GitOps set-ups do, does not get one that takes the names of another.
func TestDefinitionsOfOneFamily(t *testing.T) {
	files, err := os.ReadDir(chartPath + "/files/crds")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no definitions", err)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), "sparkoperator.k8s.io_") {
			t.Errorf("files/crds has %s", f.Name())
		}
	}
}

// families are with and without the second API family.
var families = map[string]combination{
	"Apache": {reason: "the other family has its definition, its place in webhook and policies, and rights", values: `
apache: {enable: true, keepStateHistory: true, labelSelector: "team in (a, b)", sentinelPeriod: 90s, workerPodDisruptionBudget: {enable: false}}
userRoles: {create: true}
executorAdmissionPolicy: {enable: true}
controller: {driverIngress: {enable: false}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if diff := cmp.Diff(config.Apache{Enabled: true, KeepStateHistory: true, LabelSelector: "team in (a, b)", SentinelPeriod: metav1.Duration{Duration: 90 * time.Second}, WorkerPodDisruptionBudget: config.WorkerPodDisruptionBudget{Enabled: new(false)}}, configOf(t, all, configMap).Apache); diff != "" {
			t.Errorf("configuration (-want +got):\n%s", diff)
		}
		has(t, all, "CustomResourceDefinition sparkapplications.spark.apache.org", "CustomResourceDefinition sparkclusters.spark.apache.org", "ClusterRole spark-operator-apache-sparkapplication-editor-role")
		rules := as[rbacv1.Role](t, all, "Role default/spark-operator-controller").Rules
		if !grants(rules, "spark.apache.org", "sparkapplications/status", "patch") || !grants(rules, "apps", "statefulsets", "create") || grants(rules, "gateway.networking.k8s.io", "httproutes", "create") {
			t.Errorf("rules without Ingresses and routes: %+v", rules)
		}
		checked := as[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration "+webhook).Webhooks
		for i, resource := range []string{"sparkapplication", "sparkcluster"} {
			w := checked[len(checked)-2+i]
			if w.Rules[0].APIGroups[0] != "spark.apache.org" || w.Rules[0].Resources[0] != resource+"s" || *w.MatchPolicy != admissionv1.Equivalent || *w.ClientConfig.Service.Path != "/validate-spark-apache-org-v1-"+resource {
				t.Errorf("the webhook of %ss is %+v", resource, w)
			}
		}
		labels := ""
		for _, v := range as[admissionv1.ValidatingAdmissionPolicy](t, all, "ValidatingAdmissionPolicy spark-operator-executors").Spec.Variables {
			if v.Name == "appLabels" {
				labels = v.Expression
			}
		}
		if !strings.Contains(labels, "spark.operator/spark-app-name") {
			t.Errorf("executors are known by %s", labels)
		}
		submitters := as[admissionv1.MutatingAdmissionPolicy](t, all, "MutatingAdmissionPolicy spark-operator-submitter").Spec.MatchConstraints.ResourceRules[0]
		if !slices.Contains(submitters.APIGroups, "spark.apache.org") || !slices.Contains(submitters.Resources, "sparkclusters") {
			t.Errorf("submitters are recorded of %v in %v", submitters.Resources, submitters.APIGroups)
		}
	}},
	"NoApache": {reason: "by default nothing touches the objects of Apache's operator", values: `userRoles: {create: true}`, check: func(t *testing.T, all objects) {
		t.Helper()
		for key, o := range all {
			if text, err := o.MarshalJSON(); err != nil || strings.Contains(string(text), "spark.apache.org\"") {
				t.Errorf("%s names spark.apache.org (%v)", key, err)
			}
		}
	}},
}
