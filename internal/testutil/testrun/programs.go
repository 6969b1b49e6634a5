// SPDX-License-Identifier: Apache-2.0

package testrun

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The programs of this repository that tests run as processes, by their folders below cmd/.
const (
	Operator     = "spark-operator"
	KubectlSpark = "kubectl-spark"
)

// envPrograms is the variable with the folder of all programs. hack/test.sh builds them once for all tests of a run.
const envPrograms = "FIRESTEEL_PROGRAMS"

// Program returns the path of a program: in the folder of the run, or else built into dir as in the image. root is the repository.
func Program(ctx context.Context, root, dir, program string) (string, error) {
	if made := os.Getenv(envPrograms); made != "" {
		path := filepath.Join(made, program)
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("find the program that %s has: %w; run hack/test.sh, or unset the variable", envPrograms, err)
		}
		return path, nil
	}
	path, err := filepath.Abs(filepath.Join(dir, program))
	if err != nil {
		return "", fmt.Errorf("find the folder for %s: %w", program, err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-C", root, "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./cmd/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", program, err, text)
	}
	return path, nil
}
