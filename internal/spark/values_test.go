// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

func TestParseQuantity(t *testing.T) {
	cases := map[string]struct {
		reason, text, want string
	}{
		"Plain":   {"as Kubernetes reads it", "500m", "500m"},
		"Long":    {"as long as it may be", strings.Repeat("0", maxQuantity-2) + "2G", strings.Repeat("0", maxQuantity-2) + "2G"},
		"TooLong": {"a number that nobody means", strings.Repeat("0", maxQuantity-1) + "2G", ""},
		"Bomb":    {"reading it would take gigabytes", strings.Repeat("9", 1_000_000), ""},
		"Text":    {"no number at all", "x", ""},
		"Huge":    {"adding it would take minutes", "1e99999999", ""},
		"Tiny":    {"reading it would take hours", "1e-99999999", ""},
		"Nothing": {"it is 0, and yet computed with", "E+000099999999", ""},
		"Large":   {"one that can be computed with", "2e24", "2e24"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			defer heaptest.Bound(t, 0)()
			got, err := ParseQuantity(tc.text)
			sum := got.DeepCopy()
			sum.Add(resource.MustParse("1500m"))
			if (err == nil) != (tc.want != "") || err == nil && (got.String() != tc.want || sum.Cmp(got) <= 0) {
				t.Errorf("%s: %s, %v, want %q", tc.reason, got.String(), err, tc.want)
			}
		})
	}
}

func TestSizeIn(t *testing.T) {
	const gib = 1 << 30
	tests := []struct {
		text   string
		unit   int64
		want   int64
		ok     bool
		reason string
	}{
		{"512", mebibyte, 512, true, "a number without suffix counts in the unit"},
		{"512", 1, 512, true, "which may be bytes"},
		{"2g", mebibyte, 2048, true, "suffix"},
		{"2GB", mebibyte, 2048, true, "suffixes may be long and in capitals"},
		{" 1t ", mebibyte, 1 << 20, true, "blanks around it"},
		{"1p", mebibyte, gib, true, "the largest suffix"},
		{"1500k", mebibyte, 1, true, "rounded down"},
		{"1023k", mebibyte, 0, true, "rounded down to nothing"},
		{"10b", 1, 10, true, "bytes"},
		{"1.5g", mebibyte, 0, false, "fractions are not allowed"},
		{"2gx", mebibyte, 0, false, "unknown suffix"},
		{"2Gi", mebibyte, 0, false, "suffixes are those of Java, not of Kubernetes"},
		{"g", mebibyte, 0, false, "no number"},
		{"", mebibyte, 0, false, "nothing"},
		{"-1g", mebibyte, 0, false, "negative"},
		{"+1g", mebibyte, 0, false, "sign"},
		{"2 g", mebibyte, 0, false, "blank inside"},
		{"9223372036854775808", 1, 0, false, "too large for 64 bits"},
		{"9223372036854775807p", mebibyte, 0, false, "too large after multiplication"},
		{"٣g", mebibyte, 0, false, "digits of other scripts"},
	}
	for _, test := range tests {
		got, ok := ParseSize(test.text, test.unit)
		if got != test.want || ok != test.ok {
			t.Errorf("ParseSize(%q, %d) = %d, %t, want %d, %t: %s", test.text, test.unit, got, ok, test.want, test.ok, test.reason)
		}
	}
}

func TestParseDouble(t *testing.T) {
	tests := []struct {
		text   string
		want   float64
		ok     bool
		reason string
	}{
		{"0.1", 0.1, true, "plain"},
		{".5", 0.5, true, "no digit before the point"},
		{"1.", 1, true, "no digit after the point"},
		{"1e-4", 1e-4, true, "exponent"},
		{" 2 ", 2, true, "Java trims"},
		{"0.5d", 0.5, true, "type suffix"},
		{"0.5F", 0.5, true, "type suffix"},
		{"0.5dd", 0, false, "only one type suffix"},
		{"1e999", math.Inf(1), true, "too large is infinite, as in Java"},
		{"-Infinity", math.Inf(-1), true, "spelled as in Java"},
		{"inf", 0, false, "not spelled as in Java"},
		{"0,1", 0, false, "comma"},
		{"1_000", 0, false, "digits cannot be grouped"},
		{"0x1p3", 0, false, "hexadecimal numbers are not worth their trouble"},
		{"", 0, false, "nothing"},
		{"d", 0, false, "nothing but a suffix"},
	}
	for _, test := range tests {
		got, ok := ParseDouble(test.text)
		if ok != test.ok || ok && got != test.want {
			t.Errorf("ParseDouble(%q) = %v, %t, want %v, %t: %s", test.text, got, ok, test.want, test.ok, test.reason)
		}
	}
	if got, ok := ParseDouble("NaN"); !ok || !math.IsNaN(got) {
		t.Errorf("ParseDouble(NaN) = %v, %t", got, ok)
	}
}

func TestFormatDouble(t *testing.T) {
	tests := []struct {
		value        float64
		want, reason string
	}{
		{0.1, "0.1", "plain"},
		{0.4, "0.4", "plain"},
		{1, "1.0", "always a digit after the point"},
		{0, "0.0", "zero"},
		{0.001, "0.001", "the smallest without exponent"},
		{1e-4, "1.0E-4", "small"},
		{1.25e-5, "1.25E-5", "small with digits"},
		{9999999, "9999999.0", "the largest without exponent"},
		{1e7, "1.0E7", "large, and no plus sign"},
		{1.5e300, "1.5E300", "very large"},
		{1e-10, "1.0E-10", "two digits of exponent"},
		{-0.25, "-0.25", "negative"},
		{math.Inf(1), "Infinity", "infinite"},
		{math.Inf(-1), "-Infinity", "infinite"},
		{math.NaN(), "NaN", "not a number"},
	}
	for _, test := range tests {
		if got := formatDouble(test.value); got != test.want {
			t.Errorf("formatDouble(%v) = %q, want %q: %s", test.value, got, test.want, test.reason)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, test := range []struct {
		value float64
		want  int64
	}{
		{28.999999, 28}, {-28.9, -28}, {math.NaN(), 0}, {1e300, math.MaxInt32}, {-1e300, math.MinInt32},
	} {
		if got := truncate(test.value); got != test.want {
			t.Errorf("truncate(%v) = %d, want %d", test.value, got, test.want)
		}
	}
}

func TestSplit(t *testing.T) {
	tests := []struct {
		text       string
		list, java []string
		reason     string
	}{
		{"a,b", []string{"a", "b"}, []string{"a", "b"}, "plain"},
		{" x, y,", []string{"x", "y"}, []string{" x", " y"}, "lists are trimmed, and a tail is dropped from both"},
		{"a,,b", []string{"a", "b"}, []string{"a", "", "b"}, "only lists drop empty elements in the middle"},
		{"", nil, []string{""}, "Java's split of nothing is one empty text"},
		{",", nil, []string{}, "nothing but tails"},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.list, splitList(test.text)); diff != "" {
			t.Errorf("splitList(%q), %s (-want +got):\n%s", test.text, test.reason, diff)
		}
		if diff := cmp.Diff(test.java, splitJava(test.text, ",")); diff != "" {
			t.Errorf("splitJava(%q), %s (-want +got):\n%s", test.text, test.reason, diff)
		}
	}
}

func TestScheme(t *testing.T) {
	tests := []struct {
		uri    string
		want   string
		ok     bool
		reason string
	}{
		{"local:///a.jar", "local", true, "scheme"},
		{"local:/a.jar", "local", true, "one slash is enough"},
		{"s3a://bucket/a.jar#x", "s3a", true, "digits in the scheme, fragment"},
		{"/a/b.jar", "", true, "absolute path"},
		{"b.jar", "", true, "relative path"},
		{"a/b:c.jar", "", true, "a colon after a slash does not end a scheme"},
		{"https://x/%41", "https", true, "escape"},
		{"https://x/%4", "", false, "broken escape"},
		{" local:///a.jar", "", false, "blank"},
		{"https://x/a b", "", false, "blank inside"},
		{"3s://x", "", false, "schemes begin with a letter"},
		{"s3:", "", false, "nothing after the scheme"},
		{"://x", "", false, "no scheme before the colon"},
		{"s3a://b/{a,b}", "", false, "braces"},
		{"https://x/日本", "https", true, "Java allows other letters"},
	}
	for _, test := range tests {
		if got, ok := scheme(test.uri); got != test.want || ok != test.ok {
			t.Errorf("scheme(%q) = %q, %t, want %q, %t: %s", test.uri, got, ok, test.want, test.ok, test.reason)
		}
	}
}
