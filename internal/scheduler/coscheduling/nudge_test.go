// SPDX-License-Identifier: Apache-2.0

package coscheduling

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// nudgesOf counts the nudges of one group in ten minutes, in which room is made all the time.
func nudgesOf(t *testing.T, ahead int) (nudges, looks int) {
	t.Helper()
	a, s := attempt(""), scheduler.Snapshot{}
	nudged := ""
	for at := time.Duration(0); at < 10*time.Minute; looks++ {
		f := facts(at, false, 0)
		f.RoomMadeAt, f.Ahead = f.Now, ahead
		o, err := New("").Observe(a, s, f)
		if err != nil || o.RetryAfter <= 0 {
			t.Fatalf("%+v, %v", o, err)
		}
		s = scheduler.Snapshot{groupOf(a).Read(): {Object: o.Apply[0].Object}}
		if now := annotation(o.Apply[0]); now != nudged {
			nudged = now
			nudges++
		}
		at += o.RetryAfter
	}
	return nudges, looks
}

func annotation(group *unstructured.Unstructured) string {
	return group.GetAnnotations()[annotationNudged]
}

// A nudge is a PATCH request. However many groups wait, there are so many nudges, and those that came first get most of them.
func TestNudgesAreBounded(t *testing.T) {
	total, looks, last := 0, 0, 0
	for ahead := range 2000 {
		n, l := nudgesOf(t, ahead)
		total, looks = total+n, looks+l
		if n > 0 {
			last = ahead
		}
	}
	if perSecond := float64(total) / 600; perSecond > 8 || perSecond < 2 {
		t.Errorf("%.1f PATCH requests in a second", perSecond)
	}
	if last >= 1000 {
		t.Errorf("the group at place %d is nudged: the number is not bounded", last)
	}
	if mean := float64(looks) / 2000; mean > 4 {
		t.Errorf("each is observed %.0f times in ten minutes", mean)
	}
	if n, _ := nudgesOf(t, 0); n != 40 {
		t.Errorf("the first is nudged %d times, want once in 15 s", n)
	}
}

// A group far behind is left to the scheduler's own time, and nudged when it is observed because it came to the front.
func TestNudgeAtTheFront(t *testing.T) {
	f := facts(0, false, 0)
	f.RoomMadeAt, f.Ahead = schedulertest.Start, 5000
	o, err := New("").Observe(attempt(""), nil, f)
	if err != nil || annotation(o.Apply[0]) != "" || o.RetryAfter != flush {
		t.Errorf("%+v, %v", o, err)
	}
	f.Ahead = scheduler.Front - 1
	if o, err = New("").Observe(attempt(""), nil, f); err != nil || annotation(o.Apply[0]) == "" {
		t.Errorf("at the front: %+v, %v", o, err)
	}
}
