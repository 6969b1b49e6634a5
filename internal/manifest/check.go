// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// DefaultUID stands in for the UID that the API server would give the application. Names are derived from it.
const DefaultUID types.UID = "00000000-0000-4000-8000-000000000000"

// DefaultSubmitTime stands in for the time of the submission, so that the same manifest gives the same objects.
var DefaultSubmitTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// DefaultNamespace is where an application goes whose manifest names none.
const DefaultNamespace = "default"

// Assumed is what only a cluster would know. What is left empty gets a default.
type Assumed struct {
	Namespace  string
	UID        types.UID
	SubmitTime time.Time
	// Now is when a schedule is looked at, and Local the operator's time zone; UTC if there is none.
	Now   time.Time
	Local *time.Location
}

// DryRun judges an application as the operator would, completed with what the API server would fill in.
func DryRun(o *v1beta2.SparkApplication, a Assumed, operator resolve.Operator) admission.DryRunResult {
	return dryRun(kubeflow.SparkApplications{}, o.DeepCopy(), a, operator)
}

// DryRunConnect judges a server as the operator would.
func DryRunConnect(o *v1alpha1.SparkConnect, a Assumed, operator resolve.Operator) admission.DryRunResult {
	return dryRun(kubeflow.SparkConnects{}, o.DeepCopy(), a, operator)
}

// dryRun completes an object, which is the caller's copy.
func dryRun[T metav1.Object](k resolve.Kind[T], o T, a Assumed, operator resolve.Operator) admission.DryRunResult {
	o.SetUID(cmp.Or(a.UID, o.GetUID(), DefaultUID))
	o.SetNamespace(cmp.Or(o.GetNamespace(), a.Namespace, DefaultNamespace))
	if a.SubmitTime.IsZero() {
		a.SubmitTime = DefaultSubmitTime
	}
	return admission.DryRun(resolve.Load(k, o, lifecycle.Record{}, operator, a.SubmitTime), operator.Registry)
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
func Check(documents []Document, a Assumed, operator resolve.Operator) []Finding {
	var findings []Finding
	for i := range documents {
		document := &documents[i]
		var of []Finding
		switch {
		case document.Application != nil:
			of = check(document, a, operator)
		case document.Schedule != nil:
			of = checkSchedule(document, a, operator)
		case document.Connect != nil:
			of = checkConnect(document, a, operator)
		default:
			of = []Finding{unchecked(document)}
		}
		findings = append(findings, document.ruled(of)...)
	}
	slices.SortStableFunc(findings, func(x, y Finding) int { return cmp.Compare(x.Line, y.Line) })
	return findings
}

// unchecked is the finding about a document that is none of our kinds. In our own group that is a slip, which would otherwise look
// like success.
func unchecked(d *Document) Finding {
	group, _, _ := strings.Cut(d.APIVersion, "/")
	if group == v1beta2.GroupVersion.Group {
		return Finding{d.Line, Error, fmt.Sprintf("%s: %s has no such kind; write kind: SparkApplication or %s, apiVersion: %s, or kind: %s, apiVersion: %s",
			other(d), group, kubeflow.ScheduleKind, v1beta2.GroupVersion, kubeflow.ConnectKind, v1alpha1.GroupVersion)}
	}
	return Finding{d.Line, Note, other(d) + ": not checked"}
}

// other introduces a document that is no application of ours.
func other(d *Document) string {
	if d.Kind == "" {
		return "not a Kubernetes object"
	}
	return fmt.Sprintf("%s %s (%s)", d.Kind, d.Name, d.APIVersion)
}

func check(d *Document, a Assumed, operator resolve.Operator) []Finding {
	findings, enough := d.reported(d.Application.MalformedSpec, "an application needs a name")
	if enough {
		return findings
	}
	return append(findings, d.findings(DryRun(d.Application, a, operator))...)
}

func checkConnect(d *Document, a Assumed, operator resolve.Operator) []Finding {
	findings, enough := d.reported(d.Connect.MalformedSpec, "a server needs a name")
	if enough {
		return findings
	}
	return append(findings, d.findings(DryRunConnect(d.Connect, a, operator))...)
}

// reported are the findings about the fields of a document. They are enough if there is nothing that could be judged.
func (d *Document) reported(malformed, nameless string) (findings []Finding, enough bool) {
	for _, problem := range d.Problems {
		findings = append(findings, Finding(problem))
	}
	if d.Undecoded != "" {
		return findings, true
	}
	if d.Name == "" {
		// Everything that the operator creates is called after the object.
		return append(findings, Finding{d.LineOf("metadata"), Error, "metadata.name: missing; " + nameless}), true
	}
	errors := slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == Error })
	return findings, malformed != "" && errors // the operator would report the same
}

// ruled adds the rules of the definition that are not told of otherwise.
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
