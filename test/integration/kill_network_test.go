// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// cutOff are the specs of operators whose way to the API server is lost, in one direction or in both, and which stand still: their requests
// arrive late, or the answers never do, and another one leads meanwhile.
func cutOff(l *lab) {
	It("keeps its promises behind a network that loses answers and delivers late", safety, func(ctx SpecContext) {
		// 250 kills take half an hour
		s := l.besiege(ctx, &siege{operators: 2, kills: testrun.Pick(1, 3, 250), applications: testrun.Pick(10, 20, 500), cutOff: true})
		Expect(strings.Join(s.prove(ctx), "\n")).To(BeEmpty())
		var groups unstructured.UnstructuredList
		groups.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("PodGroupList"))
		Eventually(ctx, func() ([]string, error) {
			var left []string
			err := l.client.List(ctx, &groups, client.InNamespace(s.namespace))
			for _, g := range groups.Items {
				left = append(left, fmt.Sprintf("%s of %v", g.GetName(), g.GetLabels()))
			}
			return left, err
		}, wait).Should(BeEmpty(), "no group is left over when all is over")
		publish("network", "network: %s; the network failed %d times, operators stood still %d times, no group was left over", s, s.cuts.Load(), s.standstills.Load())
	}, NodeTimeout(testrun.Pick(5*time.Minute, 8*time.Minute, time.Hour)))
}

// way is a proxy between an operator and the API server, which holds the bytes of one direction back, or of both, while it storms.
type way struct {
	server string
	mu     sync.Mutex
	calm   *sync.Cond
	// held are the directions in which nothing passes: requests, answers.
	held  [2]bool
	links map[net.Conn]bool
}

const (
	toServer = iota
	toOperator
)

// through leads an operator through a way of its own.
func (o *operator) through(ctx context.Context) *way {
	GinkgoHelper()
	config, err := clientcmd.LoadFromFile(o.lab.kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	w := &way{links: map[net.Conn]bool{}}
	w.calm = sync.NewCond(&w.mu)
	for _, cluster := range config.Clusters {
		w.server = strings.TrimPrefix(cluster.Server, "https://")
		cluster.Server = "https://" + listener.Addr().String()
	}
	o.kubeconfig = filepath.Join(filepath.Dir(o.config), "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, o.kubeconfig)).To(Succeed())
	DeferCleanup(func() {
		Expect(listener.Close()).To(Succeed())
		w.cut()
		w.hold(false, false)
	})
	go func() {
		for {
			here, err := listener.Accept()
			if err != nil {
				return
			}
			go w.link(ctx, here)
		}
	}()
	return w
}

// link carries one connection until an end closes it.
func (w *way) link(ctx context.Context, here net.Conn) {
	there, err := new(net.Dialer).DialContext(ctx, "tcp", w.server)
	if err != nil {
		_ = here.Close()
		return
	}
	w.mu.Lock()
	w.links[here], w.links[there] = true, true
	w.mu.Unlock()
	go w.carry(there, here, toServer)
	w.carry(here, there, toOperator)
}

// carry carries one direction.
func (w *way) carry(to, from net.Conn, direction int) {
	defer func() {
		_, _ = to.Close(), from.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.links, from)
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		w.mu.Lock()
		for w.held[direction] {
			w.calm.Wait()
		}
		w.mu.Unlock()
		if _, lost := to.Write(buffer[:n]); lost != nil || err != nil {
			return
		}
	}
}

// hold holds bytes back, or lets those pass that were held.
func (w *way) hold(requested, answered bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = [2]bool{toServer: requested, toOperator: answered}
	w.calm.Broadcast()
}

// cut ends all connections, and what was held back in them is lost.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for link := range w.links {
		_ = link.Close()
	}
}

// storms holds back requests, answers or both for longer than a lease at times, and then delivers or loses them.
func (s *siege) storms(ctx context.Context, w *way, r *rand.Rand) {
	for pause(ctx, time.Duration(500+r.IntN(4000))*time.Millisecond) {
		direction := r.IntN(3)
		w.hold(direction != toOperator, direction != toServer)
		pause(ctx, time.Duration(200+r.IntN(10_000))*time.Millisecond)
		if r.IntN(2) == 0 {
			w.cut()
		}
		w.hold(false, false)
		s.cuts.Add(1)
	}
}

// standstill lets an operator live for some seconds, in which it stands still for longer than its lease at times, as a process does that gets no
// processor.
func (s *siege) standstill(ctx context.Context, op *operator, r *rand.Rand) {
	lifetime := time.Duration(3000+r.IntN(6000)) * time.Millisecond
	for range min(s.count.Load()-int64(s.kills), mostDelays) {
		lifetime += lifetime / 2
	}
	if !pause(ctx, lifetime) || r.IntN(2) == 0 {
		return
	}
	_ = op.cmd.Process.Signal(syscall.SIGSTOP) // that it has ended is told by end
	pause(ctx, time.Duration(1000+r.IntN(8000))*time.Millisecond)
	_ = op.cmd.Process.Signal(syscall.SIGCONT)
	s.standstills.Add(1)
	pause(ctx, lifetime)
}
