// SPDX-License-Identifier: Apache-2.0

// Command lifecycle draws docs/lifecycle-transitions.md from the state machine. The page has exactly the transitions that elements of the enumerated domain
// make.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/test/domain"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: lifecycle FILE")
		os.Exit(2)
	}
	text, err := page(transitions())
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lifecycle:", err)
		os.Exit(1)
	}
}

// edge is a change of state.
type edge struct{ from, to lifecycle.State }

// transitions returns the changes of state that occur in the domain, with their recorded reasons.
func transitions() map[edge]map[lifecycle.Reason]bool {
	found := map[edge]map[lifecycle.Reason]bool{}
	for _, state := range lifecycle.States() {
		each := func(e *domain.Element) {
			if e.App.Deleting {
				return // nothing more is stored
			}
			gates := domain.Admissions()
			if lifecycle.NeedsAdmission(e.App, e.Record, e.Observation.Driver, e.Env) {
				gates = gates[1:]
			} else {
				gates = gates[:1]
			}
			for _, gate := range gates {
				plan := lifecycle.Decide(e.App, e.Record, e.Observation, gate, e.Env)
				for _, to := range outcomes(plan, e.Env) {
					if to.State == state {
						continue
					}
					key := edge{state, to.State}
					if found[key] == nil {
						found[key] = map[lifecycle.Reason]bool{}
					}
					found[key][to.Cause.Reason] = true
				}
			}
		}
		domain.Each(state, each)
		domain.EachServer(state, each)
	}
	return found
}

// outcomes returns the records that a plan can lead to. A submission gets every possible response, and any other action succeeds or fails temporarily.
func outcomes(p lifecycle.Plan, env lifecycle.Env) []lifecycle.Record {
	classes := []lifecycle.Class{lifecycle.ClassDone, lifecycle.ClassTransient}
	if n := len(p.Actions); n > 0 && p.Actions[n-1].Kind == lifecycle.Submit {
		classes = []lifecycle.Class{
			lifecycle.ClassDone, lifecycle.ClassTransient, lifecycle.ClassNameTaken, lifecycle.ClassQuota, lifecycle.ClassTerminating,
			lifecycle.ClassOperatorForbidden, lifecycle.ClassPolicy, lifecycle.ClassRefused,
		}
	}
	var out []lifecycle.Record
	for _, class := range classes {
		var results []lifecycle.Result
		for i, a := range p.Actions {
			r := lifecycle.Result{Kind: a.Kind, Class: lifecycle.ClassDone}
			if i == len(p.Actions)-1 {
				r.Class = class
			}
			results = append(results, r)
		}
		out = append(out, lifecycle.Settle(p, results, env).Record)
	}
	return out
}

// word returns the name of a state in status.applicationState.state.
func word(s lifecycle.State) string {
	status := kubeflow.ToStatus(&v1beta2.SparkApplicationStatus{}, lifecycle.Outcome{Record: lifecycle.Record{State: s}}, domain.Now)
	if status.AppState.State == "" {
		return "no status"
	}
	if s == lifecycle.Queued {
		return string(status.AppState.State) + ", no driver"
	}
	return string(status.AppState.State)
}

// page writes the diagram and the table. A transition without an explanation is an error, and so is an explanation without a transition.
func page(found map[edge]map[lifecycle.Reason]bool) (string, error) {
	var b strings.Builder
	b.WriteString(preface)
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, s := range lifecycle.States() {
		if s != lifecycle.New {
			fmt.Fprintf(&b, "    state %q as %s\n", word(s), s)
		}
	}
	var table strings.Builder
	for _, from := range lifecycle.States() {
		for _, to := range lifecycle.States() {
			reasons, occurs := found[edge{from, to}]
			why, described := words[edge{from, to}]
			switch {
			case occurs && !described:
				return "", fmt.Errorf("%q -> %q occurs (%v), and nothing explains it", from, to, sorted(reasons))
			case described && !occurs:
				return "", fmt.Errorf("%q -> %q is explained, and never occurs", from, to)
			case !occurs:
				continue
			}
			if why.label != "" {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", node(from), node(to), why.label)
			}
			fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", word(from), word(to), why.when, strings.Join(sorted(reasons), ", "))
		}
	}
	for _, s := range lifecycle.States() {
		if s.Final() {
			fmt.Fprintf(&b, "    %s --> [*]\n", node(s))
		}
	}
	b.WriteString("```\n" + columns + table.String())
	return b.String(), nil
}

func node(s lifecycle.State) string {
	if s == lifecycle.New {
		return "[*]"
	}
	return string(s)
}

func sorted(reasons map[lifecycle.Reason]bool) []string {
	var out []string
	for r := range reasons {
		switch r {
		case "":
		case "QueueFull":
			out = append(out, "the scheduler's")
		default:
			out = append(out, "`"+string(r)+"`")
		}
	}
	slices.Sort(out)
	return out
}
