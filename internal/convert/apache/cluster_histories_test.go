// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// live lives one history, and says what was broken.
func live(seed uint64) *clusterHistory {
	h := &clusterHistory{Rand: rand.New(rand.NewPCG(seed, 0)), scheduler: "gang", says: scheduler.Admit, clusterStore: clusterStore{objects: map[standalone.Ref]clusterObject{}, pods: map[string]int{}, groups: map[clusterGroup]bool{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	h.cluster = &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", Generation: 1, ResourceVersion: "v"}}
	h.cluster.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	if h.IntN(3) == 0 {
		h.cluster.Finalizers = []string{v1.ClusterFinalizer}
	}
	two := h.IntN(3) == 0
	sync := func(i int) {
		before := h.caches[i]
		h.caches[i] = h.clone()
		if before != nil && h.chance(3) { // each kind of objects has a watch of its own
			h.caches[i].objects, h.caches[i].pods = before.objects, before.pods
		}
	}
	sync(0)
	sync(1)
	for range 30 + h.IntN(90) {
		h.now = h.now.Add(time.Second)
		switch h.IntN(10) {
		case 0:
			h.user()
		case 1, 2, 3:
			h.kubernetes()
		case 4, 5, 6:
			sync(h.IntN(2))
		default:
			i := 0
			if two {
				i = h.IntN(2)
			}
			h.operate(i)
		}
	}
	if h.refused, h.calm = false, true; h.says == scheduler.Reject || h.IntN(3) > 0 {
		h.says = scheduler.Admit
	}
	if h.cluster != nil && h.isProbe() && h.IntN(2) == 0 {
		h.toggleProbe()
	}
	if ref := (standalone.Ref{Kind: "Service", Name: "pi-worker-svc"}); !h.objects[ref].ours {
		delete(h.objects, ref)
	}
	h.comesToRest(sync)
	if h.broken == nil && h.cluster != nil && h.waits(ClusterRecord(h.cluster)) {
		h.stats.waits++
	}
	return h
}

// Whatever happens to a cluster and its operators, it ends as its user has it, and what others own is left alone.
func TestClusterHistories(t *testing.T) {
	histories := testrun.Pick(uint64(300), 1000, 20000)
	begin, ends, total := testrun.Seed(), map[standalone.State]uint64{}, clusterStats{}
	for i := range histories {
		seed := i
		if i >= histories/3 {
			seed = begin + i
		}
		h := live(seed)
		total.add(h.stats)
		if h.broken != nil {
			t.Fatalf("seed %d: %v\n%s", seed, h.broken, fmt.Sprint(h.log))
		} else if h.cluster != nil {
			ends[ClusterRecord(h.cluster).State]++
		}
	}
	for _, state := range []standalone.State{standalone.New, standalone.Running, standalone.Suspended, standalone.Released} {
		if ends[state] == 0 {
			t.Errorf("none of %d histories ends in %q: %v", histories, state, ends)
		}
	}
	line := fmt.Sprintf("clusters: %d histories, %s", histories, total)
	t.Log(line, ends)
	testrun.Publish(t, "clusters", line)
}
