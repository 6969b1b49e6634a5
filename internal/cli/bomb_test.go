// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// An application that is small and stands for what is not costs no more memory than the issue allows. What is collected again counts: it
// is the same in every run, and one expansion alone is several times as much.
func TestBombsCostLittle(t *testing.T) {
	const allowed = 40 << 20
	for name, conf := range heaptest.Bombs() {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(conf)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "bomb.yaml")
			manifest := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: pi}\nspec:\n  type: Scala\n  sparkVersion: 4.1.4\n" +
				"  image: spark:4.1.4\n  mainClass: Main\n  mainApplicationFile: local:///a.jar\n  driver: {}\n  executor: {}\n  sparkConf: " + string(text) + "\n"
			if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errOut string
			took := heaptest.Taken(func() { out, errOut, _ = execute(t, "", "validate", "-f", file) })
			const want = `: error: spec.sparkConf["spark.executor.memoryOverhead"]: "${spark.`
			if out += errOut; !strings.Contains(out, want) || !strings.Contains(out, "refer to") || strings.Count(out, "error:") != 1 || len(out) > 1000 {
				t.Errorf("said %.1000s, want %s", out, want)
			}
			if took > allowed {
				t.Errorf("took %d MiB, want %d at most", took>>20, allowed>>20)
			}
		})
	}
}
