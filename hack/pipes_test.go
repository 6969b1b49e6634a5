// SPDX-License-Identifier: Apache-2.0

package hack

import (
	"regexp"
	"testing"
)

// A grep -q ends at the first line that it looks for. With pipefail the pipe fails when the command before it has more to say, now and then.
var earlyEnd = regexp.MustCompile(`\|\s*grep\s+(-\w+\s+)*-\w*[qm]`)

func TestPipesAreReadToTheEnd(t *testing.T) {
	for _, file := range files(t) {
		if !isScript(t, file) {
			continue
		}
		for _, line := range logicalLines(read(t, file)) {
			if earlyEnd.MatchString(line) {
				t.Errorf("%s: %q: write grep ... >/dev/null", file, line)
			}
		}
	}
	for line, want := range map[string]bool{`k logs x | grep -q y`: true, `a | grep -x -qF y`: true, `a | grep -m1 y`: true, `a | grep -x y >/dev/null`: false, `grep -q y file`: false} {
		if earlyEnd.MatchString(line) != want {
			t.Errorf("%q: want %t", line, want)
		}
	}
}
