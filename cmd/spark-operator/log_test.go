// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/firesteel-dev/firesteel/internal/text"
)

// Words of tenants forge no lines of the log, and do nothing to the terminal of who reads it, whichever encoder is chosen.
func TestLogIsSafe(t *testing.T) {
	const evil = "a\x1b[2J\u009b2J\n2026-11-23T00:00:00Z\tINFO\tforged\r\u202e\u2028b"
	for _, encoder := range []string{"console", "json"} {
		t.Run(encoder, func(t *testing.T) {
			var out bytes.Buffer
			options := zap.Options{DestWriter: text.Writer{Writer: &out}}
			flags := flag.NewFlagSet("", flag.ContinueOnError)
			options.BindFlags(flags)
			if err := flags.Parse([]string{"--zap-encoder=" + encoder, "--zap-stacktrace-level=panic"}); err != nil {
				t.Fatal(err)
			}
			log := zap.New(zap.UseFlagOptions(&options))
			log.Info("a policy refuses an application", "value", evil, "application", evil)
			log.Error(errors.New(evil), "cannot")
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) != 2 {
				t.Errorf("2 entries have %d lines:\n%s", len(lines), out.String())
			}
			for _, r := range out.String() {
				if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
					t.Errorf("the log has %U: %q", r, out.String())
				}
			}
		})
	}
}
