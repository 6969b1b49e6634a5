// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// reporter is a plugin whose queues have numbers.
type reporter struct {
	stub
	err error
}

func (r reporter) QueueReads(Attempt) []Read { return []Read{{Name: r.name}} }

func (r reporter) QueueUsage(Attempt, Snapshot) ([]Usage, error) {
	return []Usage{{Line: Line{Quota: "Queue " + r.name, Resource: "cpu"}}}, r.err
}

// The core reaches what reports queues wherever it stands in a chain, and nothing else of the chain.
func TestQueuesAreReported(t *testing.T) {
	boom := errors.New("boom")
	reads := []Read{{Name: "quota"}}
	cases := map[string]struct {
		reason string
		plugin Plugin
		reads  []Read
		queues []string
		err    error
	}{
		"None":    {reason: "a plugin without queues that report numbers says nothing", plugin: stub{reads: reads}},
		"Alone":   {reason: "it is not chained", plugin: reporter{stub: stub{name: "a"}}, reads: []Read{{Name: "a"}}, queues: []string{"Queue a"}},
		"Last":    {reason: "placement reports; what admission reads is not read", plugin: Chain(stub{reads: reads}, reporter{stub: stub{name: "a"}}), reads: []Read{{Name: "a"}}, queues: []string{"Queue a"}},
		"Both":    {reason: "each of them reports", plugin: Chain(reporter{stub: stub{name: "a"}}, reporter{stub: stub{name: "b"}}), reads: []Read{{Name: "a"}, {Name: "b"}}, queues: []string{"Queue a", "Queue b"}},
		"Nested":  {reason: "several are asked first", plugin: Chain(stub{}, Chain(stub{}, reporter{stub: stub{name: "a"}})), reads: []Read{{Name: "a"}}, queues: []string{"Queue a"}},
		"Neither": {reason: "a chain of others says nothing", plugin: Chain(stub{reads: reads}, stub{reads: reads})},
		"Error":   {reason: "an error is one, also in a chain", plugin: Chain(stub{}, reporter{stub{name: "a"}, boom}), reads: []Read{{Name: "a"}}, err: boom},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reads, err := QueueReads(tc.plugin, Attempt{})
			if diff := cmp.Diff(tc.reads, reads); diff != "" || err != nil {
				t.Errorf("%s: %v, reads (-want +got):\n%s", tc.reason, err, diff)
			}
			usage, err := QueueUsage(tc.plugin, Attempt{}, nil)
			if !errors.Is(err, tc.err) {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			var queues []string
			for _, u := range usage {
				queues = append(queues, u.Quota)
			}
			if diff := cmp.Diff(tc.queues, queues); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestQueueLines(t *testing.T) {
	now := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	waits := func(cpu, gpu string, since time.Duration) Attempt {
		a := Attempt{QueuedAt: now.Add(-since), Now: now, PodSets: spark.PodSets{Driver: spark.PodResources{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
		if gpu != "" {
			a.PodSets.Driver.Requests["nvidia.com/gpu"] = resource.MustParse(gpu)
		}
		return a
	}
	usage := func(queue string, name corev1.ResourceName, used string) Usage {
		return Usage{Line: Line{Quota: "Queue " + queue, Resource: name}, Used: resource.MustParse(used)}
	}
	cpu, gpu, above := usage("team-a", "cpu", "4"), usage("team-a", "nvidia.com/gpu", "1"), usage("dept", "cpu", "9")
	line := func(u Usage, waiting int, asked string, longest time.Duration) LineState {
		return LineState{Usage: u, Waiting: waiting, Asked: resource.MustParse(asked), Longest: longest}
	}
	cases := map[string]struct {
		reason  string
		reports []QueueReport
		want    []LineState
	}{
		"None": {reason: "nothing waits in a queue that reports numbers", reports: []QueueReport{{Attempt: waits("1", "", time.Minute)}}},
		"Sum": {
			reason:  "what all ask for together, since the first of them came",
			reports: []QueueReport{{waits("1", "", time.Minute), []Usage{cpu}}, {waits("2", "", time.Hour), []Usage{cpu}}, {waits("500m", "", time.Second), []Usage{cpu}}},
			want:    []LineState{line(cpu, 3, "3500m", time.Hour)},
		},
		"Resource": {
			reason:  "all wait in the queue, also those that ask for none of a resource",
			reports: []QueueReport{{waits("1", "", time.Hour), []Usage{cpu}}, {waits("1", "2", time.Minute), []Usage{cpu, gpu}}},
			want:    []LineState{line(cpu, 2, "2", time.Hour), line(gpu, 2, "2", time.Hour)},
		},
		"Above": {
			reason:  "who waits in one of the queues below waits for the queue above",
			reports: []QueueReport{{waits("1", "", time.Minute), []Usage{cpu, above}}, {waits("2", "", time.Minute), []Usage{above}}},
			want:    []LineState{line(above, 2, "3", time.Minute), line(cpu, 1, "1", time.Minute)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, QueueLines(tc.reports)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
