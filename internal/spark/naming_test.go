// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"strings"
	"testing"
)

func TestResourcePrefix(t *testing.T) {
	const id = "1234567890abcdef"
	tests := []struct {
		appName, id, want, reason string
	}{
		{"Spark Pi", id, "spark-pi-" + id, "capitals and blanks"},
		{"--My_App!", id, "my-app-" + id, "one leading dash goes, runs of dashes collapse"},
		{"2024 run", id, "x024-run-" + id, "a leading digit is replaced, not prefixed"},
		{"日本", id, "x234567890abcdef", "nothing is left but the id, whose digit is replaced in turn"},
		{"日本", "b234567890abcdef", "b234567890abcdef", "nothing is left but the id, which begins with a letter"},
		{"İstanbul ÀÉ", id, "i-stanbul-" + id, "Java lower-cases İ to two characters"},
		{"a.b_c  d", id, "a-b-c-d-" + id, "dots and underscores"},
		{"\u212Aelvin", id, "kelvin-" + id, "the Kelvin sign has an ASCII lower case"},
		{" \tlead", id, "lead-" + id, "Java trims control characters"},
		{"\u00a0lead", id, "lead-" + id, "other blanks become a dash, which is then dropped"},
		{"", id, "x234567890abcdef", "no name at all"},
		{strings.Repeat("c", 250), id, strings.Repeat("c", 250) + "-" + id, "there is no limit"},
	}
	for _, test := range tests {
		if got := resourcePrefix(test.appName, test.id); got != test.want {
			t.Errorf("resourcePrefix(%q) = %q, want %q: %s", test.appName, got, test.want, test.reason)
		}
	}
}

func TestAppNameLabel(t *testing.T) {
	tests := []struct{ appName, want, reason string }{
		{"Spark Pi", "spark-pi", "plain"},
		{"-x-", "x", "one dash on each side"},
		{"日本", "", "an empty value is legal"},
		{strings.Repeat("a", 70), strings.Repeat("a", 63), "the longest legal value"},
		{strings.Repeat("a", 62) + "-b", strings.Repeat("a", 62), "a dash at the cut goes, too"},
		{"2024 run", "2024-run", "values may begin with a digit"},
	}
	for _, test := range tests {
		if got := AppNameLabel(test.appName); got != test.want {
			t.Errorf("AppNameLabel(%q) = %q, want %q: %s", test.appName, got, test.want, test.reason)
		}
	}
}

func TestDriverServiceName(t *testing.T) {
	fits, tooLong := strings.Repeat("p", 52), strings.Repeat("p", 53)
	if got, want := driverServiceName(fits, "id"), fits+"-driver-svc"; got != want {
		t.Errorf("got %q, want %q: 63 characters fit", got, want)
	}
	if got, want := driverServiceName(tooLong, "id"), "spark-id-driver-svc"; got != want {
		t.Errorf("got %q, want %q: 64 characters do not fit", got, want)
	}
	for _, prefix := range []string{"report-2.1-0", "2-0", "Fixed_ID"} {
		if got, want := driverServiceName(prefix, "id"), "spark-id-driver-svc"; got != want {
			t.Errorf("case 024: %s: got %q, want %q: API servers refuse it in the name of a Service", prefix, got, want)
		}
	}
}
