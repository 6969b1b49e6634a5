// SPDX-License-Identifier: Apache-2.0

package coscheduling

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
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

// A nudge is a PATCH request. However many groups wait, there are so many nudges: each wakes the pods of all groups.
func TestNudgesAreBounded(t *testing.T) {
	for ahead, want := range map[int]struct{ nudges, looks int }{0: {40, 40}, scheduler.Front - 1: {40, 40}, scheduler.Front: {0, 2}} {
		if nudges, looks := nudgesOf(t, ahead); nudges != want.nudges || looks != want.looks {
			t.Errorf("with %d ahead it is nudged %d times and observed %d times in ten minutes, want %+v", ahead, nudges, looks, want)
		}
	}
}
