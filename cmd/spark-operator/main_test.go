// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
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
