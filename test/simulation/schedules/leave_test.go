// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
)

// stats count what histories are hostile with.
type stats struct {
	histories, edits, behind, unheard, crashes, between, deletions int
}

func (s *stats) add(o stats) {
	s.histories += o.histories
	s.edits += o.edits
	s.behind += o.behind
	s.unheard += o.unheard
	s.crashes += o.crashes
	s.between += o.between
	s.deletions += o.deletions
}

func (s stats) String() string {
	return fmt.Sprintf("schedules: %d histories, %d edits, %d decisions from caches behind, %d events never heard, %d crashes (%d between two writes), %d deletions",
		s.histories, s.edits, s.behind, s.unheard, s.crashes, s.between, s.deletions)
}

// behind reports whether a cache of the operator is.
func (o *operator) behind() bool {
	if o.object == nil != o.w.gone || o.object != nil && o.object.ResourceVersion != o.w.object.ResourceVersion || len(o.runs) != len(o.w.runs) {
		return true
	}
	for name, r := range o.w.runs {
		if known := o.runs[name]; known == nil || known.ResourceVersion != r.ResourceVersion {
			return true
		}
	}
	return false
}

// hears reports whether news wakes the operator. A timer ends every half an hour.
func (o *operator) hears() bool {
	if !o.w.chance(o.deaf) {
		return true
	}
	o.w.stats.unheard++
	return false
}

// leave deletes the schedule, sometimes as one that waits for its runs to go. Nothing is started for it any more, whatever is due.
func (h *history) leave() {
	w := h.world
	w.stats.deletions++
	w.tell("the user deletes the schedule")
	if w.chance(50) {
		w.object.DeletionTimestamp, w.object.ResourceVersion = &metav1.Time{Time: w.now}, w.stamp()
		h.live()
	}
	w.tell("the schedule is gone")
	w.gone = true
	for name, r := range w.runs {
		if _, _, ours := (kubeflow.Schedules{}).ScheduleOf(r); ours {
			delete(w.runs, name)
		}
	}
	h.live()
	for _, o := range h.operators {
		if o.calls = 0; o.object != nil {
			w.judge.fail("the schedule is gone, and in a cache")
		}
		if o.enqueued = true; !o.reconcile().IsZero() || o.calls > 0 {
			w.judge.fail("the schedule is gone, and there is a timer until %s, after %d calls", o.timer, o.calls)
		}
	}
}

// live lets some of its times pass.
func (h *history) live() {
	for range 20 {
		h.now = h.now.Add(h.patience / 4).Add(time.Second)
		for _, o := range h.operators {
			if o.catchUp(100); o.due() {
				o.reconcile()
			}
		}
	}
}
