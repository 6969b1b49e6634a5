// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// waiting is how an attempt stands in the lines of the resources that it asks for.
type waiting struct {
	// places are in the lines where it waits.
	places []scheduler.Place
	// usage is what the quotas of these lines report.
	usage []scheduler.Usage
	// blocked is whether others come first in one of them.
	blocked bool
	// ahead says for each quota how many are ahead for which resource.
	ahead []string
	// retryAfter is when to ask again.
	retryAfter time.Duration
}

// retryAfterStart is how often an attempt asks that might start if it were known who else waits.
const retryAfterStart = 2 * time.Second

// waitIn finds where an attempt waits: in the lines of what it is short of, of what others take first, and in those that it keeps; in
// all if it is not known yet who else waits.
// An attempt that may be the next to start is checked again as soon as less is reserved for others: no quota changes by that. The others are
// enqueued when those ahead of them leave the line.
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
	w.retryAfter = again(o, leads, near || heads) // the first of one line is in the way of others until it is asked when there is room
	return w
}

// standing is how an attempt stands in the lines of one quota: whether it leads in all of them, is near the front of all, and is the first of any.
type standing struct{ leads, near, heads bool }

// join finds the lines of a quota in which the attempt waits.
func (w *waiting) join(o scheduler.Outstanding, f finding) standing {
	at := standing{leads: len(f.asks) > 0 || !f.instead, near: true}
	var ahead []string
	for _, k := range f.asks {
		line := o.Ahead[k.Line]
		blocked := line.Blocks(k.left)
		if !k.short() && !blocked && !line.Kept && !o.Expected {
			continue
		}
		w.places, w.usage = append(w.places, k.Place), append(w.usage, k.usage)
		w.blocked = w.blocked || blocked && !f.instead
		at.leads, at.near, at.heads = at.leads && line.Leads(k.Asked), at.near && line.Count < few, at.heads || line.Leads(k.Asked)
		if line.Count > 0 && (k.short() || blocked) {
			ahead = append(ahead, fmt.Sprintf("%s for %s", about(line.Count), k.Resource))
		}
	}
	if len(ahead) > 0 {
		w.ahead = append(w.ahead, fmt.Sprintf("%s (%s)", strings.Join(ahead, ", "), f.quota))
	}
	return at
}

// again returns the delay until the next check. leads: no attempt is ahead in any line. near: few attempts are ahead, or none in one
// of the lines.
func again(o scheduler.Outstanding, leads, near bool) time.Duration {
	switch {
	case leads && o.Expected:
		return retryAfterStart
	case leads && o.Recheck > 0:
		return o.Recheck
	case leads || near:
		return retry
	case o.AgesIn > 0:
		return min(retryBehind, o.AgesIn)
	}
	return retryBehind
}

func (w waiting) answer(r scheduler.Reason, message string) scheduler.Admission {
	return scheduler.Admission{Verdict: scheduler.Wait, Reason: r, Message: message, RetryAfter: w.retryAfter, Lines: w.places, Usage: w.usage}
}

// about is a number that does not change with each start of one in a long line: the statuses of all who wait would be written
// again.
func about(n int) string {
	for _, step := range []int{1000, 100, 10} {
		if n >= step {
			return "at least " + strconv.Itoa(step)
		}
	}
	return strconv.Itoa(n)
}
