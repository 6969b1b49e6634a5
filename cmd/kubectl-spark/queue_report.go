// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// queueReport is the queue for programs.
type queueReport struct {
	// Items are what waits, the longest wait first.
	Items []queueItem `json:"items"`
	// Lines are those in which any of the items wait.
	Lines []queueLine `json:"lines"`
}

// queueItem is an application or a cluster that waits.
type queueItem struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	Scheduler  string    `json:"scheduler,omitempty"`
	Queue      string    `json:"queue,omitempty"`
	Since      time.Time `json:"since"`
	Reason     string    `json:"reason,omitempty"`
	Message    string    `json:"message,omitempty"`
	// Positions are those in the lines of quotas.
	Positions []queuePosition `json:"positions,omitempty"`
}

// queuePlace names a line.
type queuePlace struct {
	// Namespace is that of the quota; "*" for what the quotas of all namespaces have in common.
	Namespace string `json:"namespace"`
	Quota     string `json:"quota"`
	Resource  string `json:"resource"`
}

// queuePosition is the place of an item in a line.
type queuePosition struct {
	queuePlace
	// Position counts from 1: none is ahead of the first.
	Position int               `json:"position"`
	Asked    resource.Quantity `json:"asked"`
}

// queueLine is a line as a whole.
type queueLine struct {
	queuePlace
	Waiting            int               `json:"waiting"`
	LongestWaitSeconds int64             `json:"longestWaitSeconds"`
	Asked              resource.Quantity `json:"asked"`
	Used               resource.Quantity `json:"used"`
	Limit              resource.Quantity `json:"limit"`
	Guaranteed         resource.Quantity `json:"guaranteed"`
	Borrowed           resource.Quantity `json:"borrowed"`
}

func placeOf(l scheduler.Line) queuePlace {
	return queuePlace{Namespace: cmp.Or(l.Namespace, "*"), Quota: l.Quota, Resource: string(l.Resource)}
}

func queueReportOf(line []inLine, lines []scheduler.LineState) queueReport {
	r := queueReport{Items: []queueItem{}, Lines: []queueLine{}}
	for _, x := range line {
		item := queueItem{
			APIVersion: x.object.GetAPIVersion(), Kind: x.object.GetKind(), Namespace: x.namespace, Name: x.object.GetName(), Scheduler: x.scheduler, Queue: x.queue,
			Since: x.since.UTC(), Reason: string(x.why.Reason), Message: x.why.Message,
		}
		for _, p := range x.positions {
			item.Positions = append(item.Positions, queuePosition{placeOf(p.Line), p.Position, p.Asked})
		}
		r.Items = append(r.Items, item)
	}
	for _, l := range lines {
		r.Lines = append(r.Lines, queueLine{placeOf(l.Line), l.Waiting, int64(l.Longest.Seconds()), l.Asked, l.Used, l.Limit, l.Guaranteed, l.Borrowed})
	}
	return r
}

// enter gives those who wait their positions, of which some may not be known, and drops the lines that none of them waits in.
func (q *quotaLines) enter(line []inLine, doubt bool) {
	shown := map[scheduler.Line]bool{}
	for i := range line {
		line[i].positions = q.positions[line[i].object.GetUID()]
		line[i].unknown = doubt && len(line[i].positions) == 0 && slices.Contains(quotaReasons, line[i].why.Reason)
		for _, p := range line[i].positions {
			shown[p.Line] = true
		}
	}
	q.drop(func(l scheduler.Line) bool { return !shown[l] })
}

// position is that in the line in which most are ahead: it starts when it has its turn in all of them.
func (x inLine) position() string {
	switch {
	case x.unknown:
		return "?"
	case len(x.positions) == 0:
		return "-"
	}
	last := slices.MaxFunc(x.positions, func(a, b scheduler.Position) int { return cmp.Compare(a.Position, b.Position) })
	return strconv.Itoa(last.Position)
}

func printLines(out io.Writer, lines []scheduler.LineState) error {
	w := printers.GetNewTabWriter(out)
	say(w, "NAMESPACE\tQUOTA\tRESOURCE\tWAITING\tASKED\tUSED\tGUARANTEED\tBORROWED\tLIMIT")
	for _, l := range lines {
		place := placeOf(l.Line)
		cells := []string{place.Namespace, place.Quota, place.Resource, strconv.Itoa(l.Waiting)}
		for _, amount := range []resource.Quantity{l.Asked, l.Used, l.Guaranteed, l.Borrowed, l.Limit} {
			cells = append(cells, scheduler.Amount(amount))
		}
		say(w, "%s", tableRow(cells))
	}
	return w.Flush()
}
