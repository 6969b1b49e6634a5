// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/firesteel-dev/firesteel/internal/text"
)

// Text returns the report for users.
func (r Report) Text() string {
	p := printer{now: r.now}
	p.line("%s %s/%s %s", r.Kind, r.Namespace, r.Name, r.Summary)
	p.section("")
	p.field("State", "%s, attempt %d, created %s ago", r.State, r.Attempt, p.since(r.Created.Time))
	if by := r.Submitter; by != nil {
		p.field("Submitter", "%s (recorded by %s)", by.User, by.Source)
	}
	if r.Behind != "" {
		p.field("Status", "generation %d of %d: %s", r.ObservedGeneration, r.Generation, r.Behind)
	}
	if r.Reason != "" {
		p.field("Reason", "%s", r.reason())
	}
	p.field("Decision", "%s", r.Decision.Sentence)
	for _, e := range r.Next {
		p.field("Next", "%s: %s", p.in(e.At.Time), e.What)
	}
	if r.Unbounded != "" {
		p.field("Deadline", "none is set for this wait: set %s to bound it", r.Unbounded)
	}
	p.list("What you can do", r.Advice)
	r.evidence(&p)
	r.history(&p)
	p.list("Could not be read", r.Unreadable)
	return p.String()
}

// reason returns the reason, and its message unless that is already printed.
func (r Report) reason() string {
	if strings.Contains(r.Summary, r.Message) || strings.Contains(r.Decision.Sentence, r.Message) {
		return r.Reason
	}
	return r.Reason + ": " + r.Message
}

func (r Report) evidence(p *printer) {
	p.section("Evidence")
	p.field("Driver", "%s", r.Driver.text(p))
	p.field("Executors", "%s", r.Executors.text())
	for _, f := range r.Executors.Failures {
		p.field("", "%s", f)
	}
	r.Server.text(p)
	r.Scheduling.text(p, strings.Contains(r.Summary, r.Scheduling.Message))
	printLines(p, r.Lines)
	for _, q := range r.Quotas {
		full := ""
		if q.Exhausted {
			full = ", nothing is left"
		}
		p.field("Quota", "%s: %s, %s of %s used%s", q.Name, q.Resource, q.Used, q.Hard, full)
	}
	for _, b := range r.Retries {
		left := fmt.Sprintf("%d of %d retries left", b.Left, b.Retries)
		if b.Unlimited {
			left = fmt.Sprintf("unlimited, %d used", b.Used)
		}
		p.field("Retries", "%s: %s", strings.Join(b.Classes, ", "), left)
	}
	if len(r.Retries) == 0 {
		p.field("Retries", "none: restart policy %s", r.RestartPolicy)
	}
}

func (r Report) history(p *printer) {
	if len(r.Attempts) > 0 {
		p.section("Attempts")
	}
	tail := Attempt{}
	for _, a := range r.Attempts {
		p.field(fmt.Sprintf("#%d", a.Number), "%s", a.text(p))
		if a.LogTail != "" {
			tail = a
		}
	}
	if tail.LogTail != "" {
		p.section(fmt.Sprintf("The last lines of the log of attempt %d", tail.Number))
		for line := range strings.Lines(tail.LogTail) {
			p.line("  | %s", strings.TrimRight(line, "\r\n"))
		}
	}
	if len(r.Conditions) > 0 {
		p.section("Conditions")
	}
	for _, c := range r.Conditions {
		p.line("  %-16s %-8s %s: %s", c.Type, c.Status, c.Reason, oneLine(c.Message))
	}
}

func (d Driver) text(p *printer) string {
	switch {
	case d.Presence == "Unknown":
		return d.Name + ": the API server did not report whether it exists"
	case d.Presence == "Absent":
		return d.Name + ": does not exist"
	case d.Ownership == "NotOwned":
		return d.Name + ": exists, but does not belong to this application"
	}
	parts := []string{d.Phase}
	if d.Ownership == "Previous" {
		parts = append(parts, "of an earlier attempt")
	}
	add := func(format string, at *metav1.Time) {
		if at != nil {
			parts = append(parts, fmt.Sprintf(format, p.since(at.Time)))
		}
	}
	add("created %s ago", d.Created)
	if d.Scheduled == nil && d.Phase == "Pending" {
		parts = append(parts, "no node yet")
	}
	add("scheduled %s ago", d.Scheduled)
	add("started %s ago", d.Started)
	if d.DeletionDue != nil {
		parts = append(parts, "is being deleted")
	}
	for _, words := range []string{d.Waiting, d.Exit, d.Disruption} {
		if words != "" {
			parts = append(parts, words)
		}
	}
	return d.Name + ": " + strings.Join(parts, ", ")
}

func (e Executors) text() string {
	says := fmt.Sprintf("%d of %d running", e.Running, e.Wanted)
	for _, c := range []struct {
		n    int32
		word string
	}{{e.Pending, "pending"}, {e.Completed, "completed"}, {e.Failed, "failed"}, {e.Unknown, "disappeared"}} {
		if c.n > 0 {
			says += fmt.Sprintf(", %d %s", c.n, c.word)
		}
	}
	return says
}

func (a Attempt) text(p *printer) string {
	var parts []string
	switch {
	case a.Started == nil && a.Ended == nil:
		parts = append(parts, "has not started")
	case a.Started == nil && a.Class == "": // a success, or another operator did not record the start
		parts = append(parts, "ended "+p.since(a.Ended.Time)+" ago")
	case a.Started == nil:
		parts = append(parts, "ended "+p.since(a.Ended.Time)+" ago without having started")
	case a.Ended == nil:
		parts = append(parts, "running for "+p.since(a.Started.Time))
	default:
		parts = append(parts, fmt.Sprintf("ended %s ago after %s", p.since(a.Ended.Time), duration.HumanDuration(a.Ended.Sub(a.Started.Time))))
	}
	if a.Class != "" {
		parts = append(parts, "class "+a.Class)
	}
	if a.Reason != "" {
		parts = append(parts, a.Reason+": "+oneLine(a.Message))
	}
	return strings.Join(parts, ", ")
}

// printer collects lines, with times relative to now.
type printer struct {
	strings.Builder
	now  time.Time
	last string
}

func (p *printer) line(format string, args ...any) {
	p.WriteString(strings.TrimRight(text.Printable(fmt.Sprintf(format, args...)), " ") + "\n")
}

func (p *printer) section(title string) {
	p.WriteString("\n")
	if title != "" {
		p.line("%s", title)
	}
	p.last = ""
}

// field writes a line with a label. It omits a label that repeats the previous one.
func (p *printer) field(label, format string, args ...any) {
	shown := label
	if label == p.last {
		shown = ""
	}
	p.last = label
	p.line("  %-10s %s", shown, oneLine(fmt.Sprintf(format, args...)))
}

func (p *printer) list(title string, all []string) {
	if len(all) == 0 {
		return
	}
	p.section(title)
	for _, sentence := range all {
		p.line("  * %s", oneLine(sentence))
	}
}

func (p *printer) since(t time.Time) string { return duration.HumanDuration(max(0, p.now.Sub(t))) }

func (p *printer) left(t time.Time) string { return duration.HumanDuration(max(0, t.Sub(p.now))) }

func (p *printer) in(t time.Time) string {
	if !t.After(p.now) {
		return "now"
	}
	return "in " + p.left(t)
}

// oneLine joins the lines of a message. Line ends would break the layout.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
