// SPDX-License-Identifier: Apache-2.0

package schedulertest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Cluster simulates the parts of a cluster and of the operator's engine that a story about a plugin needs: it keeps objects,
// gives a plugin its reads, applies and deletes, and keeps the ledger. It refuses undeclared reads and writes.
type Cluster struct {
	tb      testing.TB
	plugin  scheduler.Plugin
	objects map[scheduler.Ref]*unstructured.Unstructured
	order   scheduler.Order
	ledger  *scheduler.Ledger
	now     time.Time
	// Writes counts applied changes and deleted objects.
	Writes int
}

// NewCluster returns a cluster with some objects in it, in which the plugin is used.
func NewCluster(tb testing.TB, p scheduler.Plugin, objects ...*unstructured.Unstructured) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb, plugin: p, objects: map[scheduler.Ref]*unstructured.Unstructured{}, now: Start}
	c.SetOrder(scheduler.Order{AgingBound: 10 * time.Minute})
	for _, o := range objects {
		c.Put(o)
	}
	return c
}

// SetOrder sets the order of waiting attempts, before the first one waits.
func (c *Cluster) SetOrder(o scheduler.Order) { c.order, c.ledger = o, scheduler.NewLedger(o) }

// Pass lets time pass.
func (c *Cluster) Pass(d time.Duration) { c.now = c.now.Add(d) }

// Put creates or replaces an object.
func (c *Cluster) Put(o *unstructured.Unstructured) { c.objects[refOf(o)] = o.DeepCopy() }

// Remove deletes an object.
func (c *Cluster) Remove(r scheduler.Ref) { delete(c.objects, r) }

// Get returns an object, nil if there is none.
func (c *Cluster) Get(r scheduler.Ref) *unstructured.Unstructured { return c.objects[r] }

// Status writes a field below an object's status, as its scheduler does.
func (c *Cluster) Status(r scheduler.Ref, value any, fields ...string) {
	c.tb.Helper()
	o := c.objects[r]
	if o == nil {
		c.tb.Fatalf("%s %s does not exist", r.Kind, r.Name)
		return
	}
	if err := unstructured.SetNestedField(o.Object, value, append([]string{"status"}, fields...)...); err != nil {
		c.tb.Fatal(err)
	}
}

// Admit does the engine's work for an attempt without a driver.
func (c *Cluster) Admit(a scheduler.Attempt) scheduler.Admission {
	c.tb.Helper()
	var err error
	if a.Placeholders, err = scheduler.Placeholders(c.plugin, a); err != nil {
		c.tb.Fatal(err)
	}
	if c.plugin.Describe().Quota {
		a.Quota = c.ledger.Outstanding(a, c.now)
	}
	reads, err := scheduler.Reads(c.plugin, a)
	if err != nil {
		c.tb.Fatal(err)
	}
	seen := c.show(reads)
	if c.plugin.Describe().Quota {
		a.Priority = scheduler.PriorityOf(a, seen)
		a.Quota = c.ledger.OutstandingBy(a, c.now, func(o scheduler.Outstanding) scheduler.Shares {
			looks := a
			looks.Quota = o
			return scheduler.SharesOf(c.plugin, looks, seen)
		})
	}
	plan, err := scheduler.AdmitAttempt(c.plugin, a, seen)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.ledger.Record(a, plan, c.now)
	c.apply(plan.Apply, plan.Delete)
	return plan
}

// Observe does the engine's work for an attempt with a driver.
func (c *Cluster) Observe(a scheduler.Attempt, f scheduler.PodStatuses) scheduler.Observation {
	c.tb.Helper()
	c.ledger.Settle(a.ID, scheduler.ProgressOf(f), c.now)
	reads, err := scheduler.ObserveReads(c.plugin, a, f)
	if err != nil {
		c.tb.Fatal(err)
	}
	o, err := scheduler.Observe(c.plugin, a, c.show(reads), f)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.apply(o.Apply, o.Delete)
	return o
}

// Decorate returns what the pods of both roles carry.
func (c *Cluster) Decorate(a scheduler.Attempt) (driver, executor spark.PodOverlay) {
	c.tb.Helper()
	app, err := scheduler.Decorate(c.plugin, a, spark.Application{})
	if err != nil {
		c.tb.Fatal(err)
	}
	return app.Driver.Overlay, app.Executor.Overlay
}

// Release does the engine's work after the end of an attempt.
func (c *Cluster) Release(a scheduler.Attempt) {
	c.tb.Helper()
	c.ledger.Release(a.ID, c.now)
	refs, err := scheduler.Release(c.plugin, a)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.apply(nil, refs)
}

// Restart drops the memory, enters the attempts with a driver again, and announces the waiting ones.
func (c *Cluster) Restart(running map[*scheduler.Attempt]scheduler.PodStatuses, waiting ...scheduler.Attempt) {
	c.ledger = scheduler.NewLedger(c.order)
	for a, f := range running {
		c.ledger.Reserve(*a)
		c.ledger.Settle(a.ID, scheduler.ProgressOf(f), c.now)
	}
	for _, a := range waiting {
		c.ledger.Expect(a.ID, c.now)
	}
}

// apply writes as server-side apply does: present fields replace, a missing status stays, and other missing fields are removed.
func (c *Cluster) apply(objects []*unstructured.Unstructured, gone []scheduler.Ref) {
	c.tb.Helper()
	for _, o := range objects {
		ref := refOf(o)
		c.allowed(ref, "create", "patch")
		next := o.DeepCopy()
		old := c.objects[ref]
		if old != nil && old.Object["status"] != nil {
			next.Object["status"] = old.Object["status"]
		}
		if old == nil || !sameJSON(old.Object, next.Object) {
			c.Writes++
			c.objects[ref] = next
		}
	}
	for _, ref := range gone {
		c.allowed(ref, "delete")
		if c.objects[ref] != nil {
			c.Writes++
			delete(c.objects, ref)
		}
	}
}

// show answers reads.
func (c *Cluster) show(reads []scheduler.Read) scheduler.Snapshot {
	c.tb.Helper()
	s := scheduler.Snapshot{}
	for _, r := range reads {
		if r.Name != "" {
			ref := scheduler.Ref{GroupVersionKind: r.GroupVersionKind, Namespace: r.Namespace, Name: r.Name}
			c.allowed(ref, "get")
			s[r] = c.objects[ref]
			continue
		}
		c.allowed(scheduler.Ref{GroupVersionKind: r.GroupVersionKind}, "list")
		s[r] = scheduler.NewList(c.list(r)...)
	}
	return s
}

// list is in the order of the names. Field selectors select nothing out: a story has few events.
func (c *Cluster) list(r scheduler.Read) []*unstructured.Unstructured {
	c.tb.Helper()
	selector, err := labels.Parse(r.Labels)
	if err != nil {
		c.tb.Fatal(err)
	}
	refs := slices.SortedFunc(maps.Keys(c.objects), func(x, y scheduler.Ref) int {
		return slices.Compare([]string{x.Namespace, x.Name}, []string{y.Namespace, y.Name})
	})
	var out []*unstructured.Unstructured
	for _, ref := range refs {
		o := c.objects[ref]
		if ref.GroupVersionKind == r.GroupVersionKind && (r.Namespace == "" || r.Namespace == ref.Namespace) && selector.Matches(labels.Set(o.GetLabels())) {
			out = append(out, o)
		}
	}
	return out
}

// allowed fails the test if the plugin has not declared the kind, or no rule of its own gives it the right.
func (c *Cluster) allowed(r scheduler.Ref, verbs ...string) {
	c.tb.Helper()
	d := c.plugin.Describe()
	if !slices.Contains(slices.Concat(d.Reads, d.Owns), r.GroupVersionKind) {
		c.tb.Errorf("%s uses %s, which it has not declared", d.Name, r.GroupVersionKind)
	}
	resource, _ := meta.UnsafeGuessKindToResource(r.GroupVersionKind)
	for _, verb := range verbs {
		granted := slices.ContainsFunc(d.Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.APIGroups, resource.Group) && slices.Contains(rule.Resources, resource.Resource) && slices.Contains(rule.Verbs, verb)
		})
		if !granted {
			c.tb.Errorf("no rule of %s lets it %s %s", d.Name, verb, resource)
		}
	}
}

func refOf(o *unstructured.Unstructured) scheduler.Ref {
	return scheduler.Ref{GroupVersionKind: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// sameJSON reports whether two objects are equal to an API server, which does not distinguish int from int64.
func sameJSON(a, b map[string]any) bool {
	return cmp.Equal(Numbers(a), Numbers(b))
}
