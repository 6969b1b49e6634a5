// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/manifest"
	"github.com/firesteel-dev/firesteel/internal/prepare"
)

// Severity is how bad a finding is.
type Severity string

// Severities. Only an error keeps an application from running.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Finding is something to say about a line of a manifest.
type Finding struct {
	Line     int
	Severity Severity
	Message  string
}

// Validate returns what there is to say about the documents of a manifest, by line.
func Validate(documents []manifest.Document, c Cluster, operator Operator) []Finding {
	var findings []Finding
	for i := range documents {
		document := &documents[i]
		if document.Application == nil {
			findings = append(findings, unchecked(document))
			continue
		}
		findings = append(findings, validate(document, c, operator)...)
	}
	slices.SortStableFunc(findings, func(x, y Finding) int { return cmp.Compare(x.Line, y.Line) })
	return findings
}

// unchecked is what there is to say about a document that is no application. In our own group only the other kinds of
// the API are passed over: anything else is a slip that would otherwise look like success.
func unchecked(d *manifest.Document) Finding {
	group, _, _ := strings.Cut(d.APIVersion, "/")
	if group == v1beta2.GroupVersion.Group && !slices.Contains([]string{"ScheduledSparkApplication", "SparkConnect"}, d.Kind) {
		return Finding{d.Line, Error, fmt.Sprintf("%s: %s has no such kind; write kind: SparkApplication, apiVersion: %s",
			other(d), group, v1beta2.GroupVersion)}
	}
	return Finding{d.Line, Note, other(d) + ": not checked"}
}

// other introduces a document that is no application of ours.
func other(d *manifest.Document) string {
	if d.Kind == "" {
		return "not a Kubernetes object"
	}
	return fmt.Sprintf("%s %s (%s)", d.Kind, d.Name, d.APIVersion)
}

func validate(d *manifest.Document, c Cluster, operator Operator) []Finding {
	var findings []Finding
	for _, problem := range d.Problems {
		findings = append(findings, Finding{problem.Line, Error, problem.Message})
	}
	if d.Name == "" {
		// Everything that the operator creates is called after the application.
		return append(findings, Finding{d.LineOf("metadata"), Error, "metadata.name: missing; an application needs a name"})
	}
	if d.Application.MalformedSpec != "" && len(findings) > 0 {
		return findings // the operator would say the same in other words
	}
	say := func(severity Severity, sentence string) {
		findings = append(findings, Finding{d.LineOf(manifest.FieldOf(sentence)), severity, sentence})
	}
	_, request := requestOf(d.Application, c, operator)
	objections := prepare.Objections(request)
	for _, sentence := range objections {
		say(Error, sentence)
	}
	for _, sentence := range prepare.Remarks(request) {
		say(Warning, sentence)
	}
	if len(objections) > 0 {
		return findings
	}
	rendered, err := Render(d.Application, c, operator)
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		severity := Error
		if refusal.Waits {
			severity = Warning // another operator may have what this build does not know
		}
		say(severity, refusal.Message)
	}
	for _, assumption := range rendered.Assumptions {
		say(Note, assumption)
	}
	return findings
}
