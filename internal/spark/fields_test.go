// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"testing"
)

func TestFields(t *testing.T) {
	fields := Fields{"": "spec", "scheduler": "spec.batchScheduler", "driver": "spec.driverSpec", "driver.image": "spec.runtime.image"}
	cases := map[string]struct {
		reason string
		fields Fields
		name   Field
		want   string
	}{
		"Listed":       {"it has a path of its own", fields, "scheduler", "spec.batchScheduler"},
		"Part":         {"it lies below one that is listed", fields, "driver.memory", "spec.driverSpec.memory"},
		"LongerPart":   {"the longest part counts", fields, "driver.image.tag", "spec.runtime.image.tag"},
		"NotAPart":     {"a part ends at a dot", fields, "drivers", "spec.drivers"},
		"Unlisted":     {"what is not listed is named alike", fields, "deadlines.run", "spec.deadlines.run"},
		"Entry":        {"a part ends at a bracket, and a dot in a key means nothing", fields, Field("driver.image").Key("a.b"), `spec.runtime.image["a.b"]`},
		"Index":        {"a list has entries too", fields, Field("driver").Index(2) + ".x", "spec.driverSpec[2].x"},
		"Own":          {"not the shared field of this name", fields, ".scheduler", "spec.scheduler"},
		"Root":         {"the whole", fields, "", "spec"},
		"NoRoot":       {"a family that lists nothing of it", Fields{"queue": "spec.q"}, "deadlines.run", "deadlines.run"},
		"NoFamily":     {"there may be no family", nil, "deadlines.run", "deadlines.run"},
		"NoFamilyRoot": {"there may be no family", nil, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.fields.Path(tc.name); got != tc.want {
				t.Errorf("%s: %q is %q, want %q", tc.reason, tc.name, got, tc.want)
			}
		})
	}
	const message = "raise {driver.memory} or {deadlines.run}; {{$appName}} and {0} stay"
	if got, want := fields.Text(message), "raise spec.driverSpec.memory or spec.deadlines.run; {{$appName}} and {0} stay"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A message that ends up in a status must not carry a credential.
func TestErrorsShowNoCredentials(t *testing.T) {
	cases := map[string]struct{ reason, key, want string }{
		"Plain":     {reason: "a value helps to see the mistake", key: "spark.executor.memory", want: `x: "2gb": not a size`},
		"Password":  {reason: "Spark itself redacts it", key: "spark.ssl.keyPassword", want: `x: "(redacted)": not a size`},
		"AccessKey": {reason: "with and without a dot", key: "spark.hadoop.fs.s3a.access.key", want: `x: "(redacted)": not a size`},
		"Token":     {reason: "whatever its case", key: "spark.kubernetes.authenticate.driver.oauthToken", want: `x: "(redacted)": not a size`},
		"Secret":    {reason: "the name of a Secret is none", key: "spark.kubernetes.driver.secrets.db", want: `x: "2gb": not a size`},
		"SecretKey": {reason: "nor is that of a key in it", key: "spark.kubernetes.executor.secretKeyRef.PASSWORD", want: `x: "2gb": not a size`},
		"Field":     {reason: "a field has no key", want: `x: "2gb": not a size`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := ConfError{Key: tc.key, Value: "2gb", Problem: "not a size"}
			if got := e.About("x"); got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
