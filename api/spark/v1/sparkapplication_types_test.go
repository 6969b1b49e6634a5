// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// definition is the definition of a kind, and the schema of each version.
func definition(t *testing.T, plural string) (apiextensionsv1.CustomResourceDefinition, map[string]apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	text, err := os.ReadFile("../../../config/crd/bases/spark.apache.org_" + plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		t.Fatal(err)
	}
	schemas := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, v := range d.Spec.Versions {
		schemas[v.Name] = *v.Schema.OpenAPIV3Schema
	}
	return d, schemas
}

// Tools find the kinds by these names, and print these columns.
func TestNamesAndColumns(t *testing.T) {
	for kind, short := range map[string]string{"SparkApplication": "sparkapp", "SparkCluster": "sparkcluster"} {
		singular := strings.ToLower(kind)
		d, _ := definition(t, singular+"s")
		want := apiextensionsv1.CustomResourceDefinitionNames{
			Kind: kind, ListKind: kind + "List", Plural: singular + "s", Singular: singular, ShortNames: []string{short}, Categories: []string{"spark"},
		}
		if diff := cmp.Diff(want, d.Spec.Names); diff != "" {
			t.Error(diff)
		}
		type version struct {
			Name            string
			Served, Storage bool
			Columns         []string
		}
		var got []version
		for _, v := range d.Spec.Versions {
			row := version{v.Name, v.Served, v.Storage, nil}
			for _, c := range v.AdditionalPrinterColumns {
				row.Columns = append(row.Columns, c.Name+" "+c.JSONPath)
			}
			got = append(got, row)
		}
		const age, state = "Age .metadata.creationTimestamp", "Current State .status.currentState.currentStateSummary"
		if diff := cmp.Diff([]version{{"v1", true, true, []string{age, state}}, {"v1beta1", true, false, []string{state, age}}}, got); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

// kept are the fields that the frozen version has because v1 has them: they have no description there.
func kept(t *testing.T, plural string) []string {
	t.Helper()
	_, schemas := definition(t, plural)
	var all []string
	var walk func(path string, v1, frozen apiextensionsv1.JSONSchemaProps)
	walk = func(path string, v1, frozen apiextensionsv1.JSONSchemaProps) {
		for name, property := range v1.Properties {
			switch inner, found := frozen.Properties[name]; {
			case !found:
				t.Errorf("v1beta1 lacks %s.%s: an API server drops it when that version is written", path, name)
			case inner.Description == "" && property.Description != "":
				all = append(all, path+"."+name)
			default:
				walk(path+"."+name, property, inner)
			}
		}
		if v1.Items != nil && frozen.Items != nil {
			walk(path+"[]", *v1.Items.Schema, *frozen.Items.Schema)
		}
		if v1.AdditionalProperties != nil && frozen.AdditionalProperties != nil {
			walk(path+".*", *v1.AdditionalProperties.Schema, *frozen.AdditionalProperties.Schema)
		}
	}
	walk("", schemas["v1"], schemas["v1beta1"])
	slices.Sort(all)
	return all
}

func TestFrozenVersion(t *testing.T) {
	const tolerations, restart = ".spec.applicationTolerations.", ".spec.applicationTolerations.restartConfig."
	want := []string{
		tolerations + "resourceRetainDurationMillis",
		restart + "maxRestartOnFailure", restart + "maxRestartOnSchedulingFailure", restart + "restartBackoffMillisForFailure",
		restart + "restartBackoffMillisForSchedulingFailure", restart + "restartCounterResetMillis",
		tolerations + "ttlAfterStopMillis", ".spec.driverGrpcRouteList", ".spec.driverHttpRouteList", ".spec.suspend", ".status.conditions",
	}
	for _, state := range []string{"currentAttemptSummary.stateTransitionHistory.*", "currentState", "previousAttemptSummary.stateTransitionHistory.*", "stateTransitionHistory.*"} {
		want = append(want, ".status."+state+".suspendReason")
	}
	for _, attempt := range []string{"currentAttemptSummary", "previousAttemptSummary"} {
		for _, counter := range []string{"failureRestartCounter", "restartCounter", "schedulingFailureRestartCounter"} {
			want = append(want, ".status."+attempt+".attemptInfo."+counter)
		}
	}
	want = append(want, ".status.details", ".status.observedGeneration")
	slices.Sort(want)
	if diff := cmp.Diff(want, kept(t, "sparkapplications")); diff != "" {
		t.Error(diff)
	}
	want = []string{
		".spec.suspend", ".spec.workerSpec.networkPolicy", ".status.conditions", ".status.currentAttemptSummary.attemptInfo.restartCounter",
		".status.currentAttemptSummary.stateTransitionHistory.*.suspendReason", ".status.currentState.suspendReason", ".status.defaults", ".status.observedGeneration",
		".status.pods", ".status.previousAttemptSummary.attemptInfo.restartCounter", ".status.previousAttemptSummary.stateTransitionHistory.*.suspendReason",
		".status.scheduling", ".status.stateTransitionHistory.*.suspendReason",
	}
	if diff := cmp.Diff(want, kept(t, "sparkclusters")); diff != "" {
		t.Error(diff)
	}
}

// rules are the required fields and the defaults of v1, by their paths.
func rules(t *testing.T, plural string) (required map[string][]string, defaults map[string]string) {
	t.Helper()
	_, schemas := definition(t, plural)
	required, defaults = map[string][]string{}, map[string]string{}
	var walk func(path string, schema apiextensionsv1.JSONSchemaProps)
	walk = func(path string, schema apiextensionsv1.JSONSchemaProps) {
		if path == ".status.details" || path == ".status.conditions" {
			return // they are this operator's
		}
		if len(schema.Required) > 0 {
			required[path] = schema.Required
		}
		if schema.Default != nil {
			defaults[path] = string(schema.Default.Raw)
		}
		if items := schema.Items; items != nil {
			walk(path+"[]", *items.Schema)
		}
		for name, property := range schema.Properties {
			walk(path+"."+name, property)
		}
	}
	walk("", schemas["v1"])
	return required, defaults
}

// Schemas refuse nothing that those of Apache's operator accept: what is required and what has a default is the same.
func TestRequiredFieldsAndDefaults(t *testing.T) {
	required, defaults := rules(t, "sparkapplications")
	if diff := cmp.Diff(map[string][]string{
		".spec":                            {"runtimeVersions"},
		".spec.runtimeVersions":            {"sparkVersion"},
		".spec.configMapSpecs[]":           {"name"},
		".spec.driverServiceIngressList[]": {"ingressMetadata", "serviceMetadata", "serviceSpec"},
		".spec.driverHttpRouteList[]":      {"httpRouteMetadata", "serviceMetadata", "serviceSpec"},
		".spec.driverGrpcRouteList[]":      {"grpcRouteMetadata", "serviceMetadata", "serviceSpec"},
	}, required); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{
		".spec.applicationTolerations.resourceRetainDurationMillis":            "-1",
		".spec.applicationTolerations.ttlAfterStopMillis":                      "-1",
		".spec.applicationTolerations.restartConfig.restartCounterResetMillis": "-1",
	}, defaults); diff != "" {
		t.Error(diff)
	}
	required, defaults = rules(t, "sparkclusters")
	if diff := cmp.Diff(map[string][]string{
		".spec":                    {"clusterTolerations", "runtimeVersions"},
		".spec.runtimeVersions":    {"sparkVersion"},
		".spec.clusterTolerations": {"instanceConfig"},
		".spec.clusterTolerations.instanceConfig": {"initWorkers", "maxWorkers", "minWorkers"},
		".spec.workerSpec.networkPolicy":          {"metricsIngress", "metricsPort"}, ".spec.workerSpec.networkPolicy.metricsIngress[].ipBlock": {"cidr"},
		".spec.workerSpec.networkPolicy.metricsIngress[].namespaceSelector.matchExpressions[]": {"key", "operator"},
		".spec.workerSpec.networkPolicy.metricsIngress[].podSelector.matchExpressions[]":       {"key", "operator"},
	}, required); diff != "" || len(defaults) > 0 {
		t.Error(diff, defaults)
	}
}

// One application whose template holds text where a list belongs must not hide all others.
func TestMalformedSpecHidesNothingElse(t *testing.T) {
	const list = `{"items": [
		{"metadata": {"name": "bad"}, "spec": {"driverSpec": {"podTemplateSpec": {"spec": {"containers": "none"}}}}},
		{"metadata": {"name": "good"}, "spec": {"mainClass": "org.example.Job", "typo": 1}}]}`
	var all SparkApplicationList
	if err := json.Unmarshal([]byte(list), &all); err != nil {
		t.Fatal(err)
	}
	bad, good := all.Items[0], all.Items[1]
	if bad.Name != "bad" || bad.MalformedSpec != "spec.driverSpec.podTemplateSpec.spec.containers: a string is not valid here; write a list" {
		t.Errorf("%q: %q", bad.Name, bad.MalformedSpec)
	}
	if good.MalformedSpec != "" || good.Spec.MainClass != "org.example.Job" || !slices.Equal(good.UnknownFields, []string{"spec.typo"}) {
		t.Errorf("%+v", good)
	}
}
