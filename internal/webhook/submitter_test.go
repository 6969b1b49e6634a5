// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Whatever users write into the annotations, they name the user who created the object.
func TestSubmitter(t *testing.T) {
	const (
		operatorUser = "system:serviceaccount:ops:operator"
		ofAnn        = "annotations: {sparkoperator.k8s.io/submitter: ann, sparkoperator.k8s.io/submitter-groups: \"dev\\nqa\"}"
		ofBob        = "annotations: {sparkoperator.k8s.io/submitter: bob, sparkoperator.k8s.io/submitter-groups: admins}"
	)
	both := func(user, groups string) map[string]string {
		return map[string]string{"sparkoperator.k8s.io/submitter": user, "sparkoperator.k8s.io/submitter-groups": groups}
	}
	from := config.Submitter{From: lifecycle.SubmitterFromWebhook, OperatorUser: operatorUser}
	cases := map[string]struct {
		reason       string
		config       config.Submitter
		operation    admissionv1.Operation
		user         string
		stored, sent string
		want         map[string]string
	}{
		"Create":     {"who asks", from, admissionv1.Create, "ann", "", defaulted, both("ann", "dev\nqa")},
		"Forged":     {"not who is written there", from, admissionv1.Create, "ann", "", with(ofBob, defaulted), both("ann", "dev\nqa")},
		"Run":        {"the operator knows the schedule's", from, admissionv1.Create, operatorUser, "", with(ofBob, defaulted), both("bob", "admins")},
		"Unknown":    {"a schedule of nobody", from, admissionv1.Create, operatorUser, "", defaulted, nil},
		"Edit":       {"it stays", from, admissionv1.Update, "bob", with(ofAnn, defaulted), with(ofAnn, defaulted), both("ann", "dev\nqa")},
		"Replace":    {"a manifest has none", from, admissionv1.Update, "bob", with(ofAnn, defaulted), defaulted, both("ann", "dev\nqa")},
		"Relabel":    {"an edit of the annotations alone", from, admissionv1.Update, "ann", with(ofAnn, defaulted), with(ofBob, defaulted), both("ann", "dev\nqa")},
		"Late":       {"one of whom nothing is known stays so", from, admissionv1.Update, "ann", defaulted, with(ofBob, defaulted), map[string]string{}},
		"ByOperator": {"it edits nothing", from, admissionv1.Update, operatorUser, with(ofAnn, defaulted), with(ofBob, defaulted), both("ann", "dev\nqa")},
		"Off":        {"somebody else does it", config.Submitter{From: lifecycle.SubmitterFromPolicy}, admissionv1.Create, "ann", "", with(ofBob, defaulted), both("bob", "admins")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := &recorder{served: map[string]*admission.Webhook{}}
			register(server, Scheme(), operator(t), config.OperatorConfiguration{Submitter: tc.config})
			sent := object(t, tc.sent)
			response := server.served[mutate].Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				UID: "u", Operation: tc.operation, Namespace: "jobs", Name: "pi",
				UserInfo: authenticationv1.UserInfo{Username: tc.user, Groups: []string{"dev", "qa"}},
				Object:   runtime.RawExtension{Raw: sent}, OldObject: runtime.RawExtension{Raw: object(t, tc.stored)},
			}})
			if !response.Allowed {
				t.Fatalf("%s: refused: %+v", tc.reason, response.Result)
			}
			if len(response.Patch) > 0 {
				patch, err := jsonpatch.DecodePatch(response.Patch)
				if err != nil {
					t.Fatal(err)
				}
				if sent, err = patch.Apply(sent); err != nil {
					t.Fatalf("%s: the patch %s does not fit: %v", tc.reason, response.Patch, err)
				}
			}
			var got struct {
				Metadata struct{ Annotations map[string]string }
			}
			if err := json.Unmarshal(sent, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Metadata.Annotations); diff != "" {
				t.Errorf("%s: annotations (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Schedules and servers have submitters, too.
func TestSubmitterOfEveryKind(t *testing.T) {
	server := &recorder{served: map[string]*admission.Webhook{}}
	register(server, Scheme(), operator(t), config.OperatorConfiguration{Submitter: config.Submitter{From: lifecycle.SubmitterFromWebhook, OperatorUser: "o"}})
	for path, kind := range map[string]string{
		mutate: "v1beta2, kind: SparkApplication",
		"/mutate-sparkoperator-k8s-io-v1beta2-scheduledsparkapplication": "v1beta2, kind: ScheduledSparkApplication",
		"/mutate-sparkoperator-k8s-io-v1alpha1-sparkconnect":             "v1alpha1, kind: SparkConnect",
	} {
		response := server.served[path].Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: admissionv1.Create, UserInfo: authenticationv1.UserInfo{Username: "ann"},
			Object: runtime.RawExtension{Raw: object(t, "{apiVersion: sparkoperator.k8s.io/"+kind+", metadata: {name: pi}, spec: {}}")},
		}})
		if text, err := json.Marshal(response.Patches); err != nil || !strings.Contains(string(text), `"ann"`) {
			t.Errorf("%s answers with %s, %v", path, text, err)
		}
	}
}

// What is not looked at may be as large as it likes, and what is looked at may not.
func TestLargeMetadata(t *testing.T) {
	huge := strings.Repeat("x", maxMetadata)
	if r := call(t, mutate, admissionv1.Create, "", with("annotations: {a: "+huge+"}", good)); r.Allowed || !strings.Contains(r.Result.Message, "metadata.annotations: ") {
		t.Errorf("answered with %+v", r.Result)
	}
	if r := call(t, validate, admissionv1.Update, with("labels: {a: "+huge+"}", good), good); !r.Allowed {
		t.Errorf("a previous version may be as it is: %+v", r.Result)
	}
	managed := with("managedFields: [{manager: "+huge+"}]", good+"\nstatus: {driverInfo: {podName: "+huge+"}}")
	if r := call(t, validate, admissionv1.Create, "", managed); !r.Allowed {
		t.Errorf("answered with %+v", r.Result)
	}
}
