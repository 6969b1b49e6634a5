// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// asProgram makes the test's binary the program itself, so that the memory of a whole process can be measured.
const asProgram = "KUBECTL_SPARK_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
	}
	os.Exit(m.Run())
}

// An application that is small and stands for what is not costs no more memory than the issue allows.
func TestBombsCostLittle(t *testing.T) {
	const allowed = 40 << 10 // KiB
	_, least := validated(t, nil)
	for name, conf := range heaptest.Bombs() {
		t.Run(name, func(t *testing.T) {
			out, peak := validated(t, conf)
			const want = `: error: spec.sparkConf["spark.executor.memoryOverhead"]: "${spark.`
			if !strings.Contains(out, want) || !strings.Contains(out, "refer to") || strings.Count(out, "error:") != 1 || len(out) > 1000 {
				t.Errorf("said %.1000s, want %s", out, want)
			}
			if peak-least > allowed {
				t.Errorf("took %d KiB more than %d KiB, which the program itself takes; want %d more at most", peak-least, least, allowed)
			}
		})
	}
}

// validated is what validate says of an application with properties, and how many KiB of memory it takes at its peak.
func validated(t *testing.T, conf map[string]string) (out string, peak int64) {
	t.Helper()
	text, err := json.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bomb.yaml")
	manifest := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: pi}\nspec:\n  type: Scala\n  sparkVersion: 4.1.4\n" +
		"  image: spark:4.1.4\n  mainClass: Main\n  mainApplicationFile: local:///a.jar\n  sparkConf: " + string(text) + "\n"
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, "validate", "-f", file)
	command.Env = append(os.Environ(), asProgram+"=1")
	said, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return string(said), command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
}
