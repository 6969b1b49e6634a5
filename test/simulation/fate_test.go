// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// fate is what becomes of each driver of a calm world: what became of the last one of a history, as its status tells. Whether that is true is judged
// where statuses are.
type fate struct {
	class  lifecycle.FailureClass
	reason lifecycle.Reason
	code   *int32
	// removed is set when the pod is gone, and no status tells that it was released.
	removed bool
	// contested is set when what belongs to the driver may be missing: two operators believed to lead, or it was gone before a status told of it.
	contested bool
	// partly is set when an earlier retention has released something, and the last one says what of the rest is.
	partly bool
	// earlier is set when the driver was found after an edit that was taken back since.
	earlier bool
}

// fateOf is what a record tells of the last attempt. What an attempt came to that is none any more does not matter.
func fateOf(r lifecycle.Record) *fate {
	f := &fate{}
	if r.State != lifecycle.Failed {
		return f
	}
	f.reason = r.Cause.Reason
	if a := r.Current(); a != nil {
		f.class, f.code, f.reason = a.Class, a.ExitCode, cmp.Or(a.Cause.Reason, f.reason)
	}
	return f
}

// fateOf is also what nobody tells: that the pod is gone.
func (h *history) fateOf(r lifecycle.Record, drivers []*run) *fate {
	f := fateOf(r)
	f.contested = h.stats.TwoLeaders > 0
	if last := lastOf(drivers, "", r.SubmissionID); last != nil && r.State.Final() && r.Current() != nil {
		f.removed = last.gone && !r.Released.DriverPod
		f.contested = f.contested || last.unheard
	}
	return f
}

// lastOf is the last driver of a submission; nil for none.
func lastOf(drivers []*run, app types.UID, submission string) (last *run) {
	for _, r := range drivers {
		if r.submission == submission && (app == "" || r.app == app) {
			last = r
		}
	}
	return last
}

// scripted reports whether the fate is what happened to a driver, and not what the spec says.
func (f *fate) scripted() bool { return f.reason != "" && f.reason != lifecycle.ReasonInvalidSpec }

// late reports whether a driver was stopped because it took too long.
func (f *fate) late() bool {
	return f != nil && slices.Contains([]lifecycle.Reason{
		lifecycle.ReasonSchedulingTimeout, lifecycle.ReasonReadyTimeout, lifecycle.ReasonStartTimeout,
		lifecycle.ReasonExecutorsTimeout, lifecycle.ReasonNotReadyTimeout, lifecycle.ReasonRunTimeout,
	}, f.reason)
}

// stopped reports whether a driver was stopped that may have ended by itself before.
func (f *fate) stopped() bool { return f.late() || f.reason == lifecycle.ReasonDriverRestarted }

// hangs reports whether a driver of this fate comes no further: it took too long.
func (f *fate) hangs(p *corev1.Pod) bool {
	if f == nil || !isDriver(p) {
		return false
	}
	switch f.reason {
	case lifecycle.ReasonSchedulingTimeout:
		return p.Spec.NodeName == ""
	case lifecycle.ReasonReadyTimeout, lifecycle.ReasonStartTimeout:
		return p.Spec.NodeName != "" && !running(p)
	case lifecycle.ReasonExecutorsTimeout, lifecycle.ReasonNotReadyTimeout, lifecycle.ReasonRunTimeout:
		return running(p) && alive(p)
	}
	return false
}

// deaf reports whether a pod never becomes ready.
func (f *fate) deaf() bool { return f != nil && f.reason == lifecycle.ReasonNotReadyTimeout }

// lonely reports whether a driver makes no executors.
func (f *fate) lonely() bool { return f != nil && f.reason == lifecycle.ReasonExecutorsTimeout }

// refuses is why the API server does not take a driver; nil if it does.
func (f *fate) refuses(verb string, i id) error {
	if f == nil || verb != "create" || i.kind != kindPod {
		return nil
	}
	switch f.reason {
	case lifecycle.ReasonAdmissionRefused, lifecycle.ReasonSubmissionRefused:
		return refusal(i)
	}
	return nil
}

// ends lets a driver end.
func (f *fate) ends(h *history, p *corev1.Pod) {
	switch {
	case f.reason == lifecycle.ReasonDriverNotFound:
		h.vanish(p)
	case f.reason == lifecycle.ReasonDriverRestarted:
		h.restart(p)
	case f.class == lifecycle.OutOfMemory:
		h.finish(p, 137, "OOMKilled", "")
	case f.class == lifecycle.ApplicationExit:
		h.finish(p, ptr.Deref(f.code, 1), "Error", "Exception in thread main")
	case f.class == lifecycle.Infrastructure:
		h.evict(p)
	default:
		h.finish(p, 0, "Completed", "")
	}
}

// vanish lets a pod go without a word.
func (h *history) vanish(p *corev1.Pod) {
	h.tell("kubelet", "pod %s is gone", p.Name)
	h.invariants.gone(p)
	h.store.remove(idOf(p))
}

// stands are the objects from which was decided what later edits do not take back: that the application has ended, and what was deleted of it then.
type stands struct {
	ended, released client.Object
	// refused is what the API server refused last.
	refused client.Object
	// found is the last submission whose driver was found to be of an earlier spec.
	found string
}

// learn learns from a status that was written.
func (s *stands) learn(was, is lifecycle.Record, decided client.Object) {
	if is.State.Final() && !was.State.Final() {
		s.ended, s.released = decided, nil
	}
	if was.Current() == nil && is.Current() != nil && is.Generation < decided.GetGeneration() {
		s.found = is.SubmissionID
	}
	if is.State == lifecycle.SubmissionFailed && (was.State != is.State || was.Attempt != is.Attempt) {
		s.refused = decided
	}
	if is.Released != was.Released && is.Released != (lifecycle.Released{}) {
		s.released = decided
	}
}
