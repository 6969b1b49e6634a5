// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// waiting is an attempt's state in the lines of its requested resources.
type waiting struct {
	// places are the attempt's places in the lines.
	places []scheduler.Place
	// usage is the reported usage of the quotas of places.
	usage []scheduler.Usage
	// blocked is set if other attempts come first in one of the lines.
	blocked bool
	// ahead has the number of attempts ahead for each resource, by quota.
	ahead []string
	// holds report room that is kept for another attempt, or for this one.
	holds []string
	// retryAfter is the delay until the next check.
	retryAfter time.Duration
}

// retryAfterStart is the interval of checks while the ledger does not know all waiting attempts.
const retryAfterStart = 2 * time.Second

// waitIn returns the lines in which an attempt waits. It waits for a resource that is short, for one that others take first, and for one whose line it must
// keep. Until all waiting attempts are known, it waits in all lines. An attempt that may be next to start is checked again as soon as a reservation of
// another attempt shrinks, because no quota changes then. Other attempts are enqueued when attempts ahead of them leave the line.
func waitIn(o scheduler.Outstanding, found []finding) waiting {
	var w waiting
	leads, near, heads := true, true, false
	for _, f := range found {
		at := w.join(o, f)
		heads = heads || at.heads
		if f.instead {
			leads = leads || at.leads
		} else {
			leads, near = leads && at.leads, near && at.near
		}
	}
	w.retryAfter = again(o, leads, near || heads) // the head of one line blocks the others until it is checked while there is room
	return w
}

// standing is an attempt's state in the lines of one quota: leads means that it may be next to start in all of them, near that few attempts are ahead in
// each, and heads that it may be next in any.
type standing struct{ leads, near, heads bool }

// join adds the lines of one quota in which the attempt waits.
func (w *waiting) join(o scheduler.Outstanding, f finding) standing {
	at := standing{leads: len(f.asks) > 0 || !f.instead, near: true}
	var ahead []string
	for _, k := range f.asks {
		line := o.Ahead[k.Line]
		blocked := line.Blocks(k.Asked, k.Left)
		if !k.short() && !blocked && !line.Own && !o.Expected {
			continue
		}
		w.places, w.usage = append(w.places, k.Place), append(w.usage, k.usage)
		w.blocked = w.blocked || blocked && !f.instead
		at.leads, at.near, at.heads = at.leads && line.Leads(k.Asked, k.Left), at.near && line.Count < few, at.heads || line.Leads(k.Asked, k.Left)
		if n := line.All(); n > 0 && (k.short() || blocked) {
			ahead = append(ahead, fmt.Sprintf("%s for %s", about(n), k.Resource))
		}
		w.hold(o, line, k)
	}
	if len(ahead) > 0 {
		w.ahead = append(w.ahead, fmt.Sprintf("%s (%s)", strings.Join(ahead, ", "), f.quota))
	}
	return at
}

// again returns the delay until the next check. leads is set if the attempt may be next to start in all of its lines. near is set if few attempts are ahead
// in all lines, or it may be next in one.
func again(o scheduler.Outstanding, leads, near bool) time.Duration {
	switch {
	case leads && o.Expected:
		return retryAfterStart
	case leads && o.Recheck > 0:
		return o.Recheck
	case o.HoldEnds > 0: // others may start then
		return min(retry, o.HoldEnds)
	case leads || near:
		return retry
	case o.AgesIn > 0:
		return min(retryBehind, o.AgesIn)
	}
	return retryBehind
}

// hold reports the room of a line that is kept for an attempt. Names of other namespaces are not shown.
func (w *waiting) hold(o scheduler.Outstanding, line scheduler.Ahead, k ask) {
	switch {
	case line.Own && k.short():
		text := fmt.Sprintf("what becomes free until %s is kept for it", clock(line.Hold.Until))
		if users := usersOf(o.Started, k.Line); users != "" {
			text += "; most of the rest is used by " + users
		}
		if !slices.Contains(w.holds, text) {
			w.holds = append(w.holds, text)
		}
	case line.HeldBack(k.Asked, k.Left):
		owner := "an application of another namespace"
		if line.Hold.App.Namespace == k.Namespace {
			owner = line.Hold.App.Name
		}
		w.holds = append(w.holds, fmt.Sprintf("%s of %s is kept until %s for %s, which has waited longer", k.Resource, k.Quota, clock(line.Hold.Until), owner))
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04 MST") }

// usersOf names the applications that were started with the most of a line's resource. A line that namespaces share has no names.
func usersOf(started []scheduler.Started, l scheduler.Line) string {
	if l.Namespace == "" {
		return ""
	}
	name := corev1.ResourceName(strings.TrimPrefix(strings.TrimPrefix(string(l.Resource), corev1.DefaultResourceRequestsPrefix), "limits."))
	amount := func(s scheduler.Started) resource.Quantity {
		return requests(roles(s.PodSets, "", 1, int64(s.PodSets.Initial)))[name]
	}
	users := slices.DeleteFunc(slices.Clone(started), func(s scheduler.Started) bool { q := amount(s); return q.IsZero() })
	slices.SortFunc(users, func(x, y scheduler.Started) int {
		more := amount(y)
		return cmp.Or(more.Cmp(amount(x)), cmp.Compare(x.App.Name, y.App.Name))
	})
	var names []string
	for _, u := range users[:min(len(users), mostUsers)] {
		names = append(names, u.App.Name)
	}
	if rest := len(users) - mostUsers; rest > 0 {
		names = append(names, about(rest)+" more")
	}
	return strings.Join(names, ", ")
}

// mostUsers bounds the named users of a quota.
const mostUsers = 3

func (w waiting) answer(r scheduler.Reason, message string) scheduler.Admission {
	return scheduler.Admission{Verdict: scheduler.Wait, Reason: r, Message: message, RetryAfter: w.retryAfter, Lines: w.places, Usage: w.usage}
}

// about rounds a count, so that a start in a long line does not change the statuses of all waiting attempts.
func about(n int) string {
	for _, step := range []int{1000, 100, 10} {
		if n >= step {
			return "at least " + strconv.Itoa(step)
		}
	}
	return strconv.Itoa(n)
}
