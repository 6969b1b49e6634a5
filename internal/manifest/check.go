// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
		of := []Finding{unchecked(d)}
		if d.Row != nil {
			of = d.check(a, operator)
		}
		findings = append(findings, d.ruled(of)...)
	}
	slices.SortStableFunc(findings, func(x, y Finding) int { return cmp.Compare(x.Line, y.Line) })
	return findings
}

// unchecked is the finding about a document of another kind. In a group of ours that is a slip, which would otherwise look like success.
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

func (d *Document) check(a kinds.Assumed, operator resolve.Operator) []Finding {
	findings, enough := d.reported()
	if enough {
		return findings
	}
	forecast := d.DryRun(a, operator)
	findings = append(findings, d.findings(forecast.DryRunResult)...)
	if len(forecast.Errors) > 0 {
		return findings
	}
	for _, remark := range forecast.Remarks {
		findings = append(findings, Finding{d.LineOf(FieldOf(remark)), Note, remark})
	}
	return findings
}

// reported are the findings about the fields of a document. They are enough if there is nothing that could be judged.
func (d *Document) reported() (findings []Finding, enough bool) {
	for _, problem := range d.Problems {
		findings = append(findings, Finding(problem))
	}
	if d.Undecoded != "" {
		return findings, true
	}
	if d.Name == "" {
		// Everything that the operator creates is called after the object.
		return append(findings, Finding{d.LineOf("metadata"), Error, "metadata.name: missing; " + d.Row.One + " needs a name"}), true
	}
	errors := slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == Error })
	return findings, d.malformed != "" && errors // the operator would report the same
}

// ruled adds the rules of the definition that are not reported otherwise.
func (d *Document) ruled(findings []Finding) []Finding {
	rules := slices.DeleteFunc(slices.Clone(d.Refused), func(p Problem) bool {
		return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == Error && within(FieldOf(f.Message), FieldOf(p.Message)) })
	})
	for _, rule := range rules {
		findings = append(findings, Finding(rule))
	}
	return findings
}

// within reports whether a field is another, or a part of it.
func within(field, other string) bool {
	rest, is := strings.CutPrefix(field, other)
	return is && other != "" && (rest == "" || strings.ContainsAny(rest[:1], ".["))
}

// findings are the lines of what is said about a document.
func (d *Document) findings(forecast admission.DryRunResult) []Finding {
	var findings []Finding
	for _, said := range []struct {
		severity  Severity
		sentences []string
	}{{Error, validation.Sentences(forecast.Errors)}, {Warning, forecast.Warnings}, {Note, forecast.Assumptions}} {
		for _, sentence := range said.sentences {
			if said.severity == Note && len(forecast.Errors) > 0 {
				continue // it would not start anyway
			}
			findings = append(findings, Finding{d.LineOf(FieldOf(sentence)), said.severity, sentence})
		}
	}
	return findings
}
