// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
)

// What cannot run is said in the words of its fields, and with what would be right; all at once.
func TestProblemsOfApplications(t *testing.T) {
	const missing, unsupported = "FieldValueRequired ", "FieldValueNotSupported "
	for name, tc := range map[string]struct {
		reason, spec, malformed string
		want                    []string
	}{
		"None":       {reason: "it runs", spec: "deploymentMode: ClusterMode"},
		"ClientMode": {reason: "drivers run in pods", spec: "deploymentMode: ClientMode", want: []string{unsupported + `spec.deploymentMode: "ClientMode": the operator runs drivers in pods only; use "ClusterMode"`}},
		"NoScript": {
			reason: "there is nothing to run", spec: "jars: ''\nmainClass: org.apache.spark.deploy.PythonRunner",
			want: []string{missing + "spec.pyFiles: is missing; write the .py file that org.apache.spark.deploy.PythonRunner is to run"},
		},
		"Malformed": {reason: "nothing more is known", malformed: "a string", want: []string{" spec: cannot be decoded: a string"}},
		"Routes": {
			reason: "each field of each entry", spec: `
driverHttpRouteList: [{serviceMetadata: {name: ui}, httpRouteMetadata: {name: ui}, httpRouteSpec: {parentRefs: [{name: g}]}}, {serviceMetadata: {}, httpRouteMetadata: {}, httpRouteSpec: {parentRefs: []}}]
driverGrpcRouteList: [{serviceMetadata: {name: rpc}, grpcRouteMetadata: {}}]
deploymentMode: ClientMode`,
			want: []string{
				unsupported + `spec.deploymentMode: "ClientMode": the operator runs drivers in pods only; use "ClusterMode"`,
				missing + "spec.driverHttpRouteList[1].serviceMetadata.name: is missing; write a name for the Service, such as my-app-ui",
				missing + "spec.driverHttpRouteList[1].httpRouteMetadata.name: is missing; write a name for the HTTPRoute, such as my-app-ui",
				missing + "spec.driverHttpRouteList[1].httpRouteSpec.parentRefs: is missing; write the Gateway that takes the requests, such as [{name: my-gateway}]",
				missing + "spec.driverGrpcRouteList[0].grpcRouteMetadata.name: is missing; write a name for the GRPCRoute, such as my-app-ui",
				missing + "spec.driverGrpcRouteList[0].grpcRouteSpec.parentRefs: is missing; write the Gateway that takes the requests, such as [{name: my-gateway}]",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := own(nil).app
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &o.Spec); err != nil {
				t.Fatal(err)
			}
			o.MalformedSpec = tc.malformed
			app, problems := Normalize(o)
			var got []string
			for _, e := range problems {
				got = append(got, string(e.Type)+" "+e.About(app.PathOf(e)))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if app.Malformed != tc.malformed {
				t.Errorf("%s: malformed: %q", tc.reason, app.Malformed)
			}
		})
	}
}

// Problems of what is made beside the driver are told of the entry and the part of it that they are in.
func TestNamesOfAttachedObjects(t *testing.T) {
	o := own(nil).app
	if err := yaml.UnmarshalStrict([]byte(`
driverServiceIngressList: [{serviceMetadata: {name: a}, ingressMetadata: {name: b}}]
driverHttpRouteList: [{serviceMetadata: {name: c}, httpRouteMetadata: {name: d, labels: {l: m}, annotations: {x: z}}, httpRouteSpec: {parentRefs: [{name: g}]}}]
driverGrpcRouteList: [{serviceMetadata: {name: e}, grpcRouteMetadata: {name: f}, grpcRouteSpec: {parentRefs: [{name: g}]}}]`), &o.Spec); err != nil {
		t.Fatal(err)
	}
	app, _ := Normalize(o)
	const ingress, http, grpc = "driverServiceIngressList[0].", "driverHttpRouteList[0].", "driverGrpcRouteList[0]."
	want := [][4]string{
		{"Service", "a", ingress + "serviceMetadata", ingress + "serviceSpec"}, {"Ingress", "b", ingress + "ingressMetadata", ingress + "ingressSpec"},
		{"Service", "c", http + "serviceMetadata", http + "serviceSpec"}, {"HTTPRoute", "d", http + "httpRouteMetadata", http + "httpRouteSpec"},
		{"Service", "e", grpc + "serviceMetadata", grpc + "serviceSpec"}, {"GRPCRoute", "f", grpc + "grpcRouteMetadata", grpc + "grpcRouteSpec"},
	}
	var got [][4]string
	for _, a := range app.Attached {
		got = append(got, [4]string{a.Object.GetObjectKind().GroupVersionKind().Kind, a.Object.GetName(), string(a.Meta), string(a.Spec)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	route := app.Attached[3].Object
	if diff := cmp.Diff([]map[string]string{{"l": "m"}, {"x": "z"}}, []map[string]string{route.GetLabels(), route.GetAnnotations()}); diff != "" {
		t.Errorf("labels and annotations (-want +got):\n%s", diff)
	}
}

// A user reads of the main file by the name of the field that has it.
func TestNameOfTheMainFile(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		spec   v1.SparkApplicationSpec
		want   string
	}{
		"Jar":    {reason: "the first field", spec: v1.SparkApplicationSpec{Jars: "a.jar", PyFiles: "a.py", SparkRFiles: "a.R"}, want: "spec.jars"},
		"Python": {reason: "the second", spec: v1.SparkApplicationSpec{PyFiles: "a.py", SparkRFiles: "a.R"}, want: "spec.pyFiles"},
		"R":      {reason: "the last", spec: v1.SparkApplicationSpec{SparkRFiles: "a.R"}, want: "spec.sparkRFiles"},
		"None":   {reason: "the usual one", want: "spec.jars"},
	} {
		app, _ := Normalize(&v1.SparkApplication{Spec: tc.spec})
		if got := app.Fields.Path("mainApplicationFile"); got != tc.want {
			t.Errorf("%s: %s: %s, want %s", name, tc.reason, got, tc.want)
		}
	}
}
