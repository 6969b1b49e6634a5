// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"fmt"
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
	simStarts  = 40  // longest time until all pods of an application are there
	simRun     = 40  // longest run from then on
	simAsks    = 35  // after which all have asked again
	simArrives = 500 // for so long applications arrive
	simLags    = 10  // longest time until an end is reported, and those who wait for it have asked again
)

const (
	simCPU corev1.ResourceName = "cpu"
	simGPU corev1.ResourceName = "nvidia.com/gpu"
)

// amounts are whole cores and devices.
type amounts map[corev1.ResourceName]int

func (a amounts) plus(b amounts) amounts {
	return amounts{simCPU: a[simCPU] + b[simCPU], simGPU: a[simGPU] + b[simGPU]}
}

func (a amounts) fits(limit amounts) bool {
	return a[simCPU] <= limit[simCPU] && a[simGPU] <= limit[simGPU]
}

// tenant is a namespace with its quotas; a nil limit is none.
type tenant struct {
	name           string
	hard, min, max amounts
	lag            [2]int // of the reports of both kinds of quotas
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
	driver  int // cores of its driver
	phase   simPhase
	lines   []scheduler.Place // where it waits, as it was answered last
	askAt   int
	asked   bool
	first   int // since when it is the oldest of its lines that none may pass; -1 if it is not
	could   int // since when it was asked and might have started; -1 if it might not
	created []int
	running []int
	ends    int
}

// mutant is an operator that is broken on purpose.
type mutant struct {
	reason       string
	strict, fair bool
	// shareless is a ledger that knows no shares.
	shareless bool
	// asks changes what an attempt gets to know, and places where it is entered.
	asks   func(*scheduler.Attempt)
	places func(*scheduler.Attempt, []scheduler.Place)
	// forgets whom to expect after a crash.
	forgets bool
	// from is the seed to begin with: one that finds it, to save time.
	from uint64
}

// simulation is one history of a cluster.
type simulation struct {
	*rand.Rand
	mutant
	plugin  Plugin
	order   scheduler.Order
	tenants []*tenant
	apps    []*simApp // but those that have ended long ago
	count   int
	seen    map[string]scheduler.Snapshot // of this second, by namespace
	ledger  *scheduler.Ledger
	shares  scheduler.Shares // as of the last question
	now     int
	apart   bool // applications may ask for one of the resources alone
	load    int
	bound   int // seconds after which none passes
	broken  error
	starts  covered
}

// covered counts what happened, so that a test can say that it did.
type covered struct{ passed, priority, aged, guaranteed, crashed int }

func (c *covered) add(other covered) {
	c.passed += other.passed
	c.priority += other.priority
	c.aged += other.aged
	c.guaranteed += other.guaranteed
	c.crashed += other.crashed
}

func (s *simulation) fail(format string, args ...any) {
	if s.broken == nil {
		s.broken = fmt.Errorf("second %d: "+format, append([]any{s.now}, args...)...)
	}
}

func at(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }

func newSimulation(seed uint64, m mutant) *simulation {
	s := &simulation{Rand: rand.New(rand.NewPCG(seed, 0)), mutant: m, plugin: New("Enforce", []string{"batch"}), seen: map[string]scheduler.Snapshot{}}
	s.bound = 60 + s.IntN(2)*240
	s.order = scheduler.Order{Strict: m.strict, Fair: m.fair, AgingBound: time.Duration(s.bound) * time.Second}
	s.ledger, s.load = scheduler.NewLedger(s.order), 3+s.IntN(12)
	devices := s.IntN(2) * 4
	if s.apart = s.IntN(4) == 0; s.apart {
		devices = 12
	}
	for i := range 1 + s.IntN(3) {
		t := &tenant{name: fmt.Sprint("team-", i), lag: [2]int{s.IntN(2), s.IntN(4)}}
		if s.IntN(3) > 0 {
			t.hard = amounts{simCPU: 12 + s.IntN(10), simGPU: devices}
		}
		if t.hard == nil || s.IntN(2) == 0 {
			t.min = amounts{simCPU: 1 + s.IntN(12), simGPU: devices}
			if s.IntN(2) == 0 {
				t.max = amounts{simCPU: 8 + s.IntN(20), simGPU: devices * 2}
			}
		}
		s.tenants = append(s.tenants, t)
	}
	return s
}

// limitsOf are what all applications together may use that a quota binds.
func (s *simulation) mins() amounts {
	sum := amounts{}
	for _, t := range s.tenants {
		sum = sum.plus(t.min)
	}
	return sum
}

// arrive adds an application that fits into its quotas if they are empty.
func (s *simulation) arrive() {
	t := s.tenants[s.IntN(len(s.tenants))]
	s.count++
	n := s.count
	executors := s.IntN(4)
	if s.IntN(4) == 0 {
		executors = 4 + s.IntN(8)
	}
	shape, device := 1+s.IntN(2), 0
	if s.IntN(3) == 0 {
		device = 1
	}
	driver := 1
	if s.apart {
		driver, shape, device, executors = 0, 1, 1, executors+1
		switch s.IntN(5) {
		case 0, 1:
			shape = 0
		case 2, 3:
			device = 0
		}
	}
	a := &simApp{tenant: t, queued: s.now, first: -1, could: -1, driver: driver, asks: amounts{simCPU: driver + executors*shape, simGPU: executors * device}}
	for _, limit := range []amounts{t.hard, t.max} {
		if limit != nil && !a.asks.fits(limit) {
			return
		}
	}
	if t.min != nil && !a.asks.fits(s.mins()) {
		return
	}
	pod := func(cpu, gpu int) spark.PodResources {
		r := corev1.ResourceList{simCPU: *resource.NewQuantity(int64(cpu), resource.DecimalSI)}
		if gpu > 0 {
			r[simGPU] = *resource.NewQuantity(int64(gpu), resource.DecimalSI)
		}
		return spark.PodResources{Requests: r}
	}
	a.Attempt = scheduler.Attempt{
		ID: fmt.Sprintf("app-%03d", s.IntN(1000)*1000+n), QueuedAt: at(s.now), App: scheduler.App{Namespace: t.name, Name: fmt.Sprint(n)}, Choice: scheduler.Choice{Scheduler: "batch"},
		PodSets: spark.PodSets{Driver: pod(driver, 0), Executor: pod(shape, device), Initial: int32(executors), Min: int32(executors), Max: int32(executors)},
	}
	if a.rank = s.IntN(4) - 1; a.rank != 0 {
		a.PriorityClass = fmt.Sprint("class", a.rank)
	}
	a.askAt = s.now
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
	expects := asked.Quota.Expected
	if s.asks != nil {
		s.asks(&asked)
	}
	answer, err := scheduler.AdmitAttempt(s.plugin, asked, seen)
	if err != nil || answer.Verdict == scheduler.Reject {
		s.fail("%s: %+v, %v", a.ID, answer, err)
		return
	}
	s.judge(a, answer.Verdict == scheduler.Admit, expects)
	a.lines, a.asked = slices.Clone(answer.Lines), true
	if s.places != nil {
		s.places(&asked, answer.Lines)
	}
	s.enqueue(s.ledger.Record(asked, answer, at(s.now)))
	if a.askAt = s.now + max(1, int(answer.RetryAfter/time.Second)); answer.Verdict == scheduler.Admit {
		s.start(a)
	}
}

// start lets the pods of an application come.
func (s *simulation) start(a *simApp) {
	a.phase, a.created, a.running = simAdmitted, nil, nil
	created := s.now + s.IntN(3)
	last := 0
	for range 1 + a.PodSets.Initial {
		runs := created + s.IntN(3)
		a.created, a.running = append(a.created, created), append(a.running, runs)
		last = max(last, runs)
		created = runs + s.IntN(2)
	}
	a.ends = last + 1 + s.IntN(simRun)
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

// crash replaces the operator: what has a driver is entered again, what waits is expected, and what was admitted and has no driver waits again.
func (s *simulation) crash() {
	s.ledger = scheduler.NewLedger(s.order)
	for _, a := range s.apps {
		if a.phase == simAdmitted && a.created[0] > s.now {
			a.phase, a.ends = simWaits, 0
		}
		switch {
		case a.phase == simAdmitted && a.ends > s.now:
			s.ledger.Reserve(a.Attempt)
			s.ledger.Settle(a.ID, scheduler.ProgressOf(s.pods(a)), at(s.now))
		case a.phase == simAdmitted:
			a.phase = simEnded
		case a.phase == simWaits && len(a.lines) > 0 && !s.forgets:
			s.ledger.Expect(a.ID, at(s.now))
		}
		if a.askAt, a.first, a.could = s.now+s.IntN(3), -1, -1; a.phase == simWaits {
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
	for _, a := range s.apps {
		switch {
		case a.phase == simAdmitted && a.ends <= s.now:
			if s.IntN(2) == 0 {
				a.phase = simEnded
				s.enqueue(s.ledger.Release(a.ID, at(s.now)))
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
	s.judgeAge(waiting)
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

// older is whether one comes before another among those that none may pass.
func older(w, a *simApp) bool {
	return cmp.Or(cmp.Compare(w.queued, a.queued), cmp.Compare(w.ID, a.ID)) < 0
}
