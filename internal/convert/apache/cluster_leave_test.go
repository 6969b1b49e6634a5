// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// clusterStats count what histories are hostile with.
type clusterStats struct {
	behind, crashes, between, edits, deletions, farewells, probes, waits int
}

func (s *clusterStats) add(o clusterStats) {
	s.behind += o.behind
	s.crashes += o.crashes
	s.between += o.between
	s.edits += o.edits
	s.deletions += o.deletions
	s.farewells += o.farewells
	s.probes += o.probes
	s.waits += o.waits
}

func (s clusterStats) String() string {
	return fmt.Sprintf("%d decisions from caches behind, %d crashes (%d between two writes), %d edits, %d deletions (%d in fair weather), %d health probes, %d wait at the end",
		s.behind, s.crashes, s.between, s.edits, s.deletions, s.farewells, s.probes, s.waits)
}

// behind reports whether what an operator decides from is not what there is.
func (h *clusterHistory) behind(cache *clusterStore) bool {
	if h.cluster == nil || cache.cluster.ResourceVersion != h.cluster.ResourceVersion || len(cache.objects) != len(h.objects) {
		return true
	}
	for ref, object := range h.objects {
		if cache.objects[ref] != object {
			return true
		}
	}
	return false
}

// leave deletes the cluster. It reports whether there was one to be deleted.
func (h *clusterHistory) leave() bool {
	if h.cluster == nil || !h.cluster.DeletionTimestamp.IsZero() {
		return false
	}
	h.stats.deletions++
	h.update(func(o *v1.SparkCluster) { o.DeletionTimestamp = &metav1.Time{Time: h.now} })
	h.log = append(h.log, "the user deletes the cluster")
	return true
}

// isProbe reports whether the cluster is a health probe: it was labeled before its status had anything.
func (h *clusterHistory) isProbe() bool {
	return h.cluster.Labels[v1.LabelSentinel] == "true" && h.cluster.Status.CurrentState == nil
}

// toggleProbe says that the cluster is a health probe, or is none any more.
func (h *clusterHistory) toggleProbe() {
	h.update(func(o *v1.SparkCluster) {
		if o.Labels[v1.LabelSentinel] != "" {
			o.Labels = nil
			return
		}
		o.Labels = map[string]string{v1.LabelSentinel: "true"}
		h.stats.probes++
	})
	h.log = append(h.log, fmt.Sprint("label: ", h.cluster.Labels))
}

// waits reports whether the cluster waits for its scheduler, and says why.
func (h *clusterHistory) waits(r standalone.Record) bool {
	return h.says != scheduler.Admit && !h.cluster.Spec.Suspend && r.State == standalone.Submitted && r.Generation == h.cluster.Generation && r.Cause.Message == "full"
}

// comesToRest lets the weather be fair: the scheduler admits, or goes on letting clusters wait, and a third of them are deleted at some time.
func (h *clusterHistory) comesToRest(sync func(int)) {
	const most, rest = 200, 3
	leaves, atEnd := h.IntN(3*most/4), h.IntN(6) == 0
	quiet := 0
	for round := range most {
		if round == leaves/5 && leaves%3 == 0 && h.leave() {
			h.stats.farewells++
		}
		h.now = h.now.Add(time.Second)
		h.kubernetes()
		sync(0)
		if h.operate(0); h.broken != nil {
			return
		}
		if quiet++; h.settled() != nil {
			quiet = 0
		}
		switch {
		case quiet <= rest:
		case atEnd && h.leave():
			h.stats.farewells++
			atEnd, quiet = false, 0
		default:
			return
		}
	}
	h.fail("it does not come to rest: %w", h.settled())
}
