// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
	"github.com/firesteel-dev/firesteel/test/bench/internal/limit"
	"github.com/firesteel-dev/firesteel/test/bench/internal/plan"
	"github.com/firesteel-dev/firesteel/test/bench/internal/proc"
	"github.com/firesteel-dev/firesteel/test/bench/internal/report"
)

// The harness starts itself in other roles; here that is this test's program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{ground.StandIn, limit.Role}, os.Args[1]) {
		main()
		return
	}
	os.Exit(m.Run())
}

// patience is how long a run may take, on a machine that has other things to do.
const patience = 3 * time.Minute

func needsServers(t *testing.T) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") != "" {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: run make test")
	}
	t.Skip("no API server: KUBEBUILDER_ASSETS is not set; run make test-integration")
}

// nothingLeft fails the test if something still runs that was started.
func nothingLeft(t *testing.T) {
	t.Helper()
	if left := proc.Tree(os.Getpid()); len(left) != 1 {
		t.Errorf("these still run: %+v", left[1:])
	}
}

// They run side by side, because here they are not to measure but to be complete.
func TestRun(t *testing.T) {
	needsServers(t)
	t.Run("Side by side", func(t *testing.T) {
		for step, n := range map[string]float64{"latency:1": 1, "burst:5": 5} {
			t.Run(step, func(t *testing.T) {
				t.Parallel()
				runs(t, step, n)
			})
		}
		t.Run("big:5", alone("big", "executors created and ended in a second", "status writes a second", "≤ 2: ", "share of a core: operator"))
		t.Run("apache:5", alone("apache", "driver runs → RUNNING shown, median", "driver succeeded → COMPLETED shown, median", "API calls for each application"))
		t.Run("operator that ends", operatorThatEnds)
	})
	nothingLeft(t)
}

// runs runs a step with its n applications, and looks at what is written.
func runs(t *testing.T, step string, n float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out := t.TempDir()
	var shown bytes.Buffer
	c := root()
	c.SetArgs([]string{"--run=" + step, "--limit", "--root=../..", "--out=" + out, "--markdown=" + filepath.Join(out, "table.md")})
	c.SetOut(&shown)
	if err := c.ExecuteContext(ctx); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var r report.Report
	if err := json.Unmarshal([]byte(read("bench.json")), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Sections) != 1 {
		t.Fatalf("%d sections", len(r.Sections))
	}
	complete(t, r.Sections[0], n)
	for what, text := range map[string]string{"the terminal": shown.String(), "the chart": read("bench.svg"), "the Markdown": read("table.md")} {
		if !strings.Contains(text, step) || !strings.Contains(text, "created → driver pod, median") {
			t.Errorf("%s does not show what was measured:\n%s", what, text)
		}
	}
}

// alone runs a scenario that has no limit beside it, and looks for what its table says.
func alone(scenario string, says ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var shown bytes.Buffer
		b := newBench(options{root: "../..", out: t.TempDir(), timeout: patience}, &shown)
		if err := b.run(ctx, []plan.Step{{Scenario: scenario, Size: 5}}); err != nil {
			t.Fatal(err)
		}
		for _, text := range says {
			if !strings.Contains(shown.String(), text) {
				t.Errorf("the table does not say %q:\n%s", text, shown.String())
			}
		}
	}
}

// complete checks that there are all numbers, beside those of the limit, and that those are right that can only be so. Others have
// bounds, for a machine that has other things to do: who sees a driver only when it has ended never shows RUNNING, and a write that
// is refused for a conflict is sent again.
func complete(t *testing.T, s report.Section, n float64) {
	t.Helper()
	rows := map[string]report.Row{}
	for _, row := range append(s.Rows, s.Calls...) {
		rows[row.What] = row
	}
	const asked, stored = "events that the states shown call for", "events stored"
	bounds := map[string]struct{ least, most float64 }{
		"applications that did not complete": {0, 0}, "applications that never showed RUNNING": {0, n},
		asked: {2 * n, 3 * n}, "events sent": {2 * n, 6 * n}, stored: {2 * n, 3 * n},
		"create pods": {n, 2 * n}, "create configmaps": {n, 2 * n}, "patch sparkapplications/status": {3 * n, 8 * n},
	}
	for what, b := range bounds {
		row, there := rows[what]
		if !there || row.Limit == nil {
			t.Errorf("%s: %s: %+v, want numbers for both", s.Name, what, row)
			continue
		}
		for _, got := range []float64{row.Value, *row.Limit} {
			if got < b.least || got > b.most {
				t.Errorf("%s: %s: %+v, want between %v and %v for both", s.Name, what, row, b.least, b.most)
			}
		}
	}
	if rows[stored].Value > rows[asked].Value {
		t.Errorf("%s: %v events are stored, and the states shown call for %v", s.Name, rows[stored].Value, rows[asked].Value)
	}
	positive := []string{
		"created → driver pod, median", "created → SUBMITTED shown, 95 of 100 within", "driver runs → RUNNING shown, median",
		"driver succeeded → COMPLETED shown, median", "CPU for each application: kube-apiserver", "memory of the operator, most", "API calls for each application", "of these, write",
	}
	for _, what := range positive {
		if row := rows[what]; row.Value <= 0 || row.Limit == nil || *row.Limit <= 0 {
			t.Errorf("%s: %s: %+v, want numbers for both", s.Name, what, row)
		}
	}
	if diff := cmp.Diff([]string(nil), s.Faults); diff != "" {
		t.Errorf("%s: faults (-want +got):\n%s", s.Name, diff)
	}
}

// Someone presses ^C while everything runs. Here the operator does.
func TestInterrupted(t *testing.T) {
	needsServers(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	b := newBench(options{root: "../..", out: t.TempDir(), timeout: patience, operator: `sh -c 'kill -INT $PPID; exec sleep 600'`, readyURL: "http://127.0.0.1:1/readyz"}, &bytes.Buffer{})
	err := b.run(ctx, []plan.Step{{Scenario: "crash", Size: 1}, {Scenario: "burst", Size: 1}})
	if err == nil || !strings.Contains(err.Error(), "crash:1: wait until the operator is ready") {
		t.Errorf("the run ended with: %v", err)
	}
	nothingLeft(t)
}

// operatorThatEnds is one that cannot start: the run says why, and does not wait for it.
func operatorThatEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b := newBench(options{root: "../..", out: t.TempDir(), timeout: patience, operator: "sh -c 'echo no licence; exit 3'", readyURL: "http://127.0.0.1:1/readyz"}, &bytes.Buffer{})
	err := b.run(ctx, []plan.Step{{Scenario: "latency", Size: 1}})
	for _, text := range []string{"latency:1", "operator has ended", "exit status 3", "no licence"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not say %q: %v", text, err)
		}
	}
}

func TestDefaultRun(t *testing.T) {
	steps, err := plan.Parse(defaultRun, usualSizes())
	if err != nil {
		t.Fatal(err)
	}
	run := map[string]bool{}
	for _, step := range steps {
		run[step.Scenario] = true
	}
	if _, err := plan.Parse(shortRun, usualSizes()); err != nil {
		t.Error(err)
	}
	for name := range goals {
		if _, there := scenarios[name]; !there {
			t.Errorf("there are goals for scenario %q, which does not exist", name)
		}
	}
	for name := range scenarios {
		if !run[name] || !strings.Contains(root().Long, name+":") {
			t.Errorf("scenario %s is not run, or the help does not report it", name)
		}
	}
}
