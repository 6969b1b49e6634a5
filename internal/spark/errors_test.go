// SPDX-License-Identifier: Apache-2.0

package spark

import "testing"

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
