// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Times of a simulated cluster, in seconds.
const (
	simStarts  = 40   // longest time until all pods of an application are there
	simRun     = 40   // longest run from then on
	simStream  = 2000 // a stream runs longer by that
	simAsks    = 35   // after which all have asked again
	simArrives = 500  // for so long applications arrive
	simLags    = 10   // longest time until an end is reported, and those who wait for it have asked again
)

const (
	simCPU corev1.ResourceName = "cpu"
	simGPU corev1.ResourceName = "nvidia.com/gpu"
)

// amounts are whole cores and devices.
type amounts struct{ cpu, gpu int }

func (a amounts) plus(b amounts) amounts { return amounts{a.cpu + b.cpu, a.gpu + b.gpu} }

func (a amounts) most(b amounts) amounts { return amounts{max(a.cpu, b.cpu), max(a.gpu, b.gpu)} }

// fits is whether there is room for it beside what is used: what is not asked for may be overcommitted.
func (a amounts) fits(used, limit amounts) bool {
	return (a.cpu == 0 || used.cpu+a.cpu <= limit.cpu) && (a.gpu == 0 || used.gpu+a.gpu <= limit.gpu)
}

// tenant is a namespace with its quotas; a nil limit is none.
type tenant struct {
	name           string
	hard, min, max *amounts
	lag            [2]int  // of the reports of both kinds of quotas
	owed           *simApp // who is first and within the min, since a second
	since          int
}

type simPhase int

const (
	simWaits simPhase = iota
	simAdmitted
	simEnded
)

// simApp is an application.
type simApp struct {
	scheduler.Attempt
	tenant  *tenant
	queued  int
	rank    int // of its PriorityClass
	asks    amounts
	driver  int     // cores of its driver
	shape   amounts // of an executor
	phase   simPhase
	lines   []scheduler.Place // where it waits, as it was answered last
	mayWait *simLines         // where it may
	askAt   int
	holds   int // since when room is kept for it in all lines in which it waits; -1 if it is not
	idle    int // since when it fits and waits; -1 if it does not
	turned  int // when a hold of it has ended that did not suffice
	could   int // since when it was asked and might have started; -1 if it might not
	created []int
	running []int
	ends    int
	since   int // when the operator saw its pods first
	// claims is that others have borrowed what it is guaranteed, and preempted that it had borrowed itself.
	claims, preempted bool
	// group is its number in the scheduler's queue; 0 if it has no place there. placed is whether the queue has room for it.
	group  int
	placed bool
}

// mutant is an operator that is broken on purpose.
type mutant struct {
	reason       string
	strict, fair bool
	// shareless is a ledger that knows no shares.
	shareless bool
	// sees changes what is seen of quotas, asks what an attempt gets to know, places where it is entered, and records the answer.
	sees    func(*scheduler.Attempt, scheduler.Snapshot)
	asks    func(*scheduler.Attempt)
	places  func(*scheduler.Attempt, []scheduler.Place)
	records func(*scheduler.Admission)
	// forgets whom to expect after a crash.
	forgets bool
	// from is the seed to begin with: one that finds it, to save time.
	from uint64
}

// simulation is one history of a cluster.
type simulation struct {
	*rand.Rand
	mutant
	plugin  scheduler.Plugin
	order   scheduler.Order
	tenants []*tenant
	apps    []*simApp // but those that have ended long ago
	count   int
	seen    map[string]view // of this second, by namespace
	ledger  *scheduler.Ledger
	shares  scheduler.Shares // as of the last question
	now     int
	apart   bool // applications may ask for one of the resources alone
	load    int
	stands  bool // the scheduler creates placeholders
	queue   int  // cores of the scheduler's queue; 0 without one
	groups  int
	holds   map[scheduler.Line]simHold
	began   map[scheduler.Line]int // when the last one started that asks for something of a line
	streams int                    // so many applications run for long
	bound   int                    // seconds after which one comes first, and room is kept for it
	broken  error
	starts  covered
}

// covered counts what happened, so that a test can say that it did.
type covered struct{ passed, priority, aged, guaranteed, crashed, preempted, held, beside int }

func (c *covered) add(other covered) {
	c.passed += other.passed
	c.priority += other.priority
	c.aged += other.aged
	c.guaranteed += other.guaranteed
	c.crashed += other.crashed
	c.preempted += other.preempted
	c.held += other.held
	c.beside += other.beside
}

func (s *simulation) fail(format string, args ...any) {
	if s.broken == nil {
		s.broken = fmt.Errorf("second %d: "+format, append([]any{s.now}, args...)...)
	}
}

func at(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }

func newSimulation(seed uint64, m mutant) *simulation {
	s := &simulation{Rand: rand.New(rand.NewPCG(seed, 0)), mutant: m, plugin: New("Enforce", []string{"batch"}), seen: map[string]view{},
		holds: map[scheduler.Line]simHold{}, began: map[scheduler.Line]int{}}
	s.bound = 60 + s.IntN(2)*240
	if s.bound == 60 && s.IntN(3) == 0 {
		s.streams = 2
	}
	s.order = scheduler.Order{Strict: m.strict, Fair: m.fair, AgingBound: time.Duration(s.bound) * time.Second}
	s.ledger, s.load = scheduler.NewLedger(s.order), 3+s.IntN(12)
	devices := s.IntN(2) * 4
	if s.apart = s.IntN(4) == 0; s.apart {
		devices = 12
	}
	for i := range 1 + s.IntN(3) {
		t := &tenant{name: fmt.Sprint("team-", i), lag: [2]int{s.IntN(2), s.IntN(4)}}
		if s.IntN(3) > 0 {
			t.hard = &amounts{12 + s.IntN(10), devices}
		}
		if t.hard == nil || s.IntN(2) == 0 {
			t.min = &amounts{1 + s.IntN(12), devices}
			if s.IntN(2) == 0 {
				t.max = &amounts{8 + s.IntN(20), devices * 2}
			}
		}
		s.tenants = append(s.tenants, t)
	}
	s.stands = s.IntN(5) == 0
	if s.IntN(5) == 0 {
		s.queue = 14 + s.IntN(16)
		s.plugin = scheduler.Chain(s.plugin, simQueue{})
	}
	return s
}

// arrive adds an application that fits into its quotas if they are empty.
func (s *simulation) arrive() {
	a := &simApp{tenant: s.tenants[s.IntN(len(s.tenants))], driver: 1}
	executors := s.IntN(4)
	if s.IntN(4) == 0 {
		executors = 4 + s.IntN(8)
	}
	a.shape = amounts{cpu: 1 + s.IntN(2)}
	if s.IntN(3) == 0 {
		a.shape.gpu = 1
	}
	if s.apart {
		a.driver, executors = 0, executors+1
		a.shape = []amounts{{0, 1}, {0, 1}, {1, 0}, {1, 0}, {1, 1}}[s.IntN(5)]
	}
	a.asks = amounts{a.driver + executors*a.shape.cpu, executors * a.shape.gpu}
	pod := func(of amounts) spark.PodResources {
		r := corev1.ResourceList{simCPU: *resource.NewQuantity(int64(of.cpu), resource.DecimalSI)}
		if of.gpu > 0 {
			r[simGPU] = *resource.NewQuantity(int64(of.gpu), resource.DecimalSI)
		}
		return spark.PodResources{Requests: r}
	}
	n := int32(executors)
	a.PodSets = spark.PodSets{Driver: pod(amounts{cpu: a.driver}), Executor: pod(a.shape), Initial: n, Min: n, Max: n}
	if s.stands {
		a.Placeholders = []scheduler.Placeholder{
			{Role: spark.RoleDriver, PodResources: a.PodSets.Driver, Count: 1}, {Role: spark.RoleExecutor, PodResources: a.PodSets.Executor, Count: n},
		}
	}
	if a.rank = s.IntN(4) - 1; a.rank != 0 {
		a.PriorityClass = fmt.Sprint("class", a.rank)
	}
	if s.couldFit(a) {
		s.submit(a)
	}
}

// submit lets an application wait for its start.
func (s *simulation) submit(a *simApp) {
	s.count++
	a.ID, a.Choice = fmt.Sprintf("app-%03d", s.IntN(1000)*1000+s.count), scheduler.Choice{Scheduler: "batch"}
	a.App = scheduler.App{Namespace: a.tenant.name, Name: fmt.Sprint(s.count)}
	a.queued, a.QueuedAt, a.askAt, a.holds, a.idle, a.could = s.now, at(s.now), s.now, -1, -1, -1
	s.apps = append(s.apps, a)
}

// ask lets the operator decide on an attempt.
func (s *simulation) ask(a *simApp) {
	seen, asked := s.snapshot(a), a.Attempt
	asked.Priority = scheduler.PriorityOf(asked, seen)
	asked.Quota = s.ledger.OutstandingBy(asked, at(s.now), func(o scheduler.Outstanding) scheduler.Shares {
		looks := asked
		looks.Quota = o
		if s.shares = scheduler.SharesOf(s.plugin, looks, seen); s.shareless {
			return nil
		}
		return s.shares
	})
	before, expects := asked.Quota, asked.Quota.Expected
	before.Ahead = maps.Clone(before.Ahead)
	s.hear(a, before)
	if s.asks != nil {
		s.asks(&asked)
	}
	if s.sees != nil {
		seen = maps.Clone(seen)
		s.sees(&asked, seen)
	}
	answer, err := scheduler.AdmitAttempt(s.plugin, asked, seen)
	if err != nil || answer.Verdict == scheduler.Reject {
		s.fail("%s: %+v, %v", a.ID, answer, err)
		return
	}
	starts := answer.Verdict == scheduler.Admit
	s.judge(a, before, starts, answer.Verdict == scheduler.Wait && len(answer.Lines) == 0, expects)
	a.lines = slices.Clone(answer.Lines)
	s.leave(a)
	if s.places != nil {
		s.places(&asked, answer.Lines)
	}
	if s.records != nil {
		s.records(&answer)
	}
	s.enqueue(s.ledger.Record(asked, answer, at(s.now)))
	s.apply(a, answer)
	if len(answer.Lines) > 0 {
		s.hear(a, s.ledger.Outstanding(asked, at(s.now)))
	}
	if a.askAt = s.now + max(1, int(answer.RetryAfter/time.Second)); starts {
		s.start(a)
	}
}

// start lets the pods of an application come.
func (s *simulation) start(a *simApp) {
	a.phase, a.created, a.running, a.since = simAdmitted, nil, nil, s.now+1
	created := s.now + s.IntN(3)
	last := 0
	for range 1 + a.PodSets.Initial {
		runs := created + s.IntN(3)
		a.created, a.running = append(a.created, created), append(a.running, runs)
		last = max(last, runs)
		created = runs + s.IntN(2)
	}
	a.ends = last + 1 + s.IntN(simRun)
	if s.streams > 0 && s.IntN(5) == 0 {
		s.streams--
		a.ends += simStream
	}
	for _, line := range s.linesOf(a).all() {
		s.began[line] = s.now
	}
	a.claims = a.tenant.min != nil && !a.asks.fits(s.committed(a, borrows), s.mins())
}

// enqueue lets the first of some applications ask at once.
func (s *simulation) enqueue(apps []scheduler.Key) {
	for _, key := range apps[:min(len(apps), 20)] {
		for _, a := range s.apps {
			if a.App.Key() == key && a.phase == simWaits {
				a.askAt = s.now
			}
		}
	}
}

// crash replaces the operator: what has a driver is entered again, what waits in a line is expected, and what was admitted and
// has no driver waits again.
func (s *simulation) crash() {
	s.ledger = scheduler.NewLedger(s.order)
	clear(s.holds)
	for _, t := range s.tenants {
		t.owed = nil
	}
	for _, a := range s.apps {
		if a.phase == simAdmitted && a.created[0] > s.now {
			a.phase, a.ends, a.claims = simWaits, 0, false
		}
		a.since = s.now
		switch {
		case a.phase == simAdmitted && a.ends > s.now:
			s.ledger.Reserve(a.Attempt)
			s.ledger.Settle(a.ID, scheduler.ProgressOf(s.pods(a)), at(s.now))
		case a.phase == simAdmitted:
			a.phase = simEnded
		case a.phase == simWaits && len(a.lines) > 0 && !s.forgets:
			s.ledger.Expect(a.ID, at(s.now))
		}
		if a.askAt, a.holds, a.could, a.turned = s.now+s.IntN(3), -1, -1, 0; a.phase == simWaits {
			s.starts.crashed++
		}
	}
}

// tick is one second.
func (s *simulation) tick() {
	s.now++
	if s.now < simArrives && s.IntN(s.load) == 0 {
		s.arrive()
	}
	if s.now < simArrives && s.IntN(150) == 0 {
		s.crash()
	}
	var waiting []*simApp
	s.apps = slices.DeleteFunc(s.apps, func(a *simApp) bool { return a.phase == simEnded && a.ends < s.now-10 }) // no report is as late
	clear(s.seen)
	s.place()
	for _, a := range s.apps {
		switch {
		case a.phase == simAdmitted && a.ends <= s.now:
			if s.IntN(2) == 0 {
				a.phase = simEnded
				s.enqueue(s.ledger.Release(a.ID, at(s.now)))
				s.resubmit(a)
			}
		case a.phase == simAdmitted:
			s.enqueue(s.ledger.Settle(a.ID, scheduler.ProgressOf(s.pods(a)), at(s.now)))
		}
		if a.phase == simWaits {
			waiting = append(waiting, a)
		}
	}
	s.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
	for range 3 { // those who are enqueued meanwhile
		for _, a := range waiting {
			if a.phase == simWaits && a.askAt <= s.now && s.IntN(4) > 0 {
				s.ask(a)
			}
		}
	}
	s.reclaim()
	s.judgePods()
	s.judgeIdle(waiting)
	s.judgeOwed(waiting)
}

// live lives one history.
func live(seed uint64, m mutant) *simulation {
	s := newSimulation(seed, m)
	const most = 20000
	for s.broken == nil && s.now < most {
		if s.tick(); s.now > simArrives && !slices.ContainsFunc(s.apps, func(a *simApp) bool { return a.phase != simEnded }) {
			return s
		}
	}
	s.fail("not all have started")
	return s
}
