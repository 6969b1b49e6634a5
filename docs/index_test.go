// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The first page of the site and README.md give the same reasons, with the same numbers, and the same way to install.
func TestFirstPageSaysWhatTheReadmeSays(t *testing.T) {
	comments := regexp.MustCompile(`(?m) +# .*$`)
	page, readme := read(t, "docs/index.md"), strings.ReplaceAll(read(t, "README.md"), "(docs/", "(")
	for name, pattern := range map[string]string{
		"the reasons": `(?m)^\| Why switch .*\n(\|.*\n)+`,
		"the image":   `(?m)^    make image.*\n    skopeo .*\n`,
		"the chart":   `(?m)^    helm install .*\n      --set .*\n`,
	} {
		in := func(text string) string {
			return comments.ReplaceAllString(regexp.MustCompile(pattern).FindString(text), "")
		}
		if want := in(readme); want == "" {
			t.Errorf("README.md has not %s any more", name)
		} else if diff := cmp.Diff(want, in(page)); diff != "" {
			t.Errorf("docs/index.md, %s (-README.md +index.md):\n%s", name, diff)
		}
	}
}
