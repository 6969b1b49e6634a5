// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
)

// programs builds the needed programs, or finds them in the cache.
func (b *bench) programs(ctx context.Context) (ground.Programs, error) {
	var errs []error
	tool := func(name, program string) string {
		out, err := b.command(ctx, filepath.Join("hack", "tools", "build.sh"), name)
		errs = append(errs, err)
		return filepath.Join(out, program)
	}
	self, err := os.Executable()
	errs = append(errs, err)
	p := ground.Programs{
		Etcd: tool("etcd", "etcd"), APIServer: tool("kubernetes", "kube-apiserver"), KWOK: tool("kwok", "kwok"),
		Self: self, Definitions: filepath.Join(b.root, "config", "crd", "bases"),
	}
	return p, errors.Join(errs...)
}

// commit returns the measured commit; "" for a tree without git.
func (b *bench) commit(ctx context.Context) string {
	name, err := b.command(ctx, "git", "describe", "--always", "--dirty")
	if err != nil {
		return ""
	}
	return name
}

// command runs a command in the project's folder and returns its output. Its errors go to the terminal.
func (b *bench) command(ctx context.Context, words ...string) (string, error) {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Stderr = b.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
