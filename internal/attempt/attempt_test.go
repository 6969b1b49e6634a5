// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

var errGone = errors.New("no connection")

// journal is a cluster and its reservations, which write down what they are asked.
type journal struct {
	steps []string
	// unread is what cannot be read, and missing why the plugin cannot be asked.
	unread  string
	missing scheduler.Reason
}

func (j *journal) NamespaceAnnotations(context.Context, string) (map[string]string, error) {
	return nil, j.read("annotations")
}

func (j *journal) Snapshot(context.Context, []scheduler.Read) (scheduler.Snapshot, error) {
	return scheduler.Snapshot{}, j.read("snapshot")
}

func (j *journal) read(what string) error {
	j.steps = append(j.steps, what)
	if j.unread == what {
		return errGone
	}
	return nil
}

func (j *journal) Unavailable(scheduler.Descriptor) (scheduler.Admission, bool) {
	return scheduler.Admission{Verdict: scheduler.Unavailable, Reason: j.missing}, j.missing != ""
}

func (j *journal) SetWaiting(_ scheduler.Key, _ *admission.Candidate, a scheduler.Admission) {
	j.steps = append(j.steps, "waiting "+string(a.Verdict)+string(a.Reason))
}

func (j *journal) Admit(_ context.Context, c *admission.Candidate, seen scheduler.Snapshot) (admission.Result, error) {
	j.steps = append(j.steps, "admit")
	return c.Admit(seen), nil
}

// full is a plugin that has no capacity, and that says so of attempts that were submitted.
type full struct{ broken, quota bool }

func (p full) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{Name: "full", Quota: p.quota}
}
func (full) Validate(scheduler.Attempt) field.ErrorList                             { return nil }
func (full) Reads(scheduler.Attempt) []scheduler.Read                               { return nil }
func (full) Decorate(scheduler.Attempt, *scheduler.Decoration) error                { return nil }
func (full) ObserveReads(scheduler.Attempt, scheduler.PodStatuses) []scheduler.Read { return nil }
func (full) Admit(scheduler.Attempt, scheduler.Snapshot) (scheduler.Admission, error) {
	return scheduler.Admission{Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForQuota}, nil
}

func (p full) Observe(scheduler.Attempt, scheduler.Snapshot, scheduler.PodStatuses) (scheduler.Observation, error) {
	if p.broken {
		return scheduler.Observation{}, errGone
	}
	return scheduler.Observation{Reason: scheduler.ReasonWaitingForQuota}, nil
}

func asking(t *testing.T, j *journal, p scheduler.Plugin) Asking {
	t.Helper()
	registry, err := scheduler.NewRegistryFor(scheduler.Policy{Default: "full", Enabled: []string{"full"}, NamespaceDefaults: true}, p)
	if err != nil {
		t.Fatal(err)
	}
	return Asking{Registry: registry, Reader: j, Reservations: j, Kinds: j}
}

func candidate(t *testing.T, a Asking) (*admission.Candidate, error) {
	t.Helper()
	app := resolve.Load(kubeflow.SparkApplications{}, testutil.Pi(), lifecycle.Record{}, resolve.Operator{Registry: a.Registry}, time.Time{})
	c, _, err := a.Candidate(t.Context(), app.App.Namespace, func(annotations map[string]string) (*admission.Candidate, admission.Result) {
		return admission.NewCandidate(app, a.Registry, annotations)
	})
	return c, err
}

func TestAdmit(t *testing.T) {
	cases := map[string]struct {
		reason string
		j      journal
		plugin full
		want   []string
		fails  bool
	}{
		"Asked": {
			reason: "it waits before anything is read, so that a change in between enqueues it", want: []string{"annotations", "waiting Wait", "snapshot", "waiting WaitWaitingForQuota"},
		},
		"Quota": {
			reason: "what others reserve counts", plugin: full{quota: true}, want: []string{"annotations", "waiting Wait", "snapshot", "admit", "waiting WaitWaitingForQuota"},
		},
		"Unavailable": {
			reason: "nothing is read for a plugin that cannot be asked", j: journal{missing: scheduler.ReasonSchedulerUnknown},
			want: []string{"annotations", "waiting Wait", "waiting Unavailable" + string(scheduler.ReasonSchedulerUnknown)},
		},
		"Unread": {reason: "it waits for the next try", j: journal{unread: "snapshot"}, want: []string{"annotations", "waiting Wait", "snapshot"}, fails: true},
		"Unknown namespace": {
			reason: "its annotations may choose another scheduler", j: journal{unread: "annotations"}, want: []string{"annotations"}, fails: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := asking(t, &tc.j, tc.plugin)
			c, err := candidate(t, a)
			if err == nil {
				var seen scheduler.Snapshot
				_, seen, err = a.Admit(t.Context(), c)
				if asked := tc.j.missing == "" && !tc.fails; asked != (seen != nil) {
					t.Errorf("it was shown %v", seen)
				}
			}
			if tc.fails != errors.Is(err, errGone) {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, tc.j.steps); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestObserve(t *testing.T) {
	cases := map[string]struct {
		reason string
		j      journal
		plugin full
		by     string
		want   scheduler.Reason
		steps  []string
		asked  bool
		fails  bool
		wrong  bool
	}{
		"Observes":    {reason: "it is asked with what it wants to see", by: "full", want: scheduler.ReasonWaitingForQuota, steps: []string{"snapshot"}, asked: true},
		"Unknown":     {reason: "the scheduler of the attempt may have been disabled since", by: "other"},
		"Unavailable": {reason: "nothing is read for it", by: "full", j: journal{missing: scheduler.ReasonSchedulerUnknown}},
		"Unread":      {reason: "the cluster's trouble is an error", by: "full", j: journal{unread: "snapshot"}, steps: []string{"snapshot"}, fails: true},
		"Broken":      {reason: "the plugin's trouble is none", by: "full", plugin: full{broken: true}, steps: []string{"snapshot"}, asked: true, wrong: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := asking(t, &tc.j, tc.plugin)
			a.Reader = &journal{}
			c, err := candidate(t, a)
			if err != nil {
				t.Fatal(err)
			}
			a.Reader = &tc.j
			o, err := a.Observe(t.Context(), c, tc.by, scheduler.PodStatuses{})
			if tc.fails != errors.Is(err, errGone) || tc.wrong != errors.Is(o.Err, errGone) {
				t.Errorf("%s: error %v, that of the plugin %v", tc.reason, err, o.Err)
			}
			if o.Reason != tc.want || tc.asked != (o.Seen != nil) {
				t.Errorf("%s: %+v", tc.reason, o)
			}
			if diff := cmp.Diff(tc.steps, tc.j.steps); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
