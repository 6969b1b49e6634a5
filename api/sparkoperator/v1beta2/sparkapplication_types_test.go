// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/firesteel-dev/firesteel/api/lenient"
	"github.com/firesteel-dev/firesteel/internal/testutil/fieldtest"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

func everyField(t *testing.T) (manifest []byte, app SparkApplication) {
	t.Helper()
	type strict SparkApplication // without UnmarshalJSON, which is lenient
	var decoded strict
	manifest = fieldtest.Read(t, "testdata/every-field.yaml", &decoded)
	return manifest, SparkApplication(decoded)
}

func TestEveryFieldSurvivesTheGoTypes(t *testing.T) {
	manifest, app := everyField(t)
	fieldtest.RoundTrip(t, manifest, app.DeepCopy())
}

// The round trip says something about a field only if the manifest sets it.
func TestEveryFieldIsInTheManifest(t *testing.T) {
	_, app := everyField(t)
	if unset := append(fieldtest.Unset(app.Spec, "spec"), fieldtest.Unset(app.Status, "status")...); len(unset) > 0 {
		t.Errorf("fields that testdata/every-field.yaml leaves unset: %s", strings.Join(unset, ", "))
	}
}

func TestMalformedSpecHidesNothingElse(t *testing.T) {
	list := `{"items": [
		{"metadata": {"name": "good", "uid": "1"}, "spec": {"type": "Scala", "driver": {"cores": 2}}},
		{"metadata": {"name": "bad", "uid": "2"}, "spec": {"driver": {"template": {"spec": {"containers": "x"}}}}, "status": {"executionAttempts": 3}}
	]}`
	var apps SparkApplicationList
	if err := json.Unmarshal([]byte(list), &apps); err != nil {
		t.Fatalf("one malformed application hides all: %v", err)
	}
	good, bad := apps.Items[0], apps.Items[1]
	if good.MalformedSpec != "" || good.Spec.Driver.Cores == nil || *good.Spec.Driver.Cores != 2 {
		t.Errorf("the good application was not decoded: %+v", good)
	}
	if want := "spec.driver.template.spec.containers: a string is not valid here; write a list"; bad.MalformedSpec != want {
		t.Errorf("MalformedSpec = %q, want the path and what would be right: %q", bad.MalformedSpec, want)
	}
	if bad.Name != "bad" || bad.UID != "2" || bad.Status.ExecutionAttempts != 3 {
		t.Errorf("what can be decoded of the malformed application was lost: %+v", bad)
	}
	if encoded, err := json.Marshal(bad); err != nil || strings.Contains(string(encoded), "MalformedSpec") {
		t.Errorf("json = %s, %v: MalformedSpec is no field of the API", encoded, err)
	}
}

// The schema is open for what Kubernetes' own types have, and a typing error in there would vanish.
func TestUnknownFieldsAreNamed(t *testing.T) {
	many, wantMany := []string{}, []string{}
	for i := range 2 * lenient.MaxUnknownFields {
		name := fmt.Sprintf("x%02d", i)
		many = append(many, fmt.Sprintf("%q: 1", name))
		if i < lenient.MaxUnknownFields {
			wantMany = append(wantMany, "spec.driver.affinity."+name)
		}
	}
	long := strings.Repeat("ä", lenient.MaxUnknownField)
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"None": {reason: "nothing is wrong", text: `"spec": {"driver": {"tolerations": [{"effect": "NoSchedule"}], "template": {"spec": {"containers": [{"name": "a"}]}}}}`},
		"Typo": {reason: "in a list", text: `"spec": {"driver": {"tolerations": [{"key": "a"}, {"efect": "NoSchedule"}]}}`, want: []string{"spec.driver.tolerations[1].efect"}},
		"Deep": {reason: "in templates, sidecars and volumes", text: `"spec": {"executor": {"template": {"spec": {"node": {}}}, "sidecars": [{"imag": "x"}], "env": [{"name": "A", "valeu": ""}]}, "volumes": [{"emptydir": {}}]}`,
			want: []string{"spec.executor.template.spec.node", "spec.executor.env[0].valeu", "spec.executor.sidecars[0].imag", "spec.volumes[0].emptydir"}},
		"Others": {reason: "another release's status and metadata", text: `"metadata": {"new": 1}, "status": {"new": 1}, "spec": {}`},
		"Many":   {reason: "the message is bounded", text: `"spec": {"driver": {"affinity": {` + strings.Join(many, ",") + `}}}`, want: append(wantMany, "...")},
		"Long":   {reason: "each of them is bounded", text: `"spec": {"driver": {"affinity": {"` + long + `": 1}}}`, want: []string{strings.ToValidUTF8(("spec.driver.affinity." + long)[:lenient.MaxUnknownField], "") + "..."}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var app SparkApplication
			if err := json.Unmarshal([]byte("{"+tc.text+"}"), &app); err != nil {
				t.Fatal(err)
			}
			slices.Sort(app.UnknownFields)
			slices.Sort(tc.want)
			if !slices.Equal(app.UnknownFields, tc.want) {
				t.Errorf("%s: %q, want %q", tc.reason, app.UnknownFields, tc.want)
			}
		})
	}
	var schedule ScheduledSparkApplication
	if err := json.Unmarshal([]byte(`{"spec": {"template": {"driver": {"tolerations": [{"efect": ""}]}}}}`), &schedule); err != nil {
		t.Fatal(err)
	}
	if want := []string{"spec.template.driver.tolerations[0].efect"}; !slices.Equal(schedule.UnknownFields, want) {
		t.Errorf("%q, want %q", schedule.UnknownFields, want)
	}
}

// What a quantity of a pod template takes to be read grows with the square of its length.
func TestLongNumbersAreNotRead(t *testing.T) {
	for digits, malformed := range map[int]bool{10: false, lenient.MaxDigits: false, lenient.MaxDigits + 1: true, 1_000_000: true} {
		for _, quote := range []string{`"`, ""} {
			limits := `{"cpu": ` + quote + strings.Repeat("9", digits) + quote + `}`
			text := `{"metadata": {"name": "a"}, "spec": {"driver": {"template": {"spec": {"containers": [{"resources": {"limits": ` + limits + `}}]}}}}}`
			check := heaptest.Bound(t, len(text))
			var app SparkApplication
			if err := json.Unmarshal([]byte(text), &app); err != nil || app.Name != "a" {
				t.Errorf("%d digits: %q, %v", digits, app.Name, err)
			}
			check()
			if got := strings.Contains(app.MalformedSpec, "write a shorter one"); got != malformed {
				t.Errorf("%d digits: MalformedSpec = %q, want one: %t", digits, app.MalformedSpec, malformed)
			}
		}
	}
}

// A quantity that is far too small is rounded up to 1n by a division that takes hours, a large exponent overflows into such a one, and a sum
// with one that does not takes minutes.
func TestEndlessQuantitiesAreNotRead(t *testing.T) {
	for text, malformed := range map[string]bool{
		`"1e-100000000"`: true, `" 1.5E-99999999 "`: true, "\"\u00a01e-100000000\u3000\"": true, `"-.5e-1000"`: true, `"1e2147483648"`: true, `"1e+4294967295999"`: true,
		`"1e999999"`: true, `"e99999999"`: true, `" -0E+000099999999"`: true, `1e99999999`: true, `1e30`: true, `"1e99999999", "cpu": "1"`: true,
		`"1e-3"`: false, `"1e24"`: false, `"1", "memory": "1E+03"`: false, `"5"`: false, `"2E"`: false, `"1.5Gi"`: false,
	} {
		var app SparkApplication
		spec := `{"driver": {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": ` + text + `}}}]}}}}`
		if err := json.Unmarshal([]byte(`{"metadata": {"name": "a"}, "spec": `+spec+`}`), &app); err != nil || app.Name != "a" {
			t.Errorf("%s: %q, %v", text, app.Name, err)
		}
		if got := app.MalformedSpec != ""; got != malformed {
			t.Errorf("%s: MalformedSpec = %q, want one: %t", text, app.MalformedSpec, malformed)
		}
	}
	// what merely looks like one is none: a short commit, a UUID
	for _, text := range []string{"12e45678", "3f2a1b9e-4123-4cde-9e-9999", "tol=1e-10000", "1e-10000 iterations"} {
		var app SparkApplication
		if err := json.Unmarshal([]byte(`{"spec": {"arguments": ["`+text+`"]}}`), &app); err != nil || app.MalformedSpec != "" {
			t.Errorf("%s: %q, %v", text, app.MalformedSpec, err)
		}
	}
}

// Only what is read as a number is bounded.
func TestDigitsElsewhereAreRead(t *testing.T) {
	text := `{"metadata": {"annotations": {"a": "` + strings.Repeat("9", lenient.MaxDigits+1) + `"}}, "spec": {"arguments": ["1"]}}`
	var app SparkApplication
	if err := json.Unmarshal([]byte(text), &app); err != nil || app.MalformedSpec != "" || len(app.Spec.Arguments) != 1 {
		t.Errorf("%v, %q", err, app.MalformedSpec)
	}
}

func TestEmptyStatusIsLeftOutOfTheJSON(t *testing.T) {
	var app SparkApplication
	if got := keys(t, app); got["status"] != nil {
		t.Errorf("status of a new application = %v, want it absent", got["status"])
	}
	app.Status.ExecutionAttempts = 1
	status, _ := keys(t, app)["status"].(map[string]any)
	if _, ok := status["driverInfo"]; !ok {
		t.Errorf("status = %v, want the required driverInfo in it", status)
	}
	if _, ok := status["terminationTime"]; ok {
		t.Errorf("status = %v, want no time before it is known", status)
	}
}

func keys(t *testing.T, app SparkApplication) map[string]any {
	t.Helper()
	got, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&app)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAddToSchemeRegistersTheKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"SparkApplication", "SparkApplicationList"} {
		if !scheme.Recognizes(GroupVersion.WithKind(kind)) {
			t.Errorf("%s %s is not registered", GroupVersion, kind)
		}
	}
}
