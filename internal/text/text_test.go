// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	cases := map[string]struct{ reason, text, want, lines string }{
		"Plain":     {"all that people write", "größer als 2 GB – \"ja\" 漢字 👍\tx\u00a0y", "größer als 2 GB – \"ja\" 漢字 👍\tx\u00a0y", "größer als 2 GB – \"ja\" 漢字 👍\tx\u00a0y"},
		"Line":      {"a line of its own", "a\nb", `a\nb`, "a\nb"},
		"Return":    {"it writes over the line", "a\rb", `a\rb`, `a\rb`},
		"Escape":    {"a command of the terminal", "\x1b]0;title\a\x1b[2J", `\x1b]0;title\x07\x1b[2J`, `\x1b]0;title\x07\x1b[2J`},
		"C1":        {"the same in one character", "\u009b2J", `\u009b2J`, `\u009b2J`},
		"Bidi":      {"it reads otherwise than it is", "a\u202eb\u2066c", `a\u202eb\u2066c`, `a\u202eb\u2066c`},
		"Invisible": {"two names that look alike", "a\u200bb\ufeff", `a\u200bb\ufeff`, `a\u200bb\ufeff`},
		"Separator": {"a line end for some", "a\u2028b", `a\u2028b`, `a\u2028b`},
		"Invalid":   {"no text", "a\xff\xc3", `a\xff\xc3`, `a\xff\xc3`},
		"Zero":      {"the end for some", "a\x00b\x7f", `a\x00b\x7f`, `a\x00b\x7f`},
		"Tag":       {"an invisible message", "a\U000e0041", `a\U000e0041`, `a\U000e0041`},
		"Empty":     {"nothing", "", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Printable(tc.text); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
			var out bytes.Buffer
			if n, err := (Writer{&out}).Write([]byte(tc.text)); err != nil || n != len(tc.text) || out.String() != tc.lines {
				t.Errorf("%s: lines %q, %d, %v; want %q", tc.reason, out.String(), n, err, tc.lines)
			}
		})
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b[0m\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Printable(text)
		if !utf8.ValidString(got) {
			t.Errorf("%q is no text", got)
		}
		for _, r := range got {
			if r != '\t' && !unicode.IsGraphic(r) {
				t.Errorf("%q has %U", got, r)
			}
		}
		if again := Printable(got); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}

func TestDidYouMean(t *testing.T) {
	known := []string{"cores", "image", "imagePullPolicy", "ports", "env"}
	for path, want := range map[string]string{
		"spec.driver.corees": "did you mean cores?", "spec.imgae": "did you mean image?", "spec.Image": "did you mean image?", "imagePullPolice": "did you mean imagePullPolicy?",
		"spec.forts": "did you mean ports?", "spec.x": "", "spec.en": "did you mean env?", "spec.parts.mores": "did you mean cores?", "spec.motes": "", "": "",
	} {
		if got := DidYouMean(path, known); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	cases := []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true},
		{"a", "ab", false},
		{"", "", true},
		{"*", "", true},
		{"*", "registry.example/a/b:1", true},
		{"registry.example/*", "registry.example/a/b:1", true},
		{"registry.example/*", "registry.example.evil/a", false},
		{"*.dkr.*.example/*:1.*", "1.dkr.eu.example/spark:1.2", true},
		{"*.dkr.*.example/*:1.*", "1.dkr.eu.example/spark:2.1", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a*b*a", "aba", true},
		{"a*b*a", "aa", false},
		{"[ab]", "a", false},
		{"a?", "ab", false},
	}
	for _, tc := range cases {
		if got := Matches(tc.pattern, tc.text); got != tc.want {
			t.Errorf("Matches(%q, %q) = %v", tc.pattern, tc.text, got)
		}
	}
}
