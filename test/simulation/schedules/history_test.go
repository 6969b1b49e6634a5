// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// history is one story: a schedule, its operators and its users.
type history struct {
	*world
	operators []*operator
	// patience is how long a step waits at most.
	patience time.Duration
	troubles bool
}

// begins are days shortly before clocks change.
var begins = []string{"2026-03-27T22:10:00Z", "2026-10-23T21:47:13Z", "2026-03-07T03:00:00Z", "2026-10-31T20:00:59Z", "2026-10-02T12:00:00Z", "2026-04-03T00:00:01Z", "2027-12-30T10:00:00Z", "2028-02-27T23:59:59Z"}

func newHistory(seed uint64, broken mutation) *history {
	w := &world{stats: stats{histories: 1}, rand: rand.New(rand.NewPCG(seed, 1)), runs: map[string]*run{}, drivers: map[string]bool{}} //nolint:gosec // a seed must tell the same story
	w.judge = &judge{w: w, log: map[string]int{}, untold: map[string]bool{}, backfilled: map[int64]bool{}}
	w.now, _ = time.Parse(time.RFC3339, pick(w, begins...))
	h := &history{world: w, patience: pick(w, time.Hour, 26*time.Hour, 40*24*time.Hour), troubles: w.chance(15)}
	w.now = w.now.Add(time.Duration(w.rand.IntN(int(h.patience))))
	name := pick(w, "nightly", strings.Repeat("a-name-that-is-long-", 3)+"x", "s")
	w.object = &timetable{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: "schedule", Generation: 1, ResourceVersion: w.stamp(), CreationTimestamp: metav1.NewTime(w.now.Truncate(time.Second)),
		Annotations: map[string]string{}, Labels: map[string]string{"team": "x"},
	}}
	w.object.Spec.Template.Arguments = []string{"$(SCHEDULED_TIME)", "$(DATA_INTERVAL_START_DATE)"}
	w.object.Spec.SuccessfulRunHistoryLimit, w.object.Spec.FailedRunHistoryLimit = ptr.To(int32(w.rand.IntN(4))), ptr.To(int32(w.rand.IntN(3)))
	h.edit()
	for _, name := range []string{"one", "two"}[:1+w.rand.IntN(4)/3] {
		h.operators = append(h.operators, &operator{w: w, name: name, mutation: broken, precision: pick(w, schedule.Precisions()...)})
	}
	if len(h.operators) == 2 {
		h.operators[0].rival, h.operators[1].precision = h.operators[1], h.operators[0].precision
	}
	dies, deaf := pick(w, 0, 2, 8), pick(w, 0, 0, 20)
	for _, o := range h.operators {
		o.start()
		o.dies, o.deaf = dies, deaf
	}
	return h
}

// edit changes what the user wants.
func (h *history) edit() {
	w, spec := h.world, &h.object.Spec
	switch w.rand.IntN(8) {
	case 0:
		spec.Suspend = ptr.To(!ptr.Deref(spec.Suspend, false))
	case 1:
		spec.ConcurrencyPolicy = pick(w, "", v1beta2.ConcurrencyAllow, v1beta2.ConcurrencyForbid, v1beta2.ConcurrencyReplace, "Sometimes")
	case 2:
		spec.MissedRunPolicy = pick(w, "", v1beta2.MissedRunLatest, v1beta2.MissedRunAll, v1beta2.MissedRunSkip)
	case 3:
		spec.StartingDeadlineSeconds = pick(w, nil, ptr.To(int64(0)), ptr.To(int64(90)), ptr.To(int64(7200)))
	case 4:
		spec.JitterSeconds = pick(w, nil, ptr.To(int64(59)), ptr.To(int64(1800)))
	case 5:
		if spec.Backfill = nil; !h.troubles && w.chance(70) {
			from := w.now.Add(-time.Duration(w.rand.IntN(int(4 * 24 * time.Hour)))).Truncate(time.Second)
			spec.Backfill = &v1beta2.ScheduleBackfill{From: metav1.NewTime(from), To: metav1.NewTime(from.Add(time.Duration(1+w.rand.IntN(30)) * time.Hour)), MaxActive: pick(w, nil, ptr.To(int32(3)))}
		}
		w.judge.backfills++
	default:
		short := []string{"*/10 * * * *", "30 * * * *", "@every 37m", "@hourly"}
		long := []string{"30 2 * * *", "@daily", "@every 7h", "15 1,2 * * *", "0 */2 * * *", "0 2 * * sun"}
		if h.patience > 27*time.Hour {
			short = []string{"@monthly", "0 3 1,15 * *", "@weekly"}
		}
		spec.Schedule, spec.TimeZone = pick(w, append(short, long...)...), pick(w, "", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
		if w.chance(5) {
			spec.Schedule = pick(w, "nonsense", "0 0 30 2 *", "TZ=Atlantis @daily")
		}
	}
	if spec.Schedule == "" {
		spec.Schedule = "0 */6 * * *"
	}
	w.stats.edits++
	h.object.Generation++
	h.object.ResourceVersion = w.stamp()
	w.judge.edited()
	w.tell("the user wants %q %q suspend %v %q %q deadline %v jitter %v backfill %v", spec.Schedule, spec.TimeZone, ptr.Deref(spec.Suspend, false),
		spec.ConcurrencyPolicy, spec.MissedRunPolicy, ptr.Deref(spec.StartingDeadlineSeconds, -1), ptr.Deref(spec.JitterSeconds, 0), spec.Backfill)
}

// step is something that happens.
func (h *history) step() {
	w := h.world
	switch n := w.rand.IntN(100); {
	case n < 8:
		for range 1 + w.rand.IntN(2) {
			h.edit()
		}
	case n < 11:
		w.object.Annotations[v1beta2.AnnotationTriggerAt] = pick(w, w.now.Format(time.RFC3339), w.now.Truncate(time.Hour).Format(time.RFC3339), w.now.Add(time.Hour).Format(time.RFC3339), "now")
		w.object.ResourceVersion, w.judge.owes = w.stamp(), false
		w.tell("the user triggers a run at %s", w.object.Annotations[v1beta2.AnnotationTriggerAt])
	case n < 14:
		h.meddle()
	case n < 35:
		h.progress(50)
	case n < 38:
		w.now = w.now.Add(time.Duration(w.rand.IntN(int(4 * h.patience)))) // nobody works for a while
	case n < 60:
		w.now = w.now.Add(time.Duration(w.rand.IntN(int(10 * time.Second))))
	default:
		h.wait()
	}
	if h.troubles && w.chance(10) {
		w.judge.refusing = !w.judge.refusing
	}
	for _, o := range h.operators {
		o.catchUp(pick(w, 30, 90, 100))
		if o.due() {
			o.reconcile()
		}
	}
}

// wait waits until an operator has something to do.
func (h *history) wait() {
	next := h.now.Add(h.patience)
	for _, o := range h.operators {
		if o.timer.After(h.now) && o.timer.Before(next) {
			next = o.timer
		}
	}
	h.now = next
}

// meddle deletes a run, or takes the name of the next.
func (h *history) meddle() {
	w := h.world
	names := slices.Sorted(maps.Keys(w.runs))
	if len(names) > 0 && w.chance(70) {
		r := w.runs[pick(w, names...)]
		w.tell("the user deletes %s", r.Name)
		if _, _, ours := (kubeflow.Schedules{}).ScheduleOf(r); ours {
			w.judge.gone(r)
		}
		w.remove(r)
		return
	}
	d := kubeflow.DesiredSchedule(w.object)
	times, err := d.Timetable(time.UTC)
	if err != nil || !h.troubles {
		return
	}
	name := schedule.Name(w.object.Name, times.Next(w.now), h.operators[0].precision)
	if w.runs[name] == nil {
		w.tell("somebody else creates %s", name)
		w.uids++
		w.runs[name] = &run{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "other", ResourceVersion: w.stamp()}}
	}
}

// progress lets each run go on with a chance.
func (h *history) progress(percent int) {
	w := h.world
	for _, name := range slices.Sorted(maps.Keys(w.runs)) {
		r := w.runs[name]
		if !w.chance(percent) {
			continue
		}
		if !r.DeletionTimestamp.IsZero() {
			delete(w.runs, name)
			w.stamp()
			continue
		}
		state := pick(w, v1beta2.ApplicationStateSubmitted, v1beta2.ApplicationStateRunning, v1beta2.ApplicationStatePendingRerun, v1beta2.ApplicationStateCompleted, v1beta2.ApplicationStateFailed)
		if kubeflow.RunOf(r).Phase != schedule.Active {
			continue
		}
		r.Status.AppState.State, r.ResourceVersion = state, w.stamp()
		if kubeflow.RunOf(r).Phase != schedule.Active {
			delete(w.drivers, name)
		}
	}
	for name := range w.drivers {
		if w.runs[name] == nil && w.chance(percent) {
			delete(w.drivers, name)
		}
	}
}

// settle lets everything come to rest: the schedule is right, nobody dies, runs finish, and everybody hears of everything.
func (h *history) settle() {
	w, spec := h.world, &h.object.Spec
	w.judge.refusing = false
	if spec.ConcurrencyPolicy == "Sometimes" {
		spec.ConcurrencyPolicy = v1beta2.ConcurrencyAllow
	}
	spec.Suspend = nil
	if _, err := kubeflow.DesiredSchedule(w.object).Timetable(time.UTC); err != nil {
		spec.Schedule = "@daily"
	}
	if errs := kubeflow.DesiredSchedule(w.object).Validate(time.UTC); len(errs) > 0 {
		spec.Backfill = nil // of more than a thousand times
	}
	w.object.ResourceVersion = w.stamp()
	w.object.Generation++
	w.judge.edited()
	for name, r := range w.runs {
		if _, _, ours := (kubeflow.Schedules{}).ScheduleOf(r); !ours {
			delete(w.runs, name)
		}
	}
	w.tell("everything comes to rest")
	for _, o := range h.operators {
		o.dies, o.deaf, o.rival = 0, 0, nil
		o.enqueued = true // as after a resync
	}
	for range 6000 {
		if !h.round() {
			return
		}
	}
	w.judge.fail("it does not come to rest")
}

// round is whether something happens without waiting for a time of the schedule.
func (h *history) round() bool {
	busy := false
	h.progress(100)
	for name, r := range h.runs {
		if kubeflow.RunOf(r).Phase == schedule.Active && r.DeletionTimestamp.IsZero() {
			r.Status.AppState.State, r.ResourceVersion = v1beta2.ApplicationStateCompleted, h.stamp()
			delete(h.drivers, name)
		}
	}
	for _, o := range h.operators {
		o.catchUp(100)
		if o.due() {
			o.reconcile()
			busy = true
		}
	}
	if !busy {
		next := kubeflow.ScheduleRecord(&h.object.Status).NextRun
		soon := h.now.Add(40 * time.Second)
		if next.Before(soon) {
			soon = next.Add(-time.Second)
		}
		for _, o := range h.operators {
			if o.timer.Before(soon) && o.timer.After(h.now) {
				h.now, busy = o.timer, true
			}
		}
	}
	return busy
}

// examine judges the end.
func (h *history) examine() {
	w, j := h.world, h.judge
	rec, d := kubeflow.ScheduleRecord(&w.object.Status), kubeflow.DesiredSchedule(w.object)
	times, err := d.Timetable(time.UTC)
	if err != nil || rec.State != schedule.Scheduled {
		j.fail("it has not healed: %v %s", err, rec.Error)
		return
	}
	if next := times.Next(base(rec)); !next.Add(d.Delay()).After(w.now) {
		j.fail("the run of %s is forgotten", next)
	}
	if !rec.NextRun.After(w.now) {
		j.fail("the next run is in the past: %s", rec.NextRun)
	}
	kept, backfilled, ahead := map[schedule.Phase]int{}, map[schedule.Phase]int{}, 0
	for _, r := range w.runs {
		switch is := kubeflow.RunOf(r); {
		case is.Tick.After(base(rec)): // the schedule has not come to its time yet, because of jitter
			ahead++
		case !is.Deleting && is.Reason == schedule.ReasonBackfill:
			backfilled[is.Phase]++
		case !is.Deleting:
			kept[is.Phase]++
		}
	}
	for _, n := range []map[schedule.Phase]int{kept, backfilled} {
		if n[schedule.Active] > 0 || n[schedule.Succeeded] > int(d.KeepSucceeded) || n[schedule.Failed] > int(d.KeepFailed) {
			j.fail("too many runs are kept: %v, and of backfills %v", kept, backfilled)
		}
	}
	if ahead > 0 {
		return
	}
	if len(rec.Active) > 0 || len(rec.Succeeded) != kept[schedule.Succeeded]+backfilled[schedule.Succeeded] || len(rec.Failed) != kept[schedule.Failed]+backfilled[schedule.Failed] {
		j.fail("the status does not say which runs there are: %v %v %v, %v", rec.Active, rec.Succeeded, rec.Failed, kept)
	}
	for _, o := range h.operators { // a look without news costs no call
		o.calls = 0
		o.reconcile()
		if o.calls > 0 {
			j.fail("%d calls, and nothing to do", o.calls)
		}
	}
	h.keepsTime(times, d)
}

// keepsTime is whether the next runs are started in time, by nothing but timers.
func (h *history) keepsTime(times *schedule.Timetable, d schedule.Desired) {
	for range 2 {
		tick := times.Next(base(kubeflow.ScheduleRecord(&h.object.Status)))
		due := tick.Add(d.Delay())
		if early := due.Add(-20 * time.Minute); early.After(h.now) {
			h.now = early // a timer ends every half an hour
			for h.round() {
			}
		}
		for h.now.Before(due) {
			if h.wait(); h.now.Before(due) {
				h.round()
			}
		}
		if late := h.now.Sub(due); late > time.Second {
			h.judge.fail("the run of %s is due, and its timer ends %s later", tick, late)
		}
		for range 200 {
			if !h.round() {
				break
			}
		}
		if base(kubeflow.ScheduleRecord(&h.object.Status)).Before(tick) {
			h.judge.fail("the run of %s was not started", tick)
			return
		}
	}
}

// play tells a history and returns what was wrong.
func (h *history) play() (verdict string) {
	defer func() {
		if r := recover(); r != nil {
			verdict = fmt.Sprint("panic: ", r)
		}
	}()
	for range 20 {
		if h.step(); h.judge.verdict != "" {
			return h.judge.verdict
		}
	}
	if h.settle(); h.judge.verdict == "" {
		if h.examine(); h.chance(30) && h.judge.verdict == "" {
			h.leave()
		}
	}
	return h.judge.verdict
}
