// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"io"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// queueReport is the output of the command queue for programs.
type queueReport struct {
	// Items are the waiting objects, the longest wait first.
	Items []queueItem `json:"items"`
	// Lines are the lines of quotas with waiting items.
	Lines []queueLine `json:"lines"`
	// Queues are the queues of schedulers with waiting items. They are separate from Lines because items have no position in them.
	Queues []queueLine `json:"queues"`
}

// queueItem is a waiting application or cluster.
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
	// Positions are the item's positions in the lines of quotas.
	Positions []queuePosition `json:"positions,omitempty"`
}

// queuePlace identifies a line.
type queuePlace struct {
	// Namespace is the namespace of the quota; "*" for a queue, and for a total of the quotas of all namespaces.
	Namespace string `json:"namespace"`
	Quota     string `json:"quota"`
	Resource  string `json:"resource"`
}

// queuePosition is the position of an item in a line.
type queuePosition struct {
	queuePlace
	// Position counts from 1, the head of the line.
	Position int               `json:"position"`
	Asked    resource.Quantity `json:"asked"`
}

// queueLine has the totals of a line or a queue.
type queueLine struct {
	queuePlace
	Waiting            int               `json:"waiting"`
	LongestWaitSeconds int64             `json:"longestWaitSeconds"`
	Asked              resource.Quantity `json:"asked"`
	Used               resource.Quantity `json:"used"`
	// Limit is omitted for a queue without a limit.
	Limit      *resource.Quantity `json:"limit,omitempty"`
	Guaranteed resource.Quantity  `json:"guaranteed"`
	Borrowed   resource.Quantity  `json:"borrowed"`
}

func placeOf(l scheduler.Line) queuePlace {
	return queuePlace{Namespace: cmp.Or(l.Namespace, "*"), Quota: l.Quota, Resource: string(l.Resource)}
}

func queueReportOf(found inspect.Queued) queueReport {
	r := queueReport{Items: []queueItem{}, Lines: queueLinesOf(found.Lines), Queues: queueLinesOf(found.Queues)}
	for _, x := range found.Waiting {
		item := queueItem{
			APIVersion: x.Object.GetAPIVersion(), Kind: x.Object.GetKind(), Namespace: x.Namespace, Name: x.Object.GetName(), Scheduler: x.Scheduler, Queue: x.Queue,
			Since: x.Since.UTC(), Reason: string(x.Why.Reason), Message: x.Why.Message,
		}
		for _, p := range x.Positions {
			item.Positions = append(item.Positions, queuePosition{placeOf(p.Line), p.Position, p.Asked})
		}
		r.Items = append(r.Items, item)
	}
	return r
}

func queueLinesOf(lines []scheduler.LineState) []queueLine {
	out := []queueLine{}
	for _, l := range lines {
		limit := &l.Limit
		if l.Unlimited {
			limit = nil
		}
		out = append(out, queueLine{placeOf(l.Line), l.Waiting, int64(l.Longest.Seconds()), l.Asked, l.Used, limit, l.Guaranteed, l.Borrowed})
	}
	return out
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
		if l.Unlimited {
			cells[len(cells)-1] = "-"
		}
		say(w, "%s", tableRow(cells))
	}
	return w.Flush()
}
