// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// clusterObject is an object in the store of a simulated API server. says is what was applied to it: a number that stands for the spec.
type clusterObject struct {
	uid           int
	says          string
	ours, deleted bool
}

// clusterGroup is a scheduler's object for one start of the cluster.
type clusterGroup struct {
	scheduler string
	start     int32
}

// clusterStore is what the API server and the controllers of Kubernetes have.
type clusterStore struct {
	cluster *v1.SparkCluster // nil once it is gone
	objects map[standalone.Ref]clusterObject
	pods    map[string]int // of sets, by their names: the UID of the set that they are of
	groups  map[clusterGroup]bool
	uids    int
	now     time.Time
}

func (s *clusterStore) clone() *clusterStore {
	c := *s
	c.objects, c.pods, c.groups = maps.Clone(s.objects), maps.Clone(s.pods), maps.Clone(s.groups)
	return &c // the cluster is replaced as a whole
}

func (s *clusterStore) update(edit func(*v1.SparkCluster)) {
	next := s.cluster.DeepCopy()
	edit(next)
	next.ResourceVersion += "'"
	s.cluster = next
}

// clusterHistory is one life of a cluster, from a seed: users, crashes, a cache that is behind, and a second operator that believes to lead.
type clusterHistory struct {
	*rand.Rand
	clusterStore
	caches  [2]*clusterStore
	refused bool
	// scheduler is the one that a start is given now; that of the name "plain" has no objects. says is its verdict.
	scheduler string
	says      scheduler.Verdict
	// preset is what policies set now.
	preset string
	// calm says that there are no users and no crashes any more.
	calm   bool
	stats  clusterStats
	broken error
	log    []string
}

func (h *clusterHistory) fail(format string, args ...any) {
	if h.broken == nil {
		h.broken = fmt.Errorf(format, args...)
	}
}

// chance is true once in n times, before the end.
func (h *clusterHistory) chance(n int) bool { return !h.calm && h.IntN(n) == 0 }

// wantedText is what an object is to say with the defaults of policies.
func wantedText(o *v1.SparkCluster, defaults map[string]string) string {
	return fmt.Sprint(o.Spec.ClusterTolerations, o.Spec.SparkConf, defaults)
}

// defaults are those of a cluster.
func (h *clusterHistory) defaults(o *v1.SparkCluster) map[string]string {
	return clusterDefaults(o, func(app spark.Application) spark.Application {
		app.Conf = map[string]string{"spark.preset": h.preset}
		return app
	})
}

// seen is what an operator sees in its cache.
func seen(s *clusterStore, defaults map[string]string) standalone.Observation {
	o := standalone.Observation{Found: map[standalone.Ref]standalone.Found{}}
	for ref, object := range s.objects {
		if object.ours {
			o.Found[ref] = standalone.Found{
				Presence: lifecycle.Present, UID: fmt.Sprint(object.uid), Ours: true, Marked: object.says != "", Same: object.says == wantedText(s.cluster, defaults), Deleting: object.deleted,
			}
		} // what is not ours is not cached
	}
	for name := range s.pods {
		if name == masterName("pi") {
			o.Master.Pods = []string{name + "-0"}
		} else {
			o.Workers.Pods = []string{name + "-0"}
		}
	}
	return o
}

// asked is what the scheduler of a cluster answers.
func (h *clusterHistory) asked(o *v1.SparkCluster) scheduler.Admission {
	r := ClusterRecord(o)
	a := scheduler.Admission{Choice: r.Scheduling.Choice}
	switch {
	case r.State == standalone.Running:
	case !r.State.Starts() || o.Spec.Suspend:
		return scheduler.Admission{}
	default:
		if r.Generation != o.Generation || a.Choice.Scheduler == "" {
			a.Choice = scheduler.Choice{Scheduler: h.scheduler}
		}
		a.Verdict, a.Reason, a.Message = h.says, scheduler.ReasonWaitingForCapacity, "full"
	}
	if a.Choice.Scheduler != "plain" && a.Choice.Scheduler != "" && a.Verdict != scheduler.Reject {
		a.Apply = []*unstructured.Unstructured{{}}
	}
	return a
}

// operate takes one step of an operator, which may crash after each write.
func (h *clusterHistory) operate(i int) {
	cache := h.caches[i]
	if cache.cluster == nil {
		return
	}
	decided := cache.cluster
	if h.behind(cache) {
		h.stats.behind++
	}
	defaults := h.defaults(decided)
	o := seen(cache, defaults)
	o.Admission = h.asked(decided)
	plan := standalone.Decide(desiredOf(decided, defaults), ClusterRecord(decided), o)
	fresh := func() bool { return h.cluster != nil && h.cluster.ResourceVersion == decided.ResourceVersion }
	if len(plan.Actions) > 0 && !fresh() {
		return
	}
	var results []standalone.Result
	for n, a := range plan.Actions {
		r := h.act(a, decided, plan)
		results = append(results, r)
		if h.chance(12) {
			if h.stats.crashes++; n < len(plan.Actions)-1 {
				h.stats.between++
			}
			h.log = append(h.log, fmt.Sprintf("operator %d crashes after %v", i, a))
			return
		}
		if !plan.GoesOn(a, r.Class) {
			break
		}
		if h.chance(20) {
			h.user() // amid the step
		}
	}
	out := standalone.Settle(plan, results)
	next, changed := Clusters{}.ToStatus(decided, out, h.now)
	if !changed || !decided.DeletionTimestamp.IsZero() || !fresh() || h.chance(12) {
		return
	}
	h.judgeStatus(decided, next)
	h.update(func(o *v1.SparkCluster) { o.Status = next.Status })
	h.log = append(h.log, fmt.Sprintf("operator %d: %s", i, next.Status.CurrentState))
}

func (h *clusterHistory) act(a standalone.Action, decided *v1.SparkCluster, plan standalone.Plan) standalone.Result {
	object, there := h.objects[a.Ref]
	own := plan.Record.Scheduling
	h.log = append(h.log, fmt.Sprint(a.Kind, " ", a.Ref))
	switch a.Kind {
	case standalone.Apply:
		switch {
		case h.refused && a.Ref.Kind == "StatefulSet":
			return standalone.Result{Class: lifecycle.ClassRefused, Message: "refused"}
		case there && !object.ours:
			return standalone.Result{Class: lifecycle.ClassNameTaken, Message: "taken"}
		case there && object.deleted:
			return standalone.Result{Class: lifecycle.ClassTransient, Message: "being deleted"}
		case !there:
			h.uids++
			object = clusterObject{uid: h.uids, ours: true}
		}
		if sets := []string{masterName("pi"), workerName("pi")}; a.Ref.Kind == "StatefulSet" && !slices.Contains(sets, a.Ref.Name) {
			h.fail("%s is made beside %v", a.Ref, sets)
		}
		if decided.Spec.Suspend && slices.Contains([]string{"StatefulSet", "HorizontalPodAutoscaler"}, a.Ref.Kind) {
			h.fail("%s is made for a suspended cluster", a.Ref)
		}
		if group := (clusterGroup{own.Scheduler, own.Start}); !there && a.Ref.Kind == "StatefulSet" && plan.Before.State.Starts() && own.Scheduler != "plain" && !h.groups[group] {
			h.fail("%s is made before the group %v", a.Ref, group)
		}
		if at := fmt.Sprint(plan.Before.Defaults); plan.Before.State == standalone.Running && object.says != "" && !strings.HasSuffix(object.says, at) {
			h.fail("%s says %s of a cluster that was started with %s", a.Ref, object.says, at)
		}
		object.says = wantedText(decided, plan.Cluster.Defaults)
		h.objects[a.Ref] = object
	case standalone.Schedule:
		if before := plan.Before.Scheduling; before.HeldBy != own.Scheduler {
			h.fail("a group of %s is made, and it is not stored that there is one: %+v", own.Scheduler, before)
		}
		h.groups[clusterGroup{own.Scheduler, own.Start}] = true
	case standalone.Release:
		delete(h.groups, clusterGroup{plan.Before.Scheduling.HeldBy, max(1, plan.Before.Scheduling.Start)})
	case standalone.Delete:
		if !there || fmt.Sprint(object.uid) != a.UID {
			break
		}
		if !object.ours {
			h.fail("%s of others is deleted", a.Ref)
		}
		object.deleted = true
		h.objects[a.Ref] = object
	case standalone.RemoveFinalizer:
		h.update(func(o *v1.SparkCluster) { o.Finalizers = nil })
	}
	return standalone.Result{Class: lifecycle.ClassDone}
}

// judgeStatus judges what a status tells after a write.
func (h *clusterHistory) judgeStatus(before, after *v1.SparkCluster) {
	was, is := ClusterRecord(before).State, ClusterRecord(after).State
	allowed := map[standalone.State][]standalone.State{
		standalone.New: {standalone.Submitted, standalone.Running, standalone.Refused}, standalone.Submitted: {standalone.Running, standalone.Refused, standalone.Suspended},
		standalone.Running: {standalone.Suspended}, standalone.Suspended: {standalone.Submitted}, standalone.Refused: {standalone.Released}, standalone.Released: {standalone.Submitted},
	}
	if was != is && !slices.Contains(allowed[was], is) {
		h.fail("%q follows %q", is, was)
	}
}

// kubernetes makes and deletes pods, removes what is deleted, and collects what has no owner.
func (h *clusterHistory) kubernetes() {
	for _, ref := range sortedRefs(h.objects) {
		object := h.objects[ref]
		if object.ours && (object.deleted || h.cluster == nil) && h.IntN(2) == 0 {
			delete(h.objects, ref)
		}
	}
	for _, name := range []string{masterName("pi"), workerName("pi")} {
		set, there := h.objects[standalone.Ref{Kind: "StatefulSet", Name: name}]
		pods, running := h.pods[name]
		switch {
		case running && (!there || set.uid != pods):
			if h.IntN(2) == 0 {
				delete(h.pods, name)
			}
		case there && !running && !set.deleted:
			h.pods[name] = set.uid
		}
	}
	if h.cluster != nil && !h.cluster.DeletionTimestamp.IsZero() && len(h.cluster.Finalizers) == 0 {
		h.cluster = nil
	}
	if h.cluster == nil {
		clear(h.groups)
	}
}

func sortedRefs(objects map[standalone.Ref]clusterObject) []standalone.Ref {
	return slices.SortedFunc(maps.Keys(objects), func(a, b standalone.Ref) int {
		if a.Kind != b.Kind {
			return map[bool]int{true: -1, false: 1}[a.Kind < b.Kind]
		}
		return map[bool]int{true: -1, false: 1}[a.Name < b.Name]
	})
}

// user does something.
func (h *clusterHistory) user() {
	if h.cluster == nil || !h.cluster.DeletionTimestamp.IsZero() {
		return
	}
	edit := func(change func(*v1.SparkClusterSpec)) {
		h.stats.edits++
		h.update(func(o *v1.SparkCluster) { change(&o.Spec); o.Generation++ })
		h.log = append(h.log, fmt.Sprintf("edit: %+v suspend %t", h.cluster.Spec.ClusterTolerations, h.cluster.Spec.Suspend))
	}
	switch h.IntN(13) {
	case 12:
		h.toggleProbe()
	case 11:
		edit(func(s *v1.SparkClusterSpec) { s.SparkConf = map[string]string{"spark.a": fmt.Sprint(h.IntN(3))} })
	case 10:
		h.preset = fmt.Sprint(h.IntN(3))
	case 8:
		h.scheduler = []string{"plain", "gang", "other"}[h.IntN(3)]
	case 9:
		h.says = []scheduler.Verdict{scheduler.Admit, scheduler.Wait, scheduler.Unavailable, scheduler.Reject}[h.IntN(4)]
	case 0, 1:
		edit(func(s *v1.SparkClusterSpec) { s.Suspend = !s.Suspend })
	case 2, 3:
		n := int32(h.IntN(3))
		edit(func(s *v1.SparkClusterSpec) {
			s.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: n, MinWorkers: n, MaxWorkers: n + int32(h.IntN(2))}
		})
	case 4:
		h.refused = !h.refused
	case 5:
		if refs := sortedRefs(h.objects); len(refs) > 0 {
			ref := refs[h.IntN(len(refs))]
			if object := h.objects[ref]; object.ours {
				object.deleted = true
				h.objects[ref] = object
			}
		}
	case 6:
		if ref := (standalone.Ref{Kind: "Service", Name: "pi-worker-svc"}); h.objects[ref] == (clusterObject{}) {
			h.objects[ref] = clusterObject{uid: -1}
		} else if !h.objects[ref].ours {
			delete(h.objects, ref)
		}
	case 7:
		if h.IntN(6) == 0 {
			h.leave()
		}
	}
}

// settled reports whether everything is as the user has it.
func (h *clusterHistory) settled() error {
	if h.cluster == nil {
		if len(h.pods) > 0 {
			return errors.New("pods are left of a cluster that is gone")
		}
		for ref, object := range h.objects {
			if object.ours {
				return fmt.Errorf("%s is left of a cluster that is gone", ref)
			}
		}
		return nil
	}
	desired, record := desiredOf(h.cluster, nil), ClusterRecord(h.cluster)
	for ref, object := range h.objects {
		if object.ours && object.deleted {
			return fmt.Errorf("%s is being deleted", ref)
		}
	}
	for group := range h.groups {
		if own := record.Scheduling; record.State != standalone.Running && !h.waits(record) || group != (clusterGroup{own.Scheduler, own.Start}) {
			return fmt.Errorf("the group %v is left of a cluster that is %q and %+v", group, record.State, own)
		}
	}
	switch {
	case !h.cluster.DeletionTimestamp.IsZero():
		return errors.New("it is not gone")
	case h.isProbe() || h.waits(record):
		return nil
	case record.State == standalone.Released:
		for ref, object := range h.objects {
			if object.ours {
				return fmt.Errorf("%s is left of a cluster that is released", ref)
			}
		}
		return nil
	case record.State == standalone.New && desired.Suspend:
		if len(h.pods) > 0 {
			return errors.New("a cluster that is held back has pods")
		}
		return nil
	case desired.Suspend && record.State == standalone.Suspended:
		if len(h.pods) > 0 {
			return errors.New("a suspended cluster has pods")
		}
		return nil
	case record.State != standalone.Running || desired.Suspend:
		return fmt.Errorf("it is %q, suspend is %t", record.State, desired.Suspend)
	case desired.Problem.Reason != "":
		return nil // an edit that cannot be built stops nothing
	}
	for _, part := range desired.Parts {
		if object := h.objects[part.Ref]; object.says != wantedText(h.cluster, record.Defaults) {
			return fmt.Errorf("%s says %q, not %q", part.Ref, object.says, wantedText(h.cluster, record.Defaults))
		}
	}
	for _, ref := range desired.Optional {
		if object, there := h.objects[ref]; there && object.ours && !slices.ContainsFunc(desired.Parts, func(p standalone.Part) bool { return p.Ref == ref }) {
			return fmt.Errorf("%s is not wanted", ref)
		}
	}
	return nil
}
