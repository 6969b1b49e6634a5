// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// DryRun judges the object of a document as the operator would.
func (d *Document) DryRun(a kinds.Assumed, operator resolve.Operator) kinds.Forecast {
	return d.Row.DryRun(d.Object, a, operator)
}

// Severity is how bad a finding is.
type Severity string

// Severities. Only an error keeps an application from running.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Finding is a message about a line of a manifest.
type Finding struct {
	Line     int
	Severity Severity
	Message  string
}

// Check returns the findings about the documents of a manifest, by line.
func Check(documents []Document, a kinds.Assumed, operator resolve.Operator) []Finding {
	var findings []Finding
	for i := range documents {
		d := &documents[i]
		of := []Problem{{Finding: unchecked(d)}}
		if d.Row != nil {
			of = d.check(a, operator)
		}
		for _, p := range d.ruled(of) {
			findings = append(findings, p.Finding)
		}
	}
	slices.SortStableFunc(findings, func(x, y Finding) int { return cmp.Compare(x.Line, y.Line) })
	return findings
}

// unchecked returns the finding about a document of a kind that the operator does not serve. An unknown kind in one of our groups is an error: a note would
// look like success.
func unchecked(d *Document) Finding {
	group, _, _ := strings.Cut(d.APIVersion, "/")
	if served := kinds.Served(group); served != "" {
		return Finding{d.Line, Error, fmt.Sprintf("%s: %s has no such kind; write %s", d.Title(), group, served)}
	}
	return Finding{d.Line, Note, d.Title() + ": not checked"}
}

// Title names a document of any kind in a message.
func (d *Document) Title() string {
	if d.Kind == "" {
		return "not a Kubernetes object"
	}
	return fmt.Sprintf("%s %s (%s)", d.Kind, d.Name, d.APIVersion)
}

func (d *Document) check(a kinds.Assumed, operator resolve.Operator) []Problem {
	findings, enough := d.reported()
	if enough {
		return findings
	}
	forecast := d.DryRun(a, operator)
	findings = append(findings, d.findings(forecast.DryRunResult)...)
	if len(forecast.Errors) > 0 {
		return findings
	}
	return append(findings, d.said(Note, forecast.Remarks)...)
}

// reported returns the findings about the fields of a document. enough is set if the document allows no further checks.
func (d *Document) reported() (findings []Problem, enough bool) {
	findings = slices.Clone(d.Problems)
	if d.Undecoded != "" {
		return findings, true
	}
	if d.Name == "" {
		// The operator names all objects that it creates after this object.
		return append(findings, d.problem("metadata.name", Error, "metadata.name: missing; "+d.Row.One+" needs a name")), true
	}
	if d.Generated {
		findings = append(findings, d.problem("metadata.generateName", Note,
			"metadata.generateName: the API server chooses the name at kubectl create; checked as "+d.Name+". kubectl apply needs metadata.name"))
	}
	errors := slices.ContainsFunc(findings, func(f Problem) bool { return f.Severity == Error })
	return findings, d.malformed != "" && errors // the dry run would report the same error
}

// ruled adds the errors of Refused that no other error covers.
func (d *Document) ruled(findings []Problem) []Problem {
	rules := slices.DeleteFunc(slices.Clone(d.Refused), func(p Problem) bool {
		return slices.ContainsFunc(findings, func(f Problem) bool { return f.Severity == Error && within(f.Field, p.Field) })
	})
	return append(findings, rules...)
}

// within reports whether a path equals the other path or is below it.
func within(path, other string) bool {
	rest, is := strings.CutPrefix(path, other)
	return is && other != "" && (rest == "" || strings.ContainsAny(rest[:1], ".["))
}

// findings returns the findings of a dry run. If the application would not start, the notes on the requirements of its start are left out.
func (d *Document) findings(forecast admission.DryRunResult) []Problem {
	findings := append(d.said(Error, forecast.Errors), d.said(Warning, forecast.Warnings)...)
	if len(forecast.Errors) > 0 {
		return findings
	}
	return append(findings, d.said(Note, forecast.Assumptions)...)
}

// said converts errors about fields to findings with a line.
func (d *Document) said(severity Severity, list field.ErrorList) []Problem {
	var all []Problem
	for _, e := range list {
		if d.Generated && e.Field == "metadata.name" {
			generated := *e
			generated.Field = "metadata.generateName"
			e = &generated
		}
		all = append(all, d.problem(e.Field, severity, validation.Sentence(e)))
	}
	return all
}
