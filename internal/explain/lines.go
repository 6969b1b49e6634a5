// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Line is a line of a quota, with the objects ahead and the objects that use the resource.
type Line struct {
	// Namespace is the quota's namespace; "*" for a total over all namespaces.
	Namespace string `json:"namespace"`
	Quota     string `json:"quota"`
	Resource  string `json:"resource"`
	// Position counts from 1 up to Waiting.
	Position int               `json:"position"`
	Waiting  int               `json:"waiting"`
	Asked    resource.Quantity `json:"asked"`
	Used     resource.Quantity `json:"used"`
	Limit    resource.Quantity `json:"limit"`
	// Ahead names the objects that start next, at most MostNamed.
	Ahead []string `json:"ahead,omitempty"`
	// Holders names the objects with the largest usage, at most MostNamed; none for a line of all namespaces.
	Holders []Holder `json:"holders,omitempty"`
}

// Holder is an object whose pods use the resource.
type Holder struct {
	Name string            `json:"name"`
	Uses resource.Quantity `json:"uses"`
}

// MostNamed bounds the names in Ahead and in Holders.
const MostNamed = 5

// printLines prints the lines.
func printLines(p *printer, lines []Line) {
	for _, l := range lines {
		quota := l.Quota
		if l.Namespace == "*" {
			quota += " (of all namespaces)"
		}
		p.field("Line", "%s: %s, position %d of %d, asked %s, used %s of %s", quota, l.Resource, l.Position, l.Waiting,
			scheduler.Amount(l.Asked), scheduler.Amount(l.Used), scheduler.Amount(l.Limit))
		if more := l.Position - 1 - len(l.Ahead); len(l.Ahead) > 0 {
			p.field("Line", "  ahead: %s", named(l.Ahead, more))
		}
		var holders []string
		for _, h := range l.Holders {
			holders = append(holders, fmt.Sprintf("%s (%s)", h.Name, scheduler.Amount(h.Uses)))
		}
		if len(holders) > 0 {
			p.field("Line", "  used by: %s", strings.Join(holders, ", "))
		}
	}
}

func named(names []string, more int) string {
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
