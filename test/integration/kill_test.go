// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler/coscheduling"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// killed are the specs of an operator that crashes.
func killed(l *lab) {
	It("never has two drivers of an application, nor loses one, however often it is killed", safety, func(ctx SpecContext) {
		s := l.besiege(ctx, &siege{operators: 1, kills: testrun.Pick(20, 60, 200), applications: 50})
		Expect(strings.Join(s.prove(ctx), "\n")).To(BeEmpty())
		publish("kills", "kills: %s", s)
	}, NodeTimeout(5*time.Minute))

	It("shares the applications with another that believes to lead, and both are killed", safety, func(ctx SpecContext) {
		s := l.besiege(ctx, &siege{operators: 2, kills: testrun.Pick(10, 30, 100), applications: 30})
		Expect(strings.Join(s.prove(ctx), "\n")).To(BeEmpty())
		publish("two-leaders", "two leaders: %s", s)
	}, NodeTimeout(5*time.Minute))
}

// mostDelays makes a life about 100 times as long.
const mostDelays = 12

// siege is a number of applications under operators that are killed all the time.
type siege struct {
	operators, kills, applications int
	// cutOff elects a leader among the operators, and lets each lose its way to the API server now and then, or stand still.
	cutOff bool

	lab       *lab
	namespace string
	seed      uint64
	history   *history
	plots     []*plot
	people    []*person
	absent    sync.WaitGroup
	count     atomic.Int64
	// orphans are the submissions whose driver was found without a record of it.
	orphans sync.Map
	took    time.Duration
	// ways are those of the operators to the API server; cuts and standstills count what the operators went through.
	ways              []*way
	cuts, standstills atomic.Int64
	// pace is how long an operator needs from its start to its first driver: deaths follow about as fast.
	pace time.Duration
}

func (s *siege) String() string {
	orphans := 0
	s.orphans.Range(func(any, any) bool { orphans++; return true })
	return fmt.Sprintf("%d kills of %d operator(s), %d applications, %d drivers created, %d of them not recorded when their operator was killed: none doubled, none lost, all ended as they should; %.0f s, %d ms from an operator's start to its first driver, seed %d",
		s.count.Load(), s.operators, s.applications, s.history.created(), orphans, s.took.Seconds(), s.pace.Milliseconds(), s.seed)
}

// besiege runs until there were enough kills and every application has ended.
func (l *lab) besiege(ctx SpecContext, s *siege) *siege {
	GinkgoHelper()
	s.lab, s.namespace, s.seed = l, l.namespace(ctx), uint64(GinkgoRandomSeed())
	GinkgoWriter.Printf("seed %d\n", s.seed)
	r := rand.New(rand.NewPCG(s.seed, uint64(s.operators)))
	for i := range s.applications {
		p := newPlot(s.namespace, i, r)
		if s.cutOff {
			p.app.Spec.BatchScheduler = new(coscheduling.Name)
		}
		s.plots = append(s.plots, p)
	}
	node := &nodeAgent{client: l.client, ctx: ctx, script: s.script, goes: 60 * time.Millisecond}
	s.history = l.watchDrivers(ctx, s.namespace, node.follow)
	ops := make([]*operator, s.operators)
	for i := range ops {
		if s.cutOff {
			ops[i] = l.operator(s.namespace, elected+"\nbatchScheduler: {default: "+coscheduling.Name+"}")
			s.ways = append(s.ways, ops[i].through(ctx))
			continue
		}
		ops[i] = l.operator(s.namespace, "leaderElection: {enabled: false}")
	}
	began := time.Now()
	s.enter(ctx)
	s.measure(ctx, ops[0])

	fighting, retreat := context.WithCancel(ctx)
	dead := make(chan error, len(ops))
	for i, op := range ops {
		s.absent.Go(func() { dead <- s.fight(fighting, op, rand.New(rand.NewPCG(s.seed, uint64(100+i)))) })
	}
	DeferCleanup(func() { retreat(); s.absent.Wait() })
	stormy, calm := context.WithCancel(fighting)
	for i, w := range s.ways {
		s.absent.Go(func() { s.storms(stormy, w, rand.New(rand.NewPCG(s.seed, uint64(200+i)))) })
	}
	for len(s.people) < s.applications {
		s.reach(ctx, int64(len(s.people)*s.kills*9/10/s.applications))
		s.enter(ctx)
	}
	s.reach(ctx, int64(s.kills))
	calm()
	Eventually(ctx, s.unfinished, 2*time.Minute, 200*time.Millisecond).Should(BeEmpty())
	s.took = time.Since(began)
	retreat()
	for range ops {
		Eventually(dead, wait).Should(Receive(BeNil()))
	}
	s.absent.Wait()
	return s
}

// enter creates the next application and sends its person.
func (s *siege) enter(ctx context.Context) {
	GinkgoHelper()
	p := s.plots[len(s.people)]
	Expect(s.lab.client.Create(ctx, p.app)).To(Succeed())
	h := &person{ctx: ctx, client: s.lab.client, key: client.ObjectKeyFromObject(p.app)}
	s.people = append(s.people, h)
	s.absent.Go(func() {
		if p.person != nil {
			p.person(h)
		}
		h.done.Store(true)
	})
}

// measure lets the first application begin, and kills its operator.
func (s *siege) measure(ctx context.Context, op *operator) {
	GinkgoHelper()
	// The API server needs a second to serve a definition for the first time, which is not the operator's.
	Expect(s.lab.client.List(ctx, &v1beta2.SparkApplicationList{})).To(Succeed())
	Expect(s.lab.client.List(ctx, &v1beta2.ScheduledSparkApplicationList{})).To(Succeed())
	Expect(s.lab.client.List(ctx, &v1alpha1.SparkConnectList{})).To(Succeed())
	began := time.Now()
	Expect(op.start()).To(Succeed())
	defer func() { _ = op.end(syscall.SIGKILL) }()
	Eventually(ctx, s.history.created, wait, time.Millisecond).Should(BeNumerically(">=", 1), func() string { return op.log.String() })
	s.pace = time.Since(began)
	GinkgoWriter.Printf("from start to first driver: %s\n", s.pace)
	s.count.Add(1)
}

// fight starts an operator and kills it, again and again.
func (s *siege) fight(ctx context.Context, op *operator, r *rand.Rand) error {
	for ctx.Err() == nil {
		if err := op.start(); err != nil {
			return err
		}
		if s.cutOff {
			s.standstill(ctx, op, r)
		} else {
			s.moment(ctx, r)
		}
		if err := op.end(syscall.SIGKILL); err != nil {
			return err
		}
		s.count.Add(1)
		s.bury(ctx)
	}
	return nil
}

// bury looks for drivers whose creator has not lived to record them.
func (s *siege) bury(ctx context.Context) {
	var list v1beta2.SparkApplicationList
	if s.lab.client.List(ctx, &list, client.InNamespace(s.namespace)) != nil {
		return // it is over
	}
	for _, a := range list.Items {
		for _, d := range s.history.of(a.UID) {
			if !slices.ContainsFunc(a.Status.Attempts, func(t v1beta2.AttemptStatus) bool { return t.SubmissionID == d.submission }) {
				s.orphans.Store(d.submission, true)
			}
		}
	}
}

// moment passes when it is time to die: at random, and every other time within moments of a driver's creation or
// removal, where an operator has the most to lose. After the last kill that is asked for, each process lives half as long again as the one before:
// the machine may have become slower since the pace was measured.
func (s *siege) moment(ctx context.Context, r *rand.Rand) {
	lifetime := s.pace/4 + time.Duration(r.Int64N(int64(5*s.pace/4)))
	for range min(s.count.Load()-int64(s.kills), mostDelays) {
		lifetime += lifetime / 2
	}
	if !pause(ctx, lifetime) || r.IntN(2) == 0 {
		return
	}
	bound, stop := context.WithTimeout(ctx, s.pace)
	defer stop()
	select {
	case <-s.history.next():
		pause(ctx, time.Duration(r.IntN(4000))*time.Microsecond)
	case <-bound.Done():
	}
}

// patience is how long the next kills may take.
func (s *siege) patience() time.Duration {
	if s.cutOff {
		return 10 * time.Minute
	}
	return 3 * time.Minute
}

// reach waits for a number of kills.
func (s *siege) reach(ctx context.Context, kills int64) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(s.count.Load()).To(BeNumerically(">=", kills))
	}, s.patience(), 20*time.Millisecond).Should(Succeed())
	Expect(s.history.violations()).To(BeEmpty())
}

func (s *siege) script(pod *corev1.Pod, n int) ending {
	for _, p := range s.plots {
		if p.app.Name == pod.Labels["sparkoperator.k8s.io/app-name"] {
			return p.script(pod, n)
		}
	}
	return ending{}
}

// unfinished returns what has not ended.
func (s *siege) unfinished(ctx context.Context) ([]string, error) {
	var left []string
	for i, p := range s.plots {
		var a v1beta2.SparkApplication
		if err := s.lab.client.Get(ctx, client.ObjectKeyFromObject(p.app), &a); err != nil {
			return nil, err
		}
		state := a.Status.AppState.State
		if !s.people[i].done.Load() || state != completed && state != failed || a.Status.ObservedGeneration != a.Generation {
			left = append(left, fmt.Sprintf("%s, which %s, is not over (person: %v): %s", a.Name, p.title, s.people[i].failure(), s.describe(&a)))
		}
	}
	return left, nil
}

// describe returns what status and history say.
func (s *siege) describe(a *v1beta2.SparkApplication) string {
	st := a.Status
	text := fmt.Sprintf("%s %q, generation %d, observed %d, spec %s, attempt %d, executions %d, submissions %d; drivers:",
		st.AppState.State, st.AppState.ErrorMessage, a.Generation, st.ObservedGeneration, st.SpecHash, st.Attempt, st.ExecutionAttempts, st.SubmissionAttempts)
	for _, d := range s.history.of(a.UID) {
		text += fmt.Sprintf(" %s of spec %s, ended %t;", d.name, d.specHash, d.ended)
	}
	for _, past := range st.Attempts {
		text += fmt.Sprintf(" attempt %d: %s;", past.Attempt, past.Reason)
	}
	return text
}

// prove returns everything that went wrong.
func (s *siege) prove(ctx context.Context) []string {
	GinkgoHelper()
	wrong := s.history.violations()
	for i, p := range s.plots {
		var a v1beta2.SparkApplication
		Expect(s.lab.client.Get(ctx, client.ObjectKeyFromObject(p.app), &a)).To(Succeed())
		accuse := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("%s, which %s: %s; %s", a.Name, p.title, fmt.Sprintf(format, args...), s.describe(&a)))
		}
		if err := s.people[i].err; err != nil {
			accuse("%v", err)
		}
		drivers := s.history.of(a.UID)
		current := slices.DeleteFunc(slices.Clone(drivers), func(d driven) bool { return d.specHash != a.Status.SpecHash })
		switch {
		case a.Status.AppState.State != p.state:
			accuse("ended %s, not %s", a.Status.AppState.State, p.state)
		case p.drivers != 0 && len(drivers) != p.drivers:
			accuse("had %d drivers, not %d", len(drivers), p.drivers)
		case int(a.Status.Attempt) != len(drivers):
			accuse("had %d drivers in %d attempts", len(drivers), a.Status.Attempt)
		case int(a.Status.ExecutionAttempts) != len(current):
			accuse("counts %d executions of its spec, but had %d drivers", a.Status.ExecutionAttempts, len(current))
		case slices.ContainsFunc(drivers, func(d driven) bool { return !d.ended }):
			accuse("has ended, but not its driver")
		}
	}
	return wrong
}
