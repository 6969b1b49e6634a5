// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func isServer(a *Application) {
	a.Endures, a.Drain, a.IdleTimeout, a.Policies.Restart = true, 10*time.Minute, 30*time.Minute, always
}

func readyDriver() Driver {
	d := driver(Current, DriverRunning)
	d.Ready, d.PodIP = true, "10.0.0.1"
	return d
}

// used is a record of a server that became ready a while ago.
func usedServer() Record {
	r := ran(Running)
	r.Idle.Since = later.Add(-time.Hour)
	return r
}

func TestWithWake(t *testing.T) {
	at := func(minutes int) time.Time { return later.Add(time.Duration(minutes) * time.Minute) }
	text := func(minutes int) string { return at(minutes).Format(time.RFC3339) }
	cases := map[string]struct {
		reason, request string
		want            time.Time
		ignored         string
		wakes           bool
	}{
		"None":      {reason: "nobody asks"},
		"Later":     {reason: "somebody does", request: text(0), want: at(0), wakes: true},
		"Skew":      {reason: "clocks differ", request: text(5), want: at(5), wakes: true},
		"Same":      {reason: "an earlier one of the same second would have kept it", request: text(-1), want: at(-1), wakes: true},
		"Earlier":   {reason: "it was stopped since", request: text(-2), want: at(-2)},
		"Future":    {reason: "it is told", request: text(6), ignored: text(6)},
		"Malformed": {reason: "it is told", request: "now", ignored: "now"},
		"Zone":      {reason: "the same moment elsewhere", request: later.In(time.FixedZone("", 3600)).Format(time.RFC3339), want: at(0), wakes: true},
		"Precise":   {reason: "some clients write fractions", request: at(0).Add(time.Millisecond).Format(time.RFC3339Nano), want: at(0).Add(time.Millisecond), wakes: true},
	}
	rec := ran(Suspended)
	rec.Idle.StoppedAt, rec.Cause = at(-1), Cause{ReasonIdle, "it executed nothing"}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := with(isServer).WithWake(tc.request, later)
			if !app.WakeAt.Equal(tc.want) || app.WakeIgnored != tc.ignored || app.UID != testApp().UID {
				t.Errorf("%s: %s, %q", tc.reason, app.WakeAt, app.WakeIgnored)
			}
			p := Decide(app, rec, Observation{Driver: absent}, scheduler.Admission{}, Env{Now: later})
			if woken := p.Record.State == Resuming; woken != tc.wakes || woken != p.Record.Idle.StoppedAt.IsZero() {
				t.Errorf("%s: it becomes %s, stopped at %s", tc.reason, p.Record.State, p.Record.Idle.StoppedAt)
			}
			if woken := p.Record.Cause.Reason == ReasonWoken; woken != tc.wakes {
				t.Errorf("%s: %s", tc.reason, p.Record.Cause.Reason)
			}
		})
	}
}

// When an edit waits for the sessions of a server, and when it does not.
func TestDrain(t *testing.T) {
	open := Sessions{At: later, Known: true, Open: 1}
	since := func(age time.Duration) func(*Record) { return func(r *Record) { r.DrainSince = later.Add(-age) } }
	cases := map[string]struct {
		reason   string
		app      func(*Application)
		rec      func(*Record)
		driver   func(*Driver)
		sessions Sessions
		waits    bool
	}{
		"Open":        {reason: "somebody uses it", sessions: open, waits: true},
		"Unknown":     {reason: "somebody may use it", waits: true},
		"None":        {reason: "nobody uses it", sessions: Sessions{At: later, Known: true}},
		"Goes on":     {reason: "the drain is not over", rec: since(9 * time.Minute), sessions: open, waits: true},
		"Over":        {reason: "the drain is over", rec: since(10 * time.Minute), sessions: open},
		"Shorter":     {reason: "the drain is over, as the spec has it now", app: func(a *Application) { a.Drain = time.Minute }, rec: since(2 * time.Minute), sessions: open},
		"No drain":    {reason: "the user wants none", app: func(a *Application) { a.Drain = 0 }, sessions: open},
		"Suspended":   {reason: "the user wants no server", app: isSuspended, sessions: open},
		"Run again":   {reason: "a person wishes it now", app: rerunRequest, sessions: open},
		"Submitted":   {reason: "its start was not recorded, and it accepts clients", rec: func(r *Record) { r.State, r.Idle = Submitted, Idle{} }, sessions: open, waits: true},
		"Never ready": {reason: "it never took clients", rec: func(r *Record) { r.Idle = Idle{} }, driver: func(d *Driver) { d.Ready = false }},
		"Unready now": {reason: "it took clients, who may come back", driver: func(d *Driver) { d.Ready = false }, waits: true},
		"Pending":     {reason: "it does not run", rec: func(r *Record) { r.State, r.Idle = Submitted, Idle{} }, driver: func(d *Driver) { d.Phase, d.Ready = DriverPending, false }},
		"Begun again": {reason: "it waits to be started again, and its sessions are gone", driver: func(d *Driver) { *d = restarted(*d, Exit{Code: 1}); d.Phase, d.Ready = DriverPending, false }},
		"Runs again":  {reason: "its sessions are gone", driver: func(d *Driver) { *d = restarted(*d, Exit{Code: 1}) }},
		"Seen before": {reason: "it took clients, and is seen as it was earlier", driver: func(d *Driver) { d.Phase, d.Ready = DriverPending, false }, waits: true},
		"Failed":      {reason: "it has ended", driver: func(d *Driver) { d.Phase = DriverFailed }, sessions: open},
		"Deleted":     {reason: "somebody deletes it", driver: func(d *Driver) { d.Deleting = true }, sessions: open},
		"Absent":      {reason: "it is gone", driver: func(d *Driver) { *d = absent }},
		"Doubt":       {reason: "nothing is written on a look that failed", driver: func(d *Driver) { *d = unknownDriver() }, waits: true},
		"Doubt, over": {reason: "a drain has an end", rec: since(10 * time.Minute), driver: func(d *Driver) { *d = unknownDriver() }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, rec, d := with(isServer, edited), usedServer(), readyDriver()
			if tc.app != nil {
				tc.app(&app)
			}
			if tc.rec != nil {
				tc.rec(&rec)
			}
			if tc.driver != nil {
				tc.driver(&d)
			}
			p := Decide(app, rec, Observation{Driver: d, Sessions: tc.sessions}, scheduler.Admission{}, Env{Now: later})
			if waits := p.Record.State.HasDriver(); waits != tc.waits {
				t.Fatalf("%s: it becomes %s", tc.reason, p.Record.State)
			}
			if tc.waits && (p.Record.SpecHash != rec.SpecHash || p.Record.Generation != rec.Generation || len(p.Actions) > 0 || p.Requeue > drainCheck) {
				t.Errorf("%s: %+v, %v, next look in %s", tc.reason, p.Record, p.Actions, p.Requeue)
			}
			if doubt := d.upToDate(rec).Presence == Unknown; !doubt && tc.waits == p.Record.DrainSince.IsZero() || doubt && !p.Record.DrainSince.IsZero() {
				t.Errorf("%s: it drains since %s", tc.reason, p.Record.DrainSince)
			}
			if kept := Settle(p, nil, Env{Now: later}).Auxiliary == AuxiliaryKept; tc.waits && !kept && p.Driver.Presence != Unknown {
				t.Errorf("%s: what leads to it is made from the new spec", tc.reason)
			}
			if asks := NeedsSessions(app, rec, d, Env{Now: later}); tc.sessions.Known && tc.waits && !asks {
				t.Errorf("%s: nobody asks for its sessions", tc.reason)
			}
		})
	}
}

func rerunRequest(a *Application) { *a = a.WithRerun(later.Format(time.RFC3339), Record{}, later) }

// When a server is stopped because it is idle, and when it is looked at again.
func TestIdle(t *testing.T) {
	ago := func(d time.Duration) time.Time { return later.Add(-d) }
	known := func(executing int32, last time.Time) Sessions {
		return Sessions{At: later, Known: true, Open: 1, Executing: executing, LastExecution: last}
	}
	streaming := func(n int32) Sessions {
		return Sessions{At: later, Known: true, Open: 1, Streams: n, LastExecution: ago(2 * time.Hour)}
	}
	unsure := streaming(0)
	unsure.Problem = "there is no page of them"
	cases := map[string]struct {
		reason   string
		app      func(*Application)
		rec      func(*Record)
		unready  bool
		sessions Sessions
		stops    bool
		requeue  time.Duration
		since    time.Time
	}{
		"Idle":        {reason: "nothing for long", sessions: known(0, ago(40*time.Minute)), stops: true, since: ago(40 * time.Minute)},
		"Just":        {reason: "exactly the timeout", sessions: known(0, ago(30*time.Minute)), stops: true, since: ago(30 * time.Minute)},
		"Never used":  {reason: "readiness counts", sessions: known(0, time.Time{}), stops: true, since: ago(time.Hour)},
		"Soon":        {reason: "the timer is for its end", sessions: known(0, ago(29*time.Minute)), requeue: time.Minute, since: ago(29 * time.Minute)},
		"In use":      {reason: "a tenth of the timeout", sessions: known(0, ago(time.Minute)), requeue: 3 * time.Minute, since: ago(time.Minute)},
		"Executing":   {reason: "it works", sessions: known(1, ago(time.Hour)), requeue: 3 * time.Minute, since: ago(time.Hour)},
		"Streaming":   {reason: "finding 2: a streaming query runs on when its execution has ended", sessions: streaming(1), requeue: 3 * time.Minute, since: ago(time.Hour)},
		"Streamed":    {reason: "finding 2: when it has ended is not known, so it counts from when that is seen", rec: func(r *Record) { r.Idle.Streaming = true }, sessions: streaming(0), requeue: 3 * time.Minute, since: later},
		"Unsure":      {reason: "finding 2: a streaming query may run", rec: func(r *Record) { r.Idle.Streaming = true }, sessions: unsure, requeue: 3 * time.Minute, since: ago(time.Hour)},
		"Unknown":     {reason: "it may work", sessions: Sessions{At: later, Problem: "it does not answer"}, requeue: 3 * time.Minute, since: ago(time.Hour)},
		"Asked just":  {reason: "an answer is used for a while", sessions: Sessions{At: ago(2 * time.Minute), Known: true, LastExecution: ago(3 * time.Minute)}, requeue: time.Minute, since: ago(3 * time.Minute)},
		"Asked once":  {reason: "an answer that is used up is followed by the next", sessions: Sessions{At: ago(3 * time.Minute), Known: true, LastExecution: ago(4 * time.Minute)}, requeue: 3 * time.Minute, since: ago(4 * time.Minute)},
		"New":         {reason: "it has just become ready", rec: func(r *Record) { r.Idle.Since = time.Time{} }, sessions: known(0, time.Time{}), requeue: 3 * time.Minute, since: later},
		"Woken":       {reason: "a request counts as use", app: func(a *Application) { a.WakeAt = ago(time.Minute) }, sessions: known(0, time.Time{}), requeue: 3 * time.Minute, since: ago(time.Minute)},
		"Future":      {reason: "its clock is not believed", sessions: known(0, later.Add(time.Hour)), requeue: 3 * time.Minute, since: later},
		"Never":       {reason: "the user does not want it", app: func(a *Application) { a.IdleTimeout = 0 }, sessions: known(0, ago(time.Hour)), requeue: heartbeat, since: ago(time.Hour)},
		"Long":        {reason: "at least every five minutes", app: func(a *Application) { a.IdleTimeout = 24 * time.Hour }, sessions: known(1, ago(time.Minute)), requeue: maxIdleCheck, since: ago(time.Minute)},
		"Short":       {reason: "not more often than every half of a minute", app: func(a *Application) { a.IdleTimeout = 100 * time.Second }, sessions: known(1, ago(time.Minute)), requeue: minIdleCheck, since: ago(time.Minute)},
		"Not ready":   {reason: "it accepts no clients", unready: true, sessions: known(0, ago(time.Hour)), requeue: heartbeat, since: ago(time.Hour)},
		"Application": {reason: "it accepts no clients", app: func(a *Application) { a.Endures = false }, sessions: known(0, ago(time.Hour)), requeue: heartbeat, since: ago(time.Hour)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, rec, d := with(isServer), usedServer(), readyDriver()
			app.Policies.Deadlines = Deadlines{}
			if tc.app != nil {
				tc.app(&app)
			}
			if tc.rec != nil {
				tc.rec(&rec)
			}
			d.Ready = !tc.unready
			p := Decide(app, rec, Observation{Driver: d, Sessions: tc.sessions}, scheduler.Admission{}, Env{Now: later})
			switch {
			case tc.stops && (p.Record.State != Suspending || !p.Record.Idle.StoppedAt.Equal(later) || p.Record.Cause.Reason != ReasonIdle || len(p.Actions) > 0):
				t.Errorf("%s: %s (%s), stopped at %s, %v", tc.reason, p.Record.State, p.Record.Cause.Reason, p.Record.Idle.StoppedAt, p.Actions)
			case !tc.stops && (p.Record.State != Running || !p.Record.Idle.StoppedAt.IsZero() || p.Requeue != tc.requeue):
				t.Errorf("%s: %s, next look in %s", tc.reason, p.Record.State, p.Requeue)
			}
			if want := tc.sessions.Streams > 0 || name == "Unsure"; p.Record.Idle.Streaming != want {
				t.Errorf("%s: it is stored that it streams: %t", tc.reason, !want)
			}
			if !p.Record.Idle.Since.Equal(tc.since) {
				t.Errorf("%s: idle since %s, want %s", tc.reason, p.Record.Idle.Since, tc.since)
			}
		})
	}
}

// A reconcile that waits for a slow API server has begun before what it sees: nobody is stopped for seconds in which nothing was ready.
func TestIdleBeginsWhenItIsSeen(t *testing.T) {
	seen := later.Add(10 * time.Second)
	for name, sessions := range map[string]Sessions{
		"Ready":    {At: later, Known: true},
		"Executed": {At: later, Known: true, LastExecution: seen.Add(time.Hour)}, // what it says is not believed beyond now
	} {
		p := Decide(with(isServer), ran(Running), Observation{At: seen, Driver: readyDriver(), Sessions: sessions}, scheduler.Admission{}, Env{Now: later})
		if got := p.Record.Idle.Since; !got.Equal(seen.Truncate(time.Second)) {
			t.Errorf("%s: idle since %s, want %s", name, got, seen)
		}
	}
}

// An old answer will do as long as nothing is stopped because of it.
func TestFreshSessions(t *testing.T) {
	busy := Sessions{Known: true, Open: 1, Executing: 1}
	at := func(s Sessions, age time.Duration) Sessions { s.At = later.Add(-age); return s }
	cases := map[string]struct {
		reason string
		app    Application
		s      Sessions
		want   bool
	}{
		"Never":          {"nobody has asked", with(isServer), busy, false},
		"Young":          {"a tenth of the timeout", with(isServer), at(busy, time.Minute), true},
		"Now":            {"it was asked in this very reconcile", with(isServer), at(busy, 0), true},
		"Old":            {"older than that", with(isServer), at(busy, 3*time.Minute), false},
		"Idle":           {"somebody may have begun since", with(isServer), at(Sessions{Known: true, Open: 1}, time.Second), false},
		"Unknown":        {"it is not asked more often for that", with(isServer), at(Sessions{Problem: "no answer"}, time.Minute), true},
		"From tomorrow":  {"the clock was put back", with(isServer), at(busy, -time.Hour), false},
		"Drain":          {"sessions were open", with(isServer, edited), at(busy, 9*time.Second), true},
		"Old drain":      {"every ten seconds", with(isServer, edited), at(busy, 10*time.Second), false},
		"Drained":        {"somebody may have connected since", with(isServer, edited), at(Sessions{Known: true}, time.Second), false},
		"Drain, unknown": {"it is not asked more often for that", with(isServer, edited), at(Sessions{Problem: "no answer"}, 9*time.Second), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.s.Fresh(tc.app, usedServer(), readyDriver(), Env{Now: later}); got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
}

// Why it is unknown what a driver executes is shown as long as that matters, and no longer.
func TestProblemOfSessions(t *testing.T) {
	asked := Sessions{At: later, Known: true, Open: 1, Executing: 1, Problem: "there is no page of them"}
	silent := Sessions{At: later, Problem: "it does not answer"}
	cases := map[string]struct {
		reason   string
		app      func(*Application)
		sessions Sessions
		want     string
	}{
		"Asked":       {reason: "it is stopped when it is idle", app: func(*Application) {}, sessions: asked, want: asked.Problem},
		"NotAsked":    {reason: "an answer that is used again says nothing new", app: func(*Application) {}, sessions: Sessions{At: later.Add(-time.Minute), Known: true}, want: "as before"},
		"NoTimeout":   {reason: "it is not stopped", app: func(a *Application) { a.IdleTimeout = 0 }},
		"Drains":      {reason: "its sessions are known, which is all that is asked", app: edited, sessions: asked},
		"DrainsBlind": {reason: "they are not known", app: edited, sessions: silent, want: silent.Problem},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, rec := with(isServer, tc.app), usedServer()
			rec.Idle.Problem = "as before"
			if got := Decide(app, rec, Observation{Driver: readyDriver(), Sessions: tc.sessions}, scheduler.Admission{}, Env{Now: later}).Record.Idle.Problem; got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// A driver that drains is looked at when the drain is over, if that is before it is asked again.
func TestDrainHasItsEnd(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{5 * time.Minute: drainCheck, 4 * time.Second: 4 * time.Second, time.Millisecond: time.Second} {
		app, rec := with(isServer, edited), usedServer()
		rec.DrainSince = later.Add(left - app.Drain)
		p := Decide(app, rec, Observation{Driver: readyDriver(), Sessions: Sessions{At: later, Known: true, Open: 1}}, scheduler.Admission{}, Env{Now: later})
		if p.Requeue != want {
			t.Errorf("%s before the end it is looked at again after %s, want %s", left, p.Requeue, want)
		}
	}
}

// Clients may still use a server that is being deleted, as long as it is ready.
func TestStoppingServerIsReady(t *testing.T) {
	for ready, want := range map[bool]Status{true: True, false: False} {
		d := deleting(readyDriver())
		d.Ready = ready
		if c := condition(t, Plan{App: with(isServer), Record: usedServer(), Driver: d}, ConditionDriverReady); c.Status != want || c.Reason != ReasonDriverStopping {
			t.Errorf("ready %t: %s %s, want %s", ready, c.Status, c.Reason, want)
		}
	}
}

// A driver is asked for its sessions only if something is decided by them.
func TestNeedsSessions(t *testing.T) {
	cases := map[string]struct {
		reason string
		app    func(*Application)
		rec    func(*Record)
		driver func(*Driver)
		want   bool
	}{
		"Idle":      {reason: "it is stopped when it is idle", want: true},
		"NoHash":    {reason: "its family has no hash of the spec", rec: func(r *Record) { r.SpecHash = "" }, want: true},
		"NoTimeout": {reason: "it is not stopped", app: func(a *Application) { a.IdleTimeout = 0 }},
		"Drains":    {reason: "an edit waits for their end", app: func(a *Application) { edited(a); a.IdleTimeout = 0 }, want: true},
		"Edited":    {reason: "an edit does not wait, and it is not stopped for being idle", app: func(a *Application) { edited(a); a.Drain = 0 }},
		"Suspended": {reason: "it is stopped in any case", app: isSuspended},
		"Deleted":   {reason: "it goes", app: isDeleted},
		"Over":      {reason: "it has ended", rec: func(r *Record) { r.State = Failing }},
		"Unready":   {reason: "it accepts no clients", driver: func(d *Driver) { d.Ready = false }},
		"Pending":   {reason: "it does not run", driver: func(d *Driver) { d.Phase = DriverPending }},
		"Goes":      {reason: "somebody deletes it", driver: func(d *Driver) { d.Deleting = true }},
		"Foreign":   {reason: "it is another owner's", driver: func(d *Driver) { d.Ownership = NotOwned }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, rec, d := with(isServer), usedServer(), readyDriver()
			if tc.app != nil {
				tc.app(&app)
			}
			if tc.rec != nil {
				tc.rec(&rec)
			}
			if tc.driver != nil {
				tc.driver(&d)
			}
			if got := NeedsSessions(app, rec, d, Env{Now: later}); got != tc.want {
				t.Errorf("%s: %t", tc.reason, got)
			}
		})
	}
}

// The auxiliary objects of a server stay as long as it may take clients again.
func TestAuxiliaryObjectsEndure(t *testing.T) {
	for _, state := range States() {
		want := AuxiliaryApplied
		if state.Final() {
			want = AuxiliaryDeleted
		}
		rec := ran(state)
		if got := Settle(Plan{App: with(isServer), Before: rec, Record: rec}, nil, Env{Now: later}).Auxiliary; got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
	if got := Settle(Plan{App: with(isServer, isDeleted), Record: ran(Running)}, nil, Env{Now: later}).Auxiliary; got != AuxiliaryKept {
		t.Errorf("deleted: %q", got)
	}
}
