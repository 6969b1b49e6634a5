// SPDX-License-Identifier: Apache-2.0

// Package hostile attacks the operator: its real process, in a cgroup with the memory limit of the chart, with the
// configuration that the chart renders, beside a real kube-apiserver and etcd. There is no kubelet; attacks that need
// running pods write their statuses.
//
// An attack is a value. A file of attacks adds them in its init function; each attack has a namespace of its own.
// After each one the operator must be the same process, must never have asked for more memory than its limit, and a bystander's
// application in another namespace must be submitted next in order.
package hostile

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// attack is one thing that an attacker does.
type attack struct {
	// name is that of the subtest, reason why it must fail.
	name, reason string
	// by is who attacks; the actor that arena.as is.
	by actor
	// policy is the one that holds in the attack's namespace, beside that of the hardened chart: open (no limits), limited or one of
	// testdata/policies.yaml; open if empty.
	policy string
	// shared says that the attack leaves nothing behind and takes place in the namespace that such attacks under its policy share: each
	// namespace on the operator's list costs it, and the API server, a dozen watches.
	shared bool
	// do attacks. What the API server answers is an answer and no error; an error says that the attack could not be made.
	do func(*arena) error
	// cannot says what came of it that must not, or waits, with a bound, for what must come of it. It may be nil.
	cannot func(*arena) error
	// told is a part of what the attacker is told, in a condition, an event or an answer of the API server. It may be
	// empty for what is simply done, or ignored.
	told string
	// weak says why the attack is not made on the hardened chart: "" for those that are.
	weak string
}

// actor is a user of the API server, who has no other rights than those of its role.
type actor string

const (
	// tenant may create, edit, read and delete applications, schedules and servers in one namespace.
	tenant actor = "tenant"
	// driverCode has the rights of a driver's service account.
	driverCode actor = "driver"
)

// Policies of namespaces.
const (
	open    = "open"
	limited = "limited"
)

// unless returns an attack that is not made on the hardened chart, and says why.
func (x attack) unless(weak string) attack {
	x.weak = weak
	return x
}

var attacks []attack

// add is for the init functions of the files of attacks.
func add(more ...attack) { attacks = append(attacks, more...) }

// TestHostile attacks the operator as the chart installs it by default.
func TestHostile(t *testing.T) { siege(t, installation{name: "default"}, attacks) }

// TestHostileHardened attacks the operator that the chart installs with hardened: true, without its webhook: what it must not do, it must
// not do by itself. The admission policies of the chart hold. Attacks on single limits are TestHostile's: the policy of that chart is
// made of the same ones.
func TestHostileHardened(t *testing.T) {
	made := slices.DeleteFunc(slices.Clone(attacks), func(x attack) bool { return x.weak != "" || x.policy != "" && x.policy != open && x.policy != limited })
	siege(t, installation{name: "hardened", values: []string{"hardened.yaml"}, hardened: true}, made)
}

func siege(t *testing.T, how installation, attacks []attack) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("KUBEBUILDER_ASSETS is not set: run make test")
		}
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; run make test-hostile")
	}
	var namespaces []string
	for i := range attacks {
		namespaces = append(namespaces, attacks[i].namespace(i))
	}
	l := newLab(t, how, slices.Compact(slices.Sorted(slices.Values(namespaces))))
	pid := l.operator.pid()
	if err := l.order(t.Context()); err != nil {
		t.Fatalf("before any attack: %v", err)
	}
	for i, x := range attacks {
		t.Run(x.name, func(t *testing.T) { l.run(t, x, namespaces[i]) })
	}
	if now := l.operator.pid(); now != pid {
		t.Errorf("the operator is process %d, and was %d before the attacks", now, pid)
	}
	l.publish(t)
}

// namespace is where the attack takes place; patterns of policies match its beginning.
func (x attack) namespace(i int) string {
	policy := x.policy
	if policy == "" {
		policy = open
	}
	if x.shared {
		return policy + "-shared"
	}
	return fmt.Sprintf("%s-%d", policy, i+1)
}

// run makes one attack and everything that is asserted of all of them.
func (l *lab) run(t *testing.T, x attack, namespace string) {
	t.Helper()
	a := l.arena(t, x, namespace)
	before := l.operator
	before.resetPeak()
	overruns, err := before.group.overruns()
	if err != nil {
		t.Fatal(err)
	}
	err = x.do(a)
	if order := l.order(t.Context()); order != nil {
		t.Errorf("the bystander: %v", order)
	}
	if err != nil {
		t.Errorf("the attack could not be made: %v", err)
	}
	if x.cannot != nil && err == nil {
		if err := x.cannot(a); err != nil {
			t.Errorf("%s: %v", x.reason, err)
		}
	}
	if x.told != "" && err == nil {
		if err := a.hears(x.told); err != nil {
			t.Error(err)
		}
	}
	l.peaks[x.name] = before.peak()
	t.Logf("the operator's memory: at most %d MiB of %d MiB", l.peaks[x.name]>>20, before.group.limit>>20)
	if err := before.alive(); err != nil {
		t.Errorf("the operator ended: %v\n%s", err, before.log.tail())
	}
	if now, err := before.group.overruns(); err != nil || now != overruns {
		t.Errorf("it asked for more than %d MiB %d times, or something was ended for it: %v", before.group.limit>>20, now-overruns, err)
	}
	ended := before.alive() != nil
	a.clear()
	if before.alive() != nil {
		if !ended {
			t.Errorf("the operator ended when the objects of the attack were deleted:\n%s", before.log.tail())
		}
		l.start(t) // so that one attack that succeeds does not hide what others do
	}
}
