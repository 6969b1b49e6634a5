// SPDX-License-Identifier: Apache-2.0

//go:build mutation

package simulation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// enoughForMutations is how many histories a broken operator may survive.
const enoughForMutations = 20_000

// A test that cannot fail proves nothing: each way of breaking the operator must be found.
func TestMutationsAreFound(t *testing.T) {
	both := func(wrap func(client.Client) client.Client) func(*history) {
		return func(h *history) {
			withSecond(h)
			wrapped(wrap)(h)
		}
	}
	tests := map[string]struct {
		reason string
		change func(*history)
	}{
		"deletes ignore the UID": {
			"the pod that has the name by now may be somebody else's",
			wrapped(func(c client.Client) client.Client { return heedlessDelete{c} }),
		},
		"status patches ignore the resourceVersion": {
			"a decision from an old status overwrites a newer one",
			wrapped(func(c client.Client) client.Client { return heedlessPatch{c} }),
		},
		"what the cache misses is absent": {
			"a driver that was just created is not in the cache",
			func(h *history) {
				h.mutation = func(c client.Client, _ client.Reader) (client.Client, client.Reader) { return c, c }
			},
		},
		"creates replace what is there": {
			"it may be the driver, or somebody else's",
			wrapped(func(c client.Client) client.Client { return overwritingCreate{c} }),
		},
		"creates that fail are taken for done": {
			"the application then has no driver",
			wrapped(func(c client.Client) client.Client { return trustingCreate{c} }),
		},
		"every submission has an id of its own": {
			"a driver is not recognized after a crash, as with today's operators",
			wrapped(func(c client.Client) client.Client { return randomSubmission{c, new(int)} }),
		},
		"status patches that fail are taken for done": {
			"what was decided is forgotten",
			wrapped(func(c client.Client) client.Client { return trustingPatch{c} }),
		},
		"the application is not looked at before a driver is created": {
			"a stale cache does not know that the driver has come and gone",
			looking(func(_ *history, c client.Client, l client.Reader) client.Reader { return staleLook{l, c} }),
		},
		"drivers are known by their name only": {
			"somebody else's pod may have it",
			looking(func(h *history, _ client.Client, l client.Reader) client.Reader { return nameOnly{l, h} }),
		},
		"drivers are not looked for by their mark": {
			"the spec may have given the driver another name",
			looking(func(_ *history, _ client.Client, l client.Reader) client.Reader { return noLists{l} }),
		},
		"suspension is not heeded": {
			"the user wants no driver",
			wrapped(func(c client.Client) client.Client { return heedlessOfSuspend{c} }),
		},
		"retries are not counted": {
			"they have a budget",
			wrapped(func(c client.Client) client.Client { return forgetful{c} }),
		},
		"what appears beside a driver wakes nobody": {
			"an operator that crashed before it wrote the status, or that was behind, has made it for an application that is over",
			func(h *history) { h.deafToNew, h.exposes = true, true },
		},
		"deletes beside a driver are taken for done": {
			"what is left leads to nothing",
			wrapped(func(c client.Client) client.Client { return forgetsBeside{c} }),
		},
		"everything beside a driver is taken for ours": {
			"somebody else's Service may have the name",
			looking(func(h *history, _ client.Client, l client.Reader) client.Reader { return claimsBeside{l, h} }),
		},
		"what cannot be made beside a driver fails the application": {
			"nobody needs it to compute",
			wrapped(func(c client.Client) client.Client { return blamesDriver{c} }),
		},
		"the end of an attempt is kept for the next": {
			"retention is counted from it, and would delete what has just failed",
			wrapped(func(c client.Client) client.Client { return undying{c, new(metav1.Time)} }),
		},
		"an application of another family is taken for the same": {
			"they have one name, and are two",
			func(h *history) {
				withSecond(h)
				looking(func(h *history, _ client.Client, l client.Reader) client.Reader { return takesNamesakes{l, h} })(h)
			},
		},
		"a driver's objects that fail are left out": {
			"it would run without its Services, its Ingress or its NetworkPolicy",
			both(func(c client.Client) client.Client { return hurries{c} }),
		},
		"states are forgotten": {
			"tools read the history",
			both(func(c client.Client) client.Client { return keepsOneState{c} }),
		},
		"suspension of the second family is not heeded": {
			"the user wants no driver",
			both(func(c client.Client) client.Client { return heedlessOfSecond{c} }),
		},
		"finalizers are taken for removed": {
			"an application that is deleted stays",
			both(func(c client.Client) client.Client { return keepsFinalizer{c} }),
		},
		"health probes are run": {
			"they are no applications",
			both(func(c client.Client) client.Client { return runsProbes{c} }),
		},
		"the restart policy is that from the beginning": {
			"an edit of it is for what follows",
			both(func(c client.Client) client.Client { return oldPolicy{c, map[types.UID]*sparkv1.RestartConfig{}} }),
		},
		"the scheduler is told that was chosen first": {
			"an edit asks for another, in whose queue its user looks",
			wrapped(func(c client.Client) client.Client { return firstChoice{c, map[types.UID]*v1beta2.SchedulingStatus{}} }),
		},
		"deletions are not seen": {
			"an application that is deleted goes on",
			both(func(c client.Client) client.Client { return undead{c} }),
		},
		"no timers": {
			"a state waits for something that no watch tells",
			func(h *history) { h.dropTimers = true },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			stats, found := many(1, enoughForMutations, 1, tc.change)
			if len(found) == 0 {
				t.Fatalf("survived %d histories although %s", stats.Histories, tc.reason)
			}
			t.Logf("found after %d histories, by seed %d: %s", stats.Histories, found[0], lived(found[0], false, tc.change).broken)
		})
	}
}
