// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/firesteel-dev/firesteel/internal/config"
)

var (
	errDown       = errors.New("connection refused")
	leaseResource = schema.GroupResource{Resource: "leases"}
)

// leaseServer is an API server that holds one lease.
type leaseServer struct {
	coordinationclient.LeaseInterface
	lease   *coordinationv1.Lease
	version int
	// failure is the answer to the requests of some verbs, or of all if there are none.
	failure error
	fails   string
	log     []string
}

func (s *leaseServer) ask(verb string) error {
	s.log = append(s.log, verb)
	if s.fails != "" && s.fails != verb {
		return nil
	}
	return s.failure
}

func (s *leaseServer) store(lease *coordinationv1.Lease) *coordinationv1.Lease {
	s.version++
	s.lease = lease.DeepCopy()
	s.lease.ResourceVersion = strconv.Itoa(s.version)
	return s.lease.DeepCopy()
}

func (s *leaseServer) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := s.ask("get"); err != nil {
		return nil, err
	}
	if s.lease == nil {
		return nil, apierrors.NewNotFound(leaseResource, name)
	}
	return s.lease.DeepCopy(), nil
}

func (s *leaseServer) Create(_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if err := s.ask("create"); err != nil {
		return nil, err
	}
	return s.store(lease), nil
}

func (s *leaseServer) Update(_ context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if err := s.ask("update"); err != nil {
		return nil, err
	}
	if lease.ResourceVersion != s.lease.ResourceVersion {
		return nil, apierrors.NewConflict(leaseResource, lease.Name, errors.New("changed"))
	}
	return s.store(lease), nil
}

// calls returns what was asked since it was called last.
func (s *leaseServer) calls() string {
	all := strings.Join(s.log, " ")
	s.log = nil
	return all
}

// replica is a lock of one replica, and what its watch has seen.
type replica struct {
	*resourcelock.LeaseLock
	seen *coordinationv1.Lease
}

func (s *leaseServer) replica(name string, now *clocktesting.FakeClock) *replica {
	r := &replica{}
	r.LeaseLock = &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: "ops", Name: "lock"}, LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		Client: &leaseClient{
			LeaseInterface: s, identity: name, clock: now, every: time.Second, patience: time.Minute,
			watched: func() *coordinationv1.Lease { return r.seen },
		},
	}
	return r
}

func (r *replica) renew(t *testing.T, ok bool) {
	t.Helper()
	if err := r.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: r.Identity()}); (err == nil) != ok {
		t.Errorf("renewal of %s: %v", r.Identity(), err)
	}
}

func (r *replica) holder(t *testing.T) string {
	t.Helper()
	record, _, err := r.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return record.HolderIdentity
}

func expect(t *testing.T, s *leaseServer, want, reason string) {
	t.Helper()
	if diff := cmp.Diff(want, s.calls()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

// leading returns a server and a replica that has just become leader.
func leading(t *testing.T, now *clocktesting.FakeClock) (*leaseServer, *replica) {
	t.Helper()
	s := &leaseServer{}
	r := s.replica("a", now)
	if _, _, err := r.Get(t.Context()); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if err := r.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "a"}); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "get create", "without a watch, the API server is asked")
	return s, r
}

func TestRenewalsAreRare(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	s, r := leading(t, now)
	for range 30 {
		now.Step(100 * time.Millisecond)
		r.renew(t, true)
	}
	expect(t, s, "update update update", "three seconds take three renewals, however often the elector asks")

	if err := r.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "update", "a release is sent at once")
	r.renew(t, true)
	expect(t, s, "update", "a lease that was given up is not renewed from memory")
}

func TestFailedRenewalIsRepeated(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	s, r := leading(t, now)
	s.failure = errDown
	now.Step(900 * time.Millisecond)
	r.renew(t, true)
	expect(t, s, "", "a renewal is young enough")
	now.Step(100 * time.Millisecond)
	r.renew(t, true)
	now.Step(time.Hour)
	r.renew(t, true)
	expect(t, s, "update update", "a renewal that failed is not believed to be stored: the next is sent, too")
	s.failure = nil
	if got := r.holder(t); got != "a" {
		t.Errorf("led by %q", got)
	}
	r.renew(t, true)
	expect(t, s, "get update", "the outcome of the failed one is not known, so that the lease is read")
}

// A leader ends when it is told that it is none any more, and not because it is told nothing.
func TestLeaderGoesOnUntilItIsReplaced(t *testing.T) {
	cases := map[string]struct {
		reason  string
		failure error
		seen    string
		lost    bool
	}{
		"Refused":   {reason: "the API server is down", failure: errDown},
		"Slow":      {reason: "it does not answer in time", failure: context.DeadlineExceeded},
		"Starting":  {reason: "one that has just started knows no roles yet", failure: apierrors.NewForbidden(leaseResource, "lock", errors.New("no RBAC policy matched"))},
		"Busy":      {reason: "it has too much to do", failure: apierrors.NewTooManyRequests("later", 1)},
		"Own":       {reason: "the watch shows our own renewal", failure: errDown, seen: "a"},
		"Gone":      {reason: "it was deleted, and another may make it", failure: apierrors.NewNotFound(leaseResource, "lock"), lost: true},
		"Seen":      {reason: "the watch shows another holder, though renewals have no answer", failure: errDown, seen: "b", lost: true},
		"GivenBack": {reason: "the watch shows that nobody holds it: others may follow", failure: errDown, seen: "-", lost: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakeClock(time.Unix(0, 0))
			s, r := leading(t, now)
			if tc.seen != "" {
				r.seen = s.lease.DeepCopy()
				r.seen.ResourceVersion, r.seen.Spec.HolderIdentity = "2", new(strings.Trim(tc.seen, "-"))
			}
			s.failure = tc.failure
			now.Step(time.Second)
			if err := r.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "a"}); (err != nil) != tc.lost {
				t.Errorf("%s: %v, want lost: %t", tc.reason, err, tc.lost)
			}
		})
	}

	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	s, r := leading(t, now)
	s.failure = errDown
	if err := r.Update(t.Context(), resourcelock.LeaderElectionRecord{}); !errors.Is(err, errDown) {
		t.Errorf("a lease that could not be given back: %v", err)
	}
	standby := s.replica("b", now)
	standby.seen = s.lease.DeepCopy()
	if standby.holder(t) != "a" {
		t.Error("the standby does not read the watch")
	}
	standby.renew(t, false)
}

// A slow API server may store a renewal of which the leader was told nothing, and be as slow when the leader reads what there is now.
func TestRenewalThatWasStoredLate(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	s, r := leading(t, now)
	s.store(s.lease)
	s.failure, s.fails = context.DeadlineExceeded, "get"
	now.Step(time.Second)
	r.renew(t, true)
	r.renew(t, true)
	expect(t, s, "update get update get", "the Lease is another version, of which is not known whose it is")
	s.failure = nil
	r.renew(t, true)
	r.renew(t, true)
	r.renew(t, true)
	expect(t, s, "update get update", "it is our own: renewed from there, and then rarely as always")
}

func TestStolenLeaseIsNoticed(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	s, r := leading(t, now)
	thief := s.replica("b", now)
	thief.holder(t)
	thief.renew(t, true)
	now.Step(time.Second)
	r.renew(t, false)
	if got := r.holder(t); got != "b" {
		t.Errorf("led by %q", got)
	}
	if r.seen = s.lease; r.holder(t) != "b" {
		t.Error("the watch sends something else")
	}
}

func TestStandbyCostsNothing(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	s, _ := leading(t, now)
	standby := s.replica("b", now)
	standby.seen = s.lease
	for range 100 {
		if got := standby.holder(t); got != "a" {
			t.Fatalf("led by %q", got)
		}
	}
	expect(t, s, "", "the watch has sent it all")

	released := s.lease.DeepCopy()
	released.Spec.HolderIdentity = new("")
	s.store(released)
	standby.seen = s.lease
	if got := standby.holder(t); got != "" {
		t.Fatalf("led by %q", got)
	}
	standby.renew(t, true)
	expect(t, s, "update", "what the watch sends is enough to follow")
}

// A watch that is late lets a held lease look expired, or a released one look held for a while; it never gives it to two.
func TestLateWatch(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	s, leader := leading(t, now)
	standby := s.replica("b", now)
	standby.seen = s.lease
	standby.holder(t)
	now.Step(time.Second)
	leader.renew(t, true)
	s.calls()

	standby.holder(t)
	standby.renew(t, false)
	expect(t, s, "update", "the lease that looked expired was renewed: the API server refuses")
	standby.holder(t)
	standby.holder(t)
	expect(t, s, "get get", "from here the watch is known to be late")
	standby.seen = s.lease
	if got := standby.holder(t); got != "a" {
		t.Errorf("led by %q", got)
	}
	expect(t, s, "", "the watch has caught up")
}

func TestLeaseIsDeleted(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	s, _ := leading(t, now)
	standby := s.replica("b", now)
	standby.seen = s.lease
	standby.holder(t)
	s.lease, standby.seen = nil, nil
	if _, _, err := standby.Get(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("a lease that is gone is to be created, got %v", err)
	}
}

// The elector changes what it is given.
func TestMemoryIsNotShared(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	s, r := leading(t, now)
	standby := s.replica("b", now)
	standby.seen = s.lease.DeepCopy()
	standby.holder(t)
	standby.renew(t, true)
	if got := *standby.seen.Spec.HolderIdentity; got != "a" {
		t.Errorf("the watch's own copy says %q now", got)
	}
	r.renew(t, true)
	expect(t, s, "update", "within the second")
}

func TestElectionNamespace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	defer func(was string) { podNamespaceFile = was }(podNamespaceFile)
	podNamespaceFile = file
	c, err := config.Parse([]byte("apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newElection(&rest.Config{Host: "https://127.0.0.1:1"}, c.LeaderElection); err == nil || !strings.Contains(err.Error(), "leaderElection.namespace: name one") {
		t.Errorf("outside a pod no one knows the namespace: %v", err)
	}
	if err := os.WriteFile(file, []byte("ops"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := newElection(&rest.Config{Host: "https://127.0.0.1:1"}, c.LeaderElection)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := e.lock.Describe(), "ops/spark-operator-controller-lock"; got != want {
		t.Errorf("lock %s, want %s", got, want)
	}
	if e.NeedLeaderElection() {
		t.Error("a standby has to watch")
	}
}

// What bounds the election must not bound the operator: rest.AddUserAgent changes the configuration that it is given.
func TestElectionLeavesTheOperatorsConfigurationAlone(t *testing.T) {
	c, err := config.Parse([]byte("apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\nleaderElection: {namespace: ops}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := &rest.Config{Host: "https://127.0.0.1:1", QPS: -1, Burst: 30, UserAgent: "spark-operator"}
	if _, err := newElection(cfg, c.LeaderElection); err != nil {
		t.Fatal(err)
	}
	if cfg.QPS != -1 || cfg.Burst != 30 || cfg.UserAgent != "spark-operator" {
		t.Errorf("the operator may send %v requests a second, %d at once, as %s", cfg.QPS, cfg.Burst, cfg.UserAgent)
	}
}
