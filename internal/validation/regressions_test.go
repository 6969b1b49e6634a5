// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// The status' conditions take 32768 characters, so values are shortened.
func TestExplainShortensValues(t *testing.T) {
	app := testutil.Model()
	app.Conf[spark.ConfDriverMemory] = strings.Repeat("9", 40000)
	for _, text := range said(app) {
		if len(text) > 32768 {
			t.Errorf("a sentence of %d characters: the API server refuses the status", len(text))
		}
	}
}
