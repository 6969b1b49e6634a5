// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// BenchmarkCheck measures everything that is looked at before a submission, a build on trial included.
func BenchmarkCheck(b *testing.B) {
	app := testutil.Model()
	b.ReportAllocs()
	for b.Loop() {
		if found := check(app); len(found) > 0 {
			b.Fatal(found)
		}
	}
}
