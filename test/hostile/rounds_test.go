// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// mostTogether is how many attacks are made in a round: with more the most memory of a round would say nothing of an attack's.
const mostTogether = 15

// turns are how many namespaces take turns under a policy; two if it has none here. Each costs the operator, and the API server, a dozen watches.
var turns = map[string]int{open: 9, limited: 4}

// round is what is made in a namespace before it is cleared: one attack, or several that do not disturb each other.
type round struct {
	// name is that of the subtest which several attacks are in. Patterns of policies match the beginning of namespace.
	name, namespace string
	attacks         []attack
}

// inRounds gathers the attacks in rounds, or in as many rounds as there are attacks.
func inRounds(attacks []attack, together bool) []round {
	type key struct {
		policy string
		shares company
	}
	var rounds []round
	filling := map[key]int{}
	for _, x := range attacks {
		k := key{x.underPolicy(), x.shares}
		if at, is := filling[k]; is && len(rounds[at].attacks) < mostTogether {
			rounds[at].attacks = append(rounds[at].attacks, x)
			continue
		}
		if together && x.shares != alone {
			filling[k] = len(rounds)
		}
		rounds = append(rounds, round{attacks: []attack{x}})
	}
	taken, names := map[string]int{}, map[string]int{}
	for i := range rounds {
		r := &rounds[i]
		policy := r.attacks[0].underPolicy()
		r.namespace = fmt.Sprintf("%s-%d", policy, 1+taken[policy]%cmp.Or(turns[policy], 2))
		taken[policy]++
		if len(r.attacks) > 1 {
			kind := policy + "-" + string(r.attacks[0].shares)
			names[kind]++
			r.name = fmt.Sprintf("%s-%d", kind, names[kind])
		}
	}
	return rounds
}

// underPolicy is the policy that holds where the attack takes place.
func (x attack) underPolicy() string { return cmp.Or(x.policy, open) }

// round makes a round. When anything is wrong with several attacks, each is made by itself, so that the one that did it is named.
func (l *lab) round(t *testing.T, r round, named bool) {
	t.Helper()
	if len(r.attacks) > 1 {
		begun := false
		fine := t.Run(r.name, func(t *testing.T) { begun = true; l.together(t, r) })
		if fine && (begun || !named) {
			return
		}
	}
	for _, x := range r.attacks {
		t.Run(x.name, func(t *testing.T) { l.run(t, x, r.namespace) })
	}
}

// run makes one attack and everything that is asserted of all of them.
func (l *lab) run(t *testing.T, x attack, namespace string) {
	t.Helper()
	w := l.watch(t, namespace)
	a := l.arena(t, x, namespace)
	err := x.do(a)
	w.bystander(t)
	l.judge(t, x, a, err)
	w.ends(t, x.name, a)
	l.made++
}

// together makes the attacks of a round and then judges each. What is asserted of all attacks is asserted once.
func (l *lab) together(t *testing.T, r round) {
	t.Helper()
	w := l.watch(t, r.namespace)
	fellows := make([]*arena, len(r.attacks))
	errs := make([]error, len(r.attacks))
	for i, x := range r.attacks {
		fellows[i] = l.arena(t, x, r.namespace)
		if errs[i] = w.operator.alive(); errs[i] == nil {
			errs[i] = x.do(fellows[i])
		}
	}
	w.bystander(t)
	for i, x := range r.attacks {
		fellows[i].fellows = fellows
		t.Run(x.name, func(t *testing.T) { l.judge(t, x, fellows[i], errs[i]) })
	}
	w.ends(t, r.name, fellows[0])
	l.made += len(r.attacks)
}

// judge asserts what is an attack's own. err is why it could not be made.
func (l *lab) judge(t *testing.T, x attack, a *arena, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("the attack could not be made: %v", err)
		return
	}
	if x.cannot != nil {
		if err := x.cannot(a); err != nil {
			t.Errorf("%s: %v", x.reason, err)
		}
	}
	if x.told != "" {
		if err := a.hears(x.told); err != nil {
			t.Error(err)
		}
	}
}

// watch is a look at the operator from before a round to its end.
type watch struct {
	*lab
	// operator is the process of then.
	operator *process
	overruns int64
}

func (l *lab) watch(t *testing.T, namespace string) *watch {
	t.Helper()
	if err := l.quiet(t.Context(), namespace); err != nil {
		t.Fatalf("the namespace of an earlier attack: %v", err)
	}
	w := &watch{lab: l, operator: l.operator}
	w.operator.resetPeak()
	var err error
	if w.overruns, err = w.group.overruns(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watch) bystander(t *testing.T) {
	t.Helper()
	if err := w.order(t.Context()); err != nil {
		t.Errorf("the bystander: %v", err)
	}
}

// ends looks at the process and clears the namespace. An operator that has ended is started again, so that one attack that succeeds does not hide
// what others do.
func (w *watch) ends(t *testing.T, name string, a *arena) {
	t.Helper()
	limit := w.group.limit >> 20
	w.peaks[name] = w.operator.peak()
	t.Logf("the operator's memory: at most %d MiB of %d MiB", w.peaks[name]>>20, limit)
	ended := w.operator.alive()
	if ended != nil {
		t.Errorf("the operator ended: %v\n%s", ended, w.operator.log.tail())
	}
	if now, err := w.group.overruns(); err != nil || now != w.overruns {
		t.Errorf("it asked for more than %d MiB %d times, or something was ended for it: %v", limit, now-w.overruns, err)
	}
	a.clear()
	if w.operator.alive() == nil {
		return
	}
	if ended == nil {
		t.Errorf("the operator ended when the objects of the attack were deleted:\n%s", w.operator.log.tail())
	}
	w.start(t)
}

// calm is how long the operator must have asked for nothing in a namespace in which it asked for something since the round before.
const calm = 500 * time.Millisecond

// quiet waits until nothing is left of the attack that took place in a namespace before, and the operator writes nothing there any more: the next
// attack would count it, or be told of it. The operator may write nothing there for a whole round, or for a moment from now on.
func (l *lab) quiet(ctx context.Context, namespace string) error {
	a := &arena{lab: l, ctx: ctx, namespace: namespace}
	var busy time.Time
	return await(ctx, func() error {
		log, err := os.Stat(l.audit)
		if err != nil {
			return err
		}
		requests, err := l.requests(l.begun)
		if err != nil {
			return err
		}
		l.begun = log.Size()
		written := slices.ContainsFunc(requests, func(r request) bool {
			return r.User.Username == operatorUser && r.ObjectRef.Namespace == namespace
		})
		if left := a.clear(); len(left) > 0 || written {
			busy = time.Now()
			return errors.Join(fmt.Errorf("the operator writes there, or these are left: %q", left))
		}
		if time.Since(busy) < calm {
			return errors.New("the operator wrote there just now")
		}
		return nil
	})
}

// named says whether an object is called as an attack is, or as something of it.
func (x attack) named(object string) bool {
	name := x.object()
	return object == name || strings.HasPrefix(object, name+"-")
}

// object is a name for an object of the attack. Further ones go on with a dash.
func (x attack) object() string { return objectOf(x.name) }

func objectOf(attack string) string { return strings.ToLower(attack) }

// mine is false for what is called as another attack of the round.
func (a *arena) mine(object string) bool {
	return !slices.ContainsFunc(a.fellows, func(other *arena) bool { return other != a && other.attack.named(object) })
}

// An attack of a round is told of its own objects, and is counted what is nobody else's.
func TestFellows(t *testing.T) {
	first, second := &arena{attack: attack{name: "Images"}}, &arena{attack: attack{name: "ImageVolumes"}}
	first.fellows = []*arena{first, second}
	for object, want := range map[string]bool{"images": true, "images-driver": true, "imagevolumes": false, "imagevolumes-template": false, "anything": true, "imagevolumesx": true} {
		if got := first.mine(object); got != want {
			t.Errorf("%s: %t, want %t", object, got, want)
		}
	}
}

// Rounds keep to their size, and to one policy and company; each attack is in one.
func TestRounds(t *testing.T) {
	for _, together := range []bool{true, false} {
		seen := map[string]bool{}
		most := 1
		for _, r := range inRounds(attacks, together) {
			most = max(most, len(r.attacks))
			for _, x := range r.attacks {
				if first := r.attacks[0]; x.underPolicy() != first.underPolicy() || x.shares != first.shares || len(r.attacks) > 1 && x.shares == alone {
					t.Errorf("%s is in a round with %s", x.name, first.name)
				}
				if !strings.HasPrefix(r.namespace, x.underPolicy()+"-") || seen[x.name] {
					t.Errorf("%s is in %s, or twice in a round", x.name, r.namespace)
				}
				seen[x.name] = true
			}
		}
		if want := map[bool]int{true: mostTogether, false: 1}[together]; most != want || len(seen) != len(attacks) {
			t.Errorf("together %t: at most %d in a round, want %d; %d attacks of %d (%q)", together, most, want, len(seen), len(attacks), slices.Sorted(maps.Keys(seen)))
		}
	}
}
