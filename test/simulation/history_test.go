// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
)

const appName = "pi"

var (
	begin    = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	scheme   = controller.Scheme()
	registry = func() *scheduler.Registry {
		r, err := scheduler.NewRegistry(kube.Name, kube.Plugin{}, line{})
		if err != nil {
			panic(err)
		}
		return r
	}()
)

// Stats count what the histories have exercised.
type Stats struct {
	Histories, Exposed, TwoLeaders, Steps, Reconciles, Calls, Crashes, MidReconcile, Faults, Events, Drivers, Restarts int
	classes
	// SecondDrivers and Conflicts are of the second family.
	SecondDrivers, Conflicts int
	// States are those that the second family has told.
	States map[sparkv1.ApplicationStateSummary]bool
	// Drains, Idles and Wakes are of servers.
	Drains, Idles, Wakes int
}

func (s *Stats) add(o Stats) {
	s.Histories += o.Histories
	s.Exposed += o.Exposed
	s.TwoLeaders += o.TwoLeaders
	s.Steps += o.Steps
	s.Reconciles += o.Reconciles
	s.Calls += o.Calls
	s.Crashes += o.Crashes
	s.MidReconcile += o.MidReconcile
	s.Faults += o.Faults
	s.Events += o.Events
	s.Drivers += o.Drivers
	s.Restarts += o.Restarts
	s.classes.add(o.classes)
	s.SecondDrivers += o.SecondDrivers
	s.Conflicts += o.Conflicts
	if s.States == nil {
		s.States = map[sparkv1.ApplicationStateSummary]bool{}
	}
	maps.Copy(s.States, o.States)
	s.Drains += o.Drains
	s.Idles += o.Idles
	s.Wakes += o.Wakes
}

// mutation breaks the clients of an operator in one way.
type mutation func(client.Client, client.Reader) (client.Client, client.Reader)

// history is one application's life in a cluster of its own.
type history struct {
	rng        *rand.Rand
	now        time.Time
	store      *store
	invariants *invariants
	// operators that run: none, one, or two that both believe to lead.
	operators []*operator
	started   int
	executors int
	climate   climate
	// fair is set when nobody is hostile any more.
	fair bool
	// thoughts is how many edits there may be while something is waited for.
	thoughts int
	// farewells are when the user deletes something in fair weather.
	farewells map[string]*farewell
	quotaFull bool
	noRights  bool
	// lost are the UIDs of pods on a node that does not answer.
	lost map[string]bool
	// sidecar lets every pod have one.
	sidecar bool
	// exposed histories put a Service beside drivers; sealed is why the API server never takes it, nil if it does.
	exposed bool
	sealed  error
	// faithful histories send status patches through JSON.
	faithful bool

	mutation   mutation
	dropTimers bool
	// exposes makes a history an exposed one.
	exposes bool
	// deafToNew operators are not woken by what appears beside drivers.
	deafToNew bool
	// other is what there is of a second family; nil for nothing.
	other *second
	// server is what a history is about instead of an application; nil for an application.
	server *servers
	seed   uint64
	// change is what made the history a special one; nil for nothing.
	change func(*history)
	// fate is what becomes of the drivers of a calm world; nil in a history.
	fate *fate
	// scripted answers a call of a story.
	scripted func(verb string, i id) (fault, bool)

	stats Stats
	// told collects the story, if somebody wants to read it.
	told *strings.Builder
	// broken is the first violation.
	broken string
}

func newHistory(seed uint64) *history {
	h := &history{seed: seed, rng: rand.New(rand.NewPCG(seed, 0x5eed)), now: begin, store: newStore(), lost: map[string]bool{}}
	h.invariants = newInvariants(h)
	h.stats.Histories = 1
	return h
}

// Now and Since make it the operator's clock.
func (h *history) Now() time.Time                  { return h.now }
func (h *history) Since(t time.Time) time.Duration { return h.now.Sub(t) }

// second is the time in the resolution of the API.
func (h *history) second() metav1.Time { return metav1.NewTime(h.now.Truncate(time.Second)) }

func (h *history) chance(p float64) bool { return p > 0 && h.rng.Float64() < p }

func (h *history) tell(who, format string, args ...any) {
	if h.told == nil {
		return
	}
	t := h.now.Sub(begin)
	fmt.Fprintf(h.told, "%02d:%02d:%06.3f  %-10s ", int(t.Hours()), int(t.Minutes())%60, (t % time.Minute).Seconds(), who)
	fmt.Fprintf(h.told, format+"\n", args...)
}

func newStory() *strings.Builder { return &strings.Builder{} }

func (h *history) fail(format string, args ...any) {
	if h.broken == "" {
		h.broken = fmt.Sprintf(format, args...)
		h.tell("VIOLATION", "%s", h.broken)
	}
}

// seen is what a call has made of the application's state, for the story.
func (h *history) seen(verb string, i id, err error) string {
	app := h.store.app()
	if o := h.store.second(); i.kind == kindSecond && err == nil && verb == patches && o != nil {
		return " -> " + secondSaid(o)
	}
	if err != nil || verb != patches || app == nil || i.kind != kindApp {
		return ""
	}
	s := app.Status
	text := fmt.Sprintf(" -> %s, attempts %d/%d", s.AppState.State, s.SubmissionAttempts, s.ExecutionAttempts)
	if s.AppState.ErrorMessage != "" {
		text += fmt.Sprintf(" (%s)", s.AppState.ErrorMessage)
	}
	return text
}

// run lives the history: first hostile, then fair weather until nothing changes any more.
func (h *history) run() {
	h.climate = h.drawClimate()
	h.thoughts = h.drawThoughts()
	h.faithful = h.rng.IntN(32) == 0
	if h.server != nil {
		h.server.apply()
	} else {
		h.drawExposure()
		h.apply()
	}
	if h.other != nil && h.rng.IntN(2) == 0 {
		h.other.apply()
	}
	h.launch()
	steps := 20 + h.rng.IntN(80)
	if h.server != nil {
		steps = 15 + h.rng.IntN(50) // the fair weather after them is long
	}
	if h.rng.IntN(64) == 0 {
		steps *= 5
	}
	for range steps {
		if h.broken != "" {
			break
		}
		h.hostileStep()
	}
	h.clearUp()
	if h.server != nil {
		h.server.settle()
	} else {
		h.settle()
	}
	if h.other != nil && h.broken == "" {
		h.other.settle()
	}
	for _, o := range h.operators {
		o.halt()
	}
}

func (h *history) launch() {
	h.started++
	lag := 0
	if !h.fair {
		lag = 4
	}
	h.operators = append(h.operators, h.startOperator(fmt.Sprintf("operator-%d", h.started), lag))
}

// hostileStep lets one actor act. Operators act most, since one of their steps is only one call.
func (h *history) hostileStep() {
	h.stats.Steps++
	if h.other != nil && h.rng.IntN(16) == 0 {
		h.other.user()
		return
	}
	if h.server != nil && h.rng.IntN(4) == 0 && h.server.clients() {
		return
	}
	for range 6 {
		if hostile[h.climate.draw(h.rng)].act(h) {
			return
		}
	}
}

// patience is how many timers may go off in a row without any change before the application is given up.
const (
	restLimit = 4000
	patience  = 100
)

// settle lets everybody but the hostile ones act until the application has reached its end, and shows that it stays so.
func (h *history) settle() {
	quiet, dull, version := 0, 0, h.store.version
	for range restLimit {
		if h.broken != "" || dull > patience {
			break
		}
		h.stats.Steps++
		if h.fairStep() {
			continue
		}
		if h.invariants.settled() {
			if quiet++; quiet > 1 {
				if h.invariants.end(); !h.leavesAtEnd(kindApp) {
					return
				}
				quiet = 0
				continue
			}
		}
		dull++
		if version != h.store.version {
			dull, version = 0, h.store.version
		}
		if !h.tick() {
			if !h.invariants.settled() {
				h.fail("nothing will ever happen again: %s", h.invariants.summary())
			}
			if h.invariants.end(); !h.leavesAtEnd(kindApp) {
				return
			}
		}
	}
	h.fail("the application does not come to rest: %s", h.invariants.summary())
}

// fairStep lets one of those act who can.
func (h *history) fairStep() bool {
	h.takeLeave()
	actors := fairActors
	if h.other != nil {
		actors = append(actors[:len(actors):len(actors)], freeTheName)
	}
	if h.server != nil {
		actors = append(actors[:len(actors):len(actors)], probe)
	}
	first := h.rng.IntN(len(actors))
	for n := range actors {
		if actors[(first+n)%len(actors)](h) {
			return true
		}
	}
	return false
}

// tick lets time pass until the next timer; in hostile times sometimes only a little.
func (h *history) tick() bool {
	var next time.Time
	for _, process := range h.operators {
		for _, o := range process.controllers() {
			if t := o.next(h.now); !t.IsZero() && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
	}
	if !h.fair && (next.IsZero() || h.rng.IntN(4) == 0) {
		next = h.now.Add(time.Duration(1+h.rng.IntN(8)) * time.Second)
	}
	if next.IsZero() {
		return false
	}
	h.impatient()
	h.tell("time", "%s pass", next.Sub(h.now).Round(time.Millisecond))
	h.now = next
	return true
}
