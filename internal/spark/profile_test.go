// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProfileFor(t *testing.T) {
	tests := []struct{ version, want, reason string }{
		{"3.5", "3.5", "minor"},
		{"3.5.9", "3.5", "patch"},
		{"v3.5.1", "3.5", "tags begin with v"},
		{"4.1.0-preview1", "4.1", "preview"},
		{"3.5.1.3", "3.5", "vendors add a fourth number"},
		{"3.5.1-amzn-0", "3.5", "vendor"},
		{"4.0.0_build.7", "4.0", "vendor"},
		{"4.3.0", "4.3", "newest"},
		{"3.3.4", "3.3", "oldest"},
		{"3.2.0", "", "too old"},
		{"5.0.0", "", "too new"},
		{"4", "", "no minor"},
		{"", "", "nothing"},
		{"latest", "", "not a number"},
		{"3.5.1 ", "", "it would not be a label value"},
		{"3.5.1-", "", "a trailing separator may not end a label value"},
		{"03.5", "", "leading zero"},
		{"3.5.1-" + strings.Repeat("x", 60), "", "longer than a label value"},
	}
	for _, test := range tests {
		profile, err := ProfileFor(test.version)
		if profile.Minor != test.want {
			t.Errorf("ProfileFor(%q).Minor = %q, want %q: %s", test.version, profile.Minor, test.want, test.reason)
		}
		if unsupported, ok := errors.AsType[*UnsupportedVersionError](err); ok != (test.want == "") {
			t.Errorf("ProfileFor(%q) = %v, want an error: %t", test.version, err, test.want == "")
		} else if ok && !strings.Contains(unsupported.Error(), "3.5, 4.0, 4.1") {
			t.Errorf("the error does not list the supported minors: %v", unsupported)
		}
	}
}

func TestSupportedVersions(t *testing.T) {
	want := []string{"3.3", "3.4", "3.5", "4.0", "4.1", "4.2", "4.3"}
	if diff := cmp.Diff(want, SupportedVersions()); diff != "" {
		t.Errorf("SupportedVersions (-want +got):\n%s", diff)
	}
	for _, version := range want {
		if got := profileOf(t, version).Minor; got != version {
			t.Errorf("the profile of %s calls itself %s", version, got)
		}
	}
}

// Every field must tell some release from another one, or it does not belong into the profile.
func TestProfileFieldsDiffer(t *testing.T) {
	kind := reflect.TypeFor[Profile]()
	for i := range kind.NumField() {
		values := map[any]bool{}
		for _, version := range SupportedVersions() {
			values[reflect.ValueOf(profileOf(t, version)).Field(i).Interface()] = true
		}
		if len(values) < 2 {
			t.Errorf("%s is the same in all releases", kind.Field(i).Name)
		}
	}
}
