// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Every way to start a process reads the file that --config names; all of them are in manifests of users.
func TestCommands(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		says   string
	}{
		"Default":         {"as it was before there were two processes", []string{"--config=/missing"}, "open /missing"},
		"Controller":      {"by its name", []string{"controller", "--config=/missing"}, "open /missing"},
		"ControllerStart": {"the Kubeflow operator's words", []string{"controller", "start", "--config=/missing", "--zap-log-level=debug"}, "open /missing"},
		"Webhook":         {"the other process", []string{"webhook", "--config=/missing"}, "open /missing"},
		"WebhookStart":    {"the Kubeflow operator's words", []string{"webhook", "start", "--config", "/missing"}, "open /missing"},
		"Slip":            {"a word that does not exist must not start the controller", []string{"webhooks"}, `unknown command "webhooks"`},
		"Flag":            {"a flag that does not exist", []string{"--namespaces=a"}, "unknown flag: --namespaces"},
		"Argument":        {"nothing is ignored", []string{"webhook", "now", "--config=/missing"}, "now"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := root()
			c.SetArgs(tc.args)
			if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: it says %v, want %q", tc.reason, err, tc.says)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	for _, word := range []string{"version", "--version"} {
		var out bytes.Buffer
		c := root()
		c.SetArgs([]string{word})
		c.SetOut(&out)
		if err := c.ExecuteContext(t.Context()); err != nil || out.String() != "dev\n" {
			t.Errorf("%s prints %q, %v", word, out.String(), err)
		}
	}
}

// The collector knows the container's limit, unless there is none or the environment has another one.
func TestLimitMemory(t *testing.T) {
	cases := map[string]struct {
		reason string
		of     memlimit.Provider
		env    string
		want   int64
		says   []any
	}{
		"Limit":       {reason: "most of it", of: memlimit.Limit(100 << 20), want: 70 << 20, says: []any{"memoryLimit", int64(70 << 20)}},
		"None":        {reason: "a process outside of a container", of: func() (uint64, error) { return 0, memlimit.ErrNoLimit }},
		"Unreadable":  {reason: "worth a line, and no reason not to start", of: func() (uint64, error) { return 0, errors.New("no") }, says: []any{"memoryLimit", "failed to set GOMEMLIMIT: no"}},
		"Environment": {reason: "the administrator's word", of: memlimit.Limit(100 << 20), env: "1GiB"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := debug.SetMemoryLimit(-1)
			t.Cleanup(func() { debug.SetMemoryLimit(before) })
			if tc.env != "" {
				t.Setenv("GOMEMLIMIT", tc.env)
			}
			want := tc.want
			if want == 0 {
				want = before
			}
			says := limitMemory(tc.of)
			if got := debug.SetMemoryLimit(-1); got != want || !slices.Equal(says, tc.says) {
				t.Errorf("%s: %d bytes, %v; want %d, %v", tc.reason, got, says, want, tc.says)
			}
		})
	}
}
