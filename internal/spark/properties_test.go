// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit/commandline"
)

func TestPropertiesText(t *testing.T) {
	tests := []struct{ key, value, want, reason string }{
		{"spark.a", "b", `spark.a=b`, "plain"},
		{"spark.a", "", `spark.a=`, "empty"},
		{"spark.master", "k8s://https://h:443", `spark.master=k8s\://https\://h\:443`, "colons, in values too"},
		{"spark.a", "-Dk=v #x !y", `spark.a=-Dk\=v \#x \!y`, "signs, in values too"},
		{"spark.a", " two  b ", `spark.a=\ two  b `, "only the first blank of a value"},
		{"spark.k x:y", "1", `spark.k\ x\:y=1`, "every blank of a key"},
		{"spark.a", "a\tb\nc\rd\fe", `spark.a=a\tb\nc\rd\fe`, "control characters"},
		{"spark.a", `a\b`, `spark.a=a\\b`, "backslash"},
		{"spark.a", "日本 é 😀", `spark.a=日本 é 😀`, "other scripts stay as they are"},
		{"spark.a", "\x00\x1f", "spark.a=\x00\x1f", "other control characters stay as they are"},
	}
	for _, test := range tests {
		text := propertiesText(map[string]string{test.key: test.value}, "map", time.UnixMilli(0))
		lines := strings.SplitN(text, "\n", 3)
		if got := strings.TrimSuffix(lines[2], "\n"); got != test.want {
			t.Errorf("got %s, want %s: %s", got, test.want, test.reason)
		}
		want := map[string]string{test.key: test.value}
		if trimmed := strings.TrimSpace(test.value); trimmed == test.value && !strings.Contains(test.value, "\x00") {
			got, err := commandline.Properties(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("read back, %s (-want +got):\n%s", test.reason, diff)
			}
		}
	}
}

func TestPropertiesTextLayout(t *testing.T) {
	// 9 o'clock in some other zone, on a day with one digit.
	written := time.Date(2025, 3, 5, 9, 4, 3, 999, time.FixedZone("x", 7200))
	got := propertiesText(map[string]string{"spark.b": "2", "spark.B": "1", "spark.a.c": "3", "spark.a": "4"}, "m", written)
	want := `#Java properties built from Kubernetes config map with name: m
#Wed Mar 05 07:04:03 UTC 2025
spark.B=1
spark.a=4
spark.a.c=3
spark.b=2
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}
