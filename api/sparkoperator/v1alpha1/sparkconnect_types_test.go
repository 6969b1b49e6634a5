// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/firesteel-dev/firesteel/api/lenient"
	"github.com/firesteel-dev/firesteel/internal/testutil/fieldtest"
)

func everyField(t *testing.T) (manifest []byte, server SparkConnect) {
	t.Helper()
	type strict SparkConnect // without UnmarshalJSON, which is lenient
	var decoded strict
	manifest = fieldtest.Read(t, "testdata/every-field.yaml", &decoded)
	return manifest, SparkConnect(decoded)
}

func TestEveryFieldSurvivesTheGoTypes(t *testing.T) {
	manifest, server := everyField(t)
	fieldtest.RoundTrip(t, manifest, server.DeepCopy())
}

// The round trip says something about a field only if the manifest sets it.
func TestEveryFieldIsInTheManifest(t *testing.T) {
	_, server := everyField(t)
	unset := append(fieldtest.Unset(server.Spec, "spec"), fieldtest.Unset(server.Status, "status")...)
	if diff := cmp.Diff([]string{"status.Run.Submitter", "status.Run.Conditions"}, unset); diff != "" { // they are those of the status
		t.Errorf("fields that testdata/every-field.yaml leaves unset (-want +got):\n%s", diff)
	}
}

func TestMalformedSpecHidesNothingElse(t *testing.T) {
	list := `{"items": [
		{"metadata": {"name": "good", "uid": "1"}, "spec": {"server": {"cores": 2}}},
		{"metadata": {"name": "bad", "uid": "2"}, "spec": {"server": {"template": {"spec": {"containers": "x"}}}}, "status": {"state": "Ready"}}
	]}`
	var servers SparkConnectList
	if err := json.Unmarshal([]byte(list), &servers); err != nil {
		t.Fatalf("one malformed server hides all: %v", err)
	}
	good, bad := servers.Items[0], servers.Items[1]
	if good.MalformedSpec != "" || good.Spec.Server.Cores == nil || *good.Spec.Server.Cores != 2 {
		t.Errorf("the good server was not decoded: %+v", good)
	}
	if !strings.Contains(bad.MalformedSpec, "containers") {
		t.Errorf("MalformedSpec = %q, want it to name the field", bad.MalformedSpec)
	}
	if bad.Name != "bad" || bad.UID != "2" || bad.Status.State != SparkConnectStateReady {
		t.Errorf("what can be decoded of the malformed server was lost: %+v", bad)
	}
	if encoded, err := json.Marshal(bad); err != nil || strings.Contains(string(encoded), "MalformedSpec") {
		t.Errorf("json = %s, %v: MalformedSpec is no field of the API", encoded, err)
	}
}

func TestMalformedFields(t *testing.T) {
	cases := map[string]struct {
		reason, spec string
		// malformed is a part of the reason, "" if the spec is decoded; unknown are the fields that do not exist.
		malformed string
		unknown   []string
	}{
		"Good":     {reason: "nothing is wrong", spec: `{"server": {"service": {"spec": {"type": "NodePort"}}}, "idleTimeout": "1h"}`},
		"Typo":     {reason: "the template's schema is open", spec: `{"server": {"template": {"spec": {"node": {}}}}}`, unknown: []string{"spec.server.template.spec.node"}},
		"Service":  {reason: "a template of another object", spec: `{"server": {"service": {"spec": {"prots": []}}}}`, unknown: []string{"spec.server.service.spec.prots"}},
		"Duration": {reason: "the schema knows texts only", spec: `{"idleTimeout": "1d"}`, malformed: `spec.idleTimeout: "1d": not a duration; write a number and a unit`},
		"List":     {reason: "a text where a list belongs", spec: `{"executor": {"template": {"spec": {"tolerations": "x"}}}}`, malformed: "spec.executor.template.spec.tolerations: a string is not valid here; write a list"},
		"All": {
			reason:    "each is named, up to three (finding 6)",
			spec:      `{"idleTimeout": "1d", "drainTimeout": "2w", "server": {"template": {"spec": {"containers": [{}, {"resources": {"limits": {"memory": "1GB"}}}], "hostNetwork": "yes"}}}}`,
			malformed: `spec.drainTimeout: "2w": not a duration; write a number and a unit, such as "90s", "30m" or "24h"; spec.idleTimeout: "1d": not a duration; write a number and a unit, such as "90s", "30m" or "24h"; spec.server.template.spec.containers[1].resources.limits["memory"]: "1GB": not a quantity; write a number with a unit, such as "500m", "512Mi" or "2Gi"`,
		},
		"Long": {
			reason:    "the sentence is kept with the object",
			spec:      `{"idleTimeout": "` + strings.Repeat("d", 100_000) + `", "server": {"template": {"metadata": {"labels": {"` + strings.Repeat("k", 100_000) + `": 1}}}}}`,
			malformed: strings.Repeat("k", 100) + "...",
		},
		"Digits": {
			reason:    "the memory to read it grows with the square of its length",
			spec:      `{"server": {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "` + strings.Repeat("9", lenient.MaxDigits+1) + `"}}}]}}}}`,
			malformed: "write a shorter one",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var server SparkConnect
			if err := json.Unmarshal([]byte(`{"metadata": {"name": "a"}, "spec": `+tc.spec+`}`), &server); err != nil || server.Name != "a" {
				t.Fatalf("%s: %q, %v", tc.reason, server.Name, err)
			}
			if got := server.MalformedSpec; !strings.Contains(got, tc.malformed) || (got == "") != (tc.malformed == "") {
				t.Errorf("%s: MalformedSpec = %q, want %q in it", tc.reason, got, tc.malformed)
			}
			if most := 3 * (lenient.MaxSentence + len("...; ")); len(server.MalformedSpec) > most {
				t.Errorf("%s: %d bytes are kept, want at most %d", tc.reason, len(server.MalformedSpec), most)
			}
			if !slices.Equal(server.UnknownFields, tc.unknown) {
				t.Errorf("%s: unknown %q, want %q", tc.reason, server.UnknownFields, tc.unknown)
			}
		})
	}
}

func TestWhatIsNoObjectIsAnError(t *testing.T) {
	var server SparkConnect
	if err := json.Unmarshal([]byte(`{"metadata": "x", "spec": {}}`), &server); err == nil {
		t.Error("the metadata cannot be decoded, and nobody says so")
	}
}

// The schema of the two times is not nullable.
func TestEmptyStatusIsLeftOutOfTheJSON(t *testing.T) {
	for reason, server := range map[string]SparkConnect{"new": {}, "no times yet": {Status: SparkConnectStatus{State: SparkConnectStateReady}}} {
		all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&server)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(server)
		if err != nil {
			t.Fatal(err)
		}
		status, written := all["status"].(map[string]any)
		if _, null := status["startTime"]; null || written != (reason != "new") || strings.Contains(string(encoded), "startTime") {
			t.Errorf("%s: status = %v, json = %s", reason, all["status"], encoded)
		}
	}
}

func TestAddToSchemeRegistersTheKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"SparkConnect", "SparkConnectList"} {
		if !scheme.Recognizes(GroupVersion.WithKind(kind)) {
			t.Errorf("%s %s is not registered", GroupVersion, kind)
		}
	}
}
