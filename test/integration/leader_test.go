// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// leading are the specs of a leader and its standby, with the lease as it is by default.
func leading(l *lab) {
	It("follows a leader that stops at once, and one that crashes in seconds", func(ctx SpecContext) {
		stops, kills, window := testrun.Pick(3, 6, 6), testrun.Pick(1, 2, 4), testrun.Pick(3*time.Second, 5*time.Second, 10*time.Second)
		d := l.duel(ctx)

		By("counting what they ask while there is nothing to do")
		before := l.requests()
		Expect(pause(ctx, window)).To(BeTrue())
		asked := 0
		for what, n := range l.requests() {
			if n -= before[what]; n > 0 && !strings.HasPrefix(what, "watch ") { // one that ends is begun again, once in minutes
				GinkgoWriter.Printf("%d %s\n", n, what)
				asked += n
			}
		}
		Expect(asked).To(BeNumerically("<", 2*window/time.Second), "requests of leader and standby in %s", window)

		By("stopping the leader")
		var stopped []time.Duration
		for range stops {
			stopped = append(stopped, d.round(ctx, syscall.SIGTERM))
		}

		By("killing the leader")
		r := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
		var killed []time.Duration
		for range kills {
			pause(ctx, time.Duration(r.IntN(1000))*time.Millisecond) // any moment between two renewals
			killed = append(killed, d.round(ctx, syscall.SIGKILL))
		}

		Expect(d.history.violations()).To(BeEmpty())
		Expect(d.history.created()).To(Equal(stops + kills))
		publish("leadership", "leadership: leader stopped -> driver by the other: median %d ms, slowest %d ms of %d, after at most %d ms for stopping; leader killed: median %.1f s, slowest %.1f s of %d; leader and standby at rest ask %d requests a minute",
			median(stopped).Milliseconds(), slices.Max(stopped).Milliseconds(), stops, d.stopping.Milliseconds(), median(killed).Seconds(), slices.Max(killed).Seconds(), kills, asked*int(time.Minute/window))
	}, NodeTimeout(3*time.Minute))

	It("goes on after an API server that did not answer for longer than its lease", func(ctx SpecContext) {
		ns := l.namespace(ctx)
		op, history := l.operator(ns, elected), l.watchDrivers(ctx, ns, nil)
		DeferCleanup(func() { _ = op.end(syscall.SIGKILL) })
		Expect(op.start()).To(Succeed())
		op.says(leads)

		l.freeze(ctx, 8*time.Second) // lease, renewDeadline and a second for each
		a := sparkPi(ns, "after")
		Expect(l.client.Create(ctx, a)).To(Succeed())
		Eventually(ctx, func() []driven { return history.of(a.UID) }, wait).Should(HaveLen(1), op.log.String)
		Expect(op.end(syscall.SIGTERM)).To(Succeed())
		Expect(history.violations()).To(BeEmpty())
	}, NodeTimeout(time.Minute))
}

// freeze stops the API server for a while: its connections stay open, and nothing is answered.
func (l *lab) freeze(ctx context.Context, d time.Duration) {
	GinkgoHelper()
	server := l.server()
	Expect(server.Signal(syscall.SIGSTOP)).To(Succeed())
	defer func() { Expect(server.Signal(syscall.SIGCONT)).To(Succeed()) }()
	Expect(pause(ctx, d)).To(BeTrue())
}

// server is the process of the API server, which envtest does not tell: the one that writes our audit log.
func (l *lab) server() *os.Process {
	GinkgoHelper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range all {
		line, _ := os.ReadFile(path) // it may have ended
		if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))); strings.Contains(string(line), "--audit-log-path="+l.audit) {
			server, err := os.FindProcess(pid)
			Expect(err).NotTo(HaveOccurred())
			return server
		}
	}
	Fail("no process writes " + l.audit)
	return nil
}

func median(all []time.Duration) time.Duration { return slices.Sorted(slices.Values(all))[len(all)/2] }

// holders are those who hold a lease.
func (l *lab) holders(ctx context.Context) []string {
	GinkgoHelper()
	leases, err := l.pods.CoordinationV1().Leases(leaseNamespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	var out []string
	for _, lease := range leases.Items {
		if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != "" {
			out = append(out, holder)
		}
	}
	return out
}

// duel is a leader and its standby.
type duel struct {
	lab             *lab
	namespace       string
	leader, standby *operator
	history         *history
	rounds          int
	// stopping is how long a leader took at most from SIGTERM to the end of its process.
	stopping time.Duration
}

const (
	elected = "leaderElection: {enabled: true, namespace: " + leaseNamespace + "}"
	leads   = "Successfully acquired lease"
	watches = "Attempting to acquire leader lease"
)

// duel starts two operators. The standby has seen everything when it begins to look at the lease.
func (l *lab) duel(ctx SpecContext) *duel {
	GinkgoHelper()
	ns := l.namespace(ctx)
	d := &duel{lab: l, namespace: ns, history: l.watchDrivers(ctx, ns, nil)}
	for _, op := range []**operator{&d.leader, &d.standby} {
		*op = l.operator(ns, elected)
		one := *op
		DeferCleanup(func() { _ = one.end(syscall.SIGKILL) })
		Expect(one.start()).To(Succeed())
		one.says(watches)
		d.leader.says(leads)
	}
	return d
}

// round ends the leader, creates an application once its process is gone, and returns how long after the end that
// application has its driver. A leader that is killed ends when the signal is sent. The previous leader then becomes the
// standby.
func (d *duel) round(ctx SpecContext, signal syscall.Signal) time.Duration {
	GinkgoHelper()
	held := d.lab.holders(ctx)
	Expect(held).NotTo(BeEmpty())
	ended := time.Now()
	Expect(d.leader.end(signal)).To(Succeed())
	if signal != syscall.SIGKILL {
		Expect(d.lab.holders(ctx)).NotTo(ContainElement(BeElementOf(held)), "a leader that is stopped gives the lease back, so that nobody waits until it expires")
		d.stopping = max(d.stopping, time.Since(ended))
		ended = time.Now()
	}
	d.rounds++
	a := sparkPi(d.namespace, fmt.Sprintf("app-%d", d.rounds))
	Expect(d.lab.client.Create(ctx, a)).To(Succeed())
	Eventually(ctx, func() []driven { return d.history.of(a.UID) }, wait, time.Millisecond).Should(HaveLen(1), func() string { return d.standby.log.String() })
	took := d.history.of(a.UID)[0].seen.Sub(ended)
	GinkgoWriter.Printf("%s -> %s\n", signal, took)
	d.standby.says(leads)
	d.leader, d.standby = d.standby, d.leader
	Expect(d.standby.start()).To(Succeed())
	d.standby.says(watches)
	return took
}
