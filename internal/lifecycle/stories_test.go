/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package lifecycle

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the stories under testdata")

// step is one reconcile of a story: what is seen, and what the API server answers.
type step struct {
	says      string
	seen      Driver
	executors map[string]ExecutorState
	gate      Gate
	// answer is what the API server says to the plan's action; Done unless given.
	answer  Class
	message string
	// app changes the user's object before the step; the change lasts.
	app func(*Application)
	// lost drops the status write: the operator dies before it, or it meets a conflict.
	lost bool
}

// tell runs a story and returns one line for each step. Between two steps pass ten seconds.
func tell(steps []step) string {
	var b strings.Builder
	app := Application{Generation: 1, SparkAppID: "spark-1"}
	var rec Record
	for i, s := range steps {
		env := Env{Now: now.Add(time.Duration(i) * 10 * time.Second)}
		if s.app != nil {
			s.app(&app)
		}
		var gate Gate
		if Gated(app, rec, s.seen) { // as the engine does it
			gate = s.gate
		}
		p := Decide(app, rec, Observation{Driver: s.seen, Executors: s.executors}, gate, env)
		var results []Result
		did := "-"
		for _, a := range p.Actions {
			r := Result{Kind: a.Kind, Class: s.answer, Message: s.message}
			if r.Class == "" {
				r.Class = ClassDone
			}
			results = append(results, r)
			did = fmt.Sprintf("%s: %s", a.Kind, r.Class)
		}
		o := Settle(p, results, env)
		fmt.Fprintln(&b, strings.TrimRight(line(s, env, gate, did, rec, o), " "))
		if !s.lost {
			rec = o.Record
		}
	}
	return b.String()
}

func line(s step, env Env, gate Gate, did string, before Record, o Outcome) string {
	state := string(o.Record.State)
	if state == "" {
		state = "New"
	}
	text := fmt.Sprintf("%s  %-34s sees %-18s gate %-9s does %-25s -> %-16s", env.Now.Format("15:04:05"), s.says, sight(s.seen), orDash(string(gate.Verdict)), did, state)
	next := "never"
	if o.Requeue > 0 {
		next = o.Requeue.String()
	}
	if o.Err != nil {
		next = "back-off (" + o.Err.Error() + ")"
	}
	text += " next " + next
	if s.lost {
		return text + "; not stored"
	}
	if c := o.Record.Cause; c.Reason != "" {
		text += fmt.Sprintf("; %s: %s", c.Reason, c.Message)
	}
	for _, c := range o.Conditions {
		if c.Type == ConditionDriverReady && o.Record.State == Submitted && c.Reason != ReasonDriverPending {
			text += fmt.Sprintf("; %s: %s", c.Reason, c.Message)
		}
	}
	if len(o.Record.Executors) > 0 {
		text += "; executors " + roster(o.Record.Executors)
	}
	for _, e := range Events("pi", before, o.Record) {
		kind := "event"
		if e.Warning {
			kind = "warning"
		}
		text += fmt.Sprintf("; %s %s", kind, e.Reason)
	}
	return text
}

func sight(d Driver) string {
	if d.Presence != Present {
		return string(d.Presence)
	}
	return string(d.Ownership) + "/" + string(d.Phase)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func roster(all map[string]ExecutorState) string {
	var out []string
	for name, state := range all {
		out = append(out, name+"="+string(state))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestStories(t *testing.T) {
	all := stories()
	for name, steps := range all {
		t.Run(name, func(t *testing.T) {
			golden(t, name, tell(steps))
		})
	}
	files, err := filepath.Glob(filepath.Join("testdata", "stories", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, told := all[strings.TrimSuffix(filepath.Base(f), ".txt")]; !told {
			t.Errorf("%s belongs to no story", f)
		}
	}
}

// golden compares a text with a file under testdata, or writes the file if the flag says so.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "stories", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./internal/lifecycle -run TestStories -update", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the story goes differently (-want +got):\n%s", diff)
	}
}
