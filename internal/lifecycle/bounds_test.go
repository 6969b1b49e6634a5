// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "testing"

func TestBeginning(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Short":   {reason: "nothing to cut", text: "0123456789", want: "0123456789"},
		"Long":    {reason: "dots say that there was more", text: "0123456789a", want: "0123456..."},
		"Escaped": {reason: "a bracket takes six bytes", text: "<init>", want: "<i..."},
		"Runes":   {reason: "a rune is not split", text: "äöüäöü", want: "äöü..."},
		"NoText":  {reason: "a broken byte takes six", text: "\xff\xffx", want: "\xff..."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Truncate(tc.text, 10); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
