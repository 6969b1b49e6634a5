// SPDX-License-Identifier: Apache-2.0

package window

import (
	"bytes"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

func TestPlan(t *testing.T) {
	cases := map[string]struct {
		reason, window, parameters string
		verdict                    scheduler.Verdict
		message                    string
	}{
		"Open":   {reason: "the window is open", window: `data: {open: "true"}`, verdict: scheduler.Admit, message: "the batch window is open"},
		"Closed": {reason: "the window is closed", window: `data: {open: "false"}`, verdict: scheduler.Wait, message: "waiting for the batch window of namespace team-a to open"},
		"None":   {reason: "it is not open", verdict: scheduler.Wait, message: "waiting for the batch window of namespace team-a to open"},
		"Urgent": {reason: "some cannot wait", parameters: `{"urgent":true}`, verdict: scheduler.Admit, message: "urgent: the window does not matter"},
		"Typo":   {reason: "a parameter that does not exist", parameters: `{"urgnt":true}`, verdict: scheduler.Reject, message: "batchScheduler.parameters.urgnt: is not a parameter of window; must be one of urgent"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := schedulertest.Attempt("window")
			a.Parameters = []byte(tc.parameters)
			s := scheduler.Snapshot{windowOf(a): nil}
			if tc.window != "" {
				s[windowOf(a)] = schedulertest.Object(t, tc.window)
			}
			got, err := scheduler.AdmitAttempt(Plugin{}, a, s)
			if err != nil || got.Verdict != tc.verdict || got.Message != tc.message {
				t.Errorf("%s: %+v, %v; want %s and %q", tc.reason, got, err, tc.verdict, tc.message)
			}
			schedulertest.Keeps(t, Plugin{}, a, s, scheduler.PodStatuses{})
		})
	}
}

// Any attempt at all.
func FuzzPlugin(f *testing.F) {
	window := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"open": "true"}}}
	schedulertest.Fuzz(f, Plugin{}, func(scheduler.Read) *unstructured.Unstructured { return window })
}

// The documentation promises that an example is short.
func TestShort(t *testing.T) {
	text, err := os.ReadFile("window.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines >= 120 {
		t.Errorf("the example has %d lines", lines)
	}
}
