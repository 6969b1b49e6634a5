// SPDX-License-Identifier: Apache-2.0

// Package hostile attacks the operator: its real process, in a cgroup with the memory limit of the chart, with the
// configuration that the chart renders, beside a real kube-apiserver and etcd. There is no kubelet; attacks that need
// running pods write their statuses.
//
// An attack is a value. A file of attacks adds them in its init function. Attacks take place in a few namespaces in turn, most of them alone.
// After each one the operator must be the same process, must never have asked for more memory than its limit, and a bystander's
// application in another namespace must be submitted next in order. Attacks that do not disturb each other are made in rounds, and this is
// looked at once for all of them.
package hostile

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
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
	// shares says with which attacks under the same policy it may be made in a round. Its objects are then called as it is.
	shares company
	// do attacks. What the API server answers is an answer and no error; an error says that the attack could not be made.
	do func(*arena) error
	// cannot says what came of it that must not, or waits, with a bound, for what must come of it. It may be nil.
	cannot func(*arena) error
	// told is a part of what the attacker is told, in a condition, an event or an answer of the API server. It may be
	// empty for what is simply done, or ignored.
	told string
	// weak says why the attack is not made on the hardened chart: "" for those that are.
	weak string
	// held names the test that holds the same in each landing: "" for what no other test holds. Such an attack is made in FIRESTEEL_TESTS=all only.
	held string
	// bomb says that it is stopped before any policy is asked: a landing makes it with the default values only.
	bomb bool
}

// company are attacks that do not disturb each other.
type company string

const (
	// alone is who has a namespace to itself.
	alone company = ""
	// refused is who looks that nothing was created in the namespace.
	refused company = "refused"
	// started is who has applications that may be submitted.
	started company = "started"
)

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
func TestHostile(t *testing.T) { siege(t, installation{name: "default"}) }

// TestHostileHardened attacks the operator that the chart installs with hardened: true, without its webhook: what it must not do, it must
// not do by itself. The admission policies of the chart hold.
func TestHostileHardened(t *testing.T) {
	siege(t, installation{name: "hardened", values: []string{"hardened.yaml"}, hardened: true})
}

func siege(t *testing.T, how installation) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("KUBEBUILDER_ASSETS is not set: run make test")
		}
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; run make test-hostile")
	}
	// Who names subtests gets any attack, in whatever run it is made.
	named := strings.Contains(flag.Lookup("test.run").Value.String(), "/")
	all := named || testrun.Pick(false, false, true)
	made, what := choose(how.hardened, all, testrun.Seed())
	t.Log(what)
	rounds := inRounds(made, testrun.Pick(true, true, false))
	var namespaces []string
	for _, r := range rounds {
		namespaces = append(namespaces, r.namespace)
	}
	l := newLab(t, how, slices.Compact(slices.Sorted(slices.Values(namespaces))))
	pid := l.operator.pid()
	if err := l.order(t.Context()); err != nil {
		t.Fatalf("before any attack: %v", err)
	}
	for _, r := range rounds {
		l.round(t, r, named)
	}
	if now := l.operator.pid(); now != pid {
		t.Errorf("the operator is process %d, and was %d before the attacks", now, pid)
	}
	l.publish(t, what)
}
