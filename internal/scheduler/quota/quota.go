// SPDX-License-Identifier: Apache-2.0

// Package quota holds an application back that the quotas of its namespace have no room for, instead of starting a driver
// whose executors would be refused. It is asked before the plugin that places the pods, whichever that is.
//
// It is an estimate: the API server (ResourceQuota) and the scheduler (ElasticQuota) stay the authority, so when unsure it
// admits. It counts what the quotas report as used, what other admitted applications will still take
// (scheduler.Ledger), and the driver with all initial executors of this one and the placeholders that its scheduler creates for
// them. Executors that dynamic allocation adds later are not counted.
package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Name is how the plugin calls itself. Users do not choose it.
const Name = "quota"

// Mode is what happens when there is no room.
type Mode string

const (
	// Off reads no quota.
	Off Mode = "Off"
	// Warn starts the application and says what it found.
	Warn Mode = "Warn"
	// Enforce lets it wait, or refuses what can never fit.
	Enforce Mode = "Enforce"
)

// How often an application that waits is checked again. Quotas are watched; this is for pods that end without changing one.
const (
	// retry is for those that few are ahead of.
	retry = 30 * time.Second
	// retryBehind is for the others, of which there may be thousands. They are enqueued when those ahead of them start; this is for what their
	// statuses say.
	retryBehind = 5 * time.Minute
	// few is how many may be ahead of one that is checked more often.
	few = 10
)

// Plugin checks quotas.
type Plugin struct {
	mode    Mode
	elastic []string
}

// New returns the plugin. mode is one of the above; anything else is Off. elastic names the plugins whose pods are bound
// by ElasticQuotas: those that place them with the scheduler-plugins' CapacityScheduling.
func New(mode string, elastic []string) Plugin {
	return Plugin{mode: Mode(mode), elastic: elastic}
}

var (
	resourceQuotaKind = corev1.SchemeGroupVersion.WithKind("ResourceQuota")
	limitRangeKind    = corev1.SchemeGroupVersion.WithKind("LimitRange")
)

// Describe introduces the plugin.
func (p Plugin) Describe() scheduler.Descriptor {
	if p.off() {
		return scheduler.Descriptor{Name: Name}
	}
	d := scheduler.Descriptor{
		Name: Name, Quota: true,
		Reads: []schema.GroupVersionKind{resourceQuotaKind, limitRangeKind, scheduler.PriorityClassKind},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"resourcequotas", "limitranges"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{scheduler.PriorityClassKind.Group}, Resources: []string{"priorityclasses"}, Verbs: []string{"get"}},
		},
		Supports: scheduler.Support{WaitsBeforePods: p.mode == Enforce, Reserves: p.mode == Enforce},
	}
	if len(p.elastic) > 0 {
		d.Needs = []scheduler.API{elasticQuotaAPI}
		d.Reads = append(d.Reads, elasticQuotaKind)
		d.Rules = append(d.Rules, rbacv1.PolicyRule{APIGroups: []string{elasticQuotaKind.Group}, Resources: []string{"elasticquotas"},
			Verbs: []string{"list", "watch"}})
	}
	return d
}

// Validate finds nothing: quotas are the administrator's affair.
func (Plugin) Validate(scheduler.Attempt) field.ErrorList { return nil }

// Reads asks for the quotas that bind the attempt, and for the priority that it has in their lines.
func (p Plugin) Reads(a scheduler.Attempt) []scheduler.Read {
	if p.off() || p.holds(a) {
		return nil
	}
	reads := append(scheduler.ReadPriorityClass(a),
		scheduler.Read{GroupVersionKind: resourceQuotaKind, Namespace: a.App.Namespace},
		scheduler.Read{GroupVersionKind: limitRangeKind, Namespace: a.App.Namespace})
	if p.bound(a) {
		reads = append(reads, elasticQuotasIn(a.App.Namespace), allElasticQuotas)
	}
	return reads
}

// Decorate does nothing.
func (Plugin) Decorate(scheduler.Attempt, *scheduler.Decoration) error { return nil }

// off is whether the plugin admits everything without reading quotas.
func (p Plugin) off() bool { return p.mode != Warn && p.mode != Enforce }

// holds is whether the attempt was admitted already. A warning reserves nothing, and is still reported.
func (p Plugin) holds(a scheduler.Attempt) bool { return p.mode == Enforce && a.Quota.Held }

// bound is whether ElasticQuotas bind the attempt's pods.
func (p Plugin) bound(a scheduler.Attempt) bool { return slices.Contains(p.elastic, a.Scheduler) }

// Admit admits the attempt if all quotas have room for it and no other in its lines comes first.
func (p Plugin) Admit(a scheduler.Attempt, s scheduler.Snapshot) (scheduler.Admission, error) {
	if p.off() || p.holds(a) {
		return admit(""), nil
	}
	found, err := resourceQuotas(a, s)
	if err != nil {
		return scheduler.Admission{}, err
	}
	var note string
	if p.bound(a) {
		elastic, remark, err := elasticQuotas(a, s)
		if err != nil {
			return scheduler.Admission{}, err
		}
		found, note = append(found, elastic...), remark
	}
	if p.mode == Warn {
		return admit(warning(found, note)), nil
	}
	return verdict(a, found, note), nil
}

// finding is what a quota says that binds the attempt's pods.
type finding struct {
	quota string
	// asks are the resources that the attempt asks for, in the order of their names. Each has a line of its own.
	asks []ask
	// reason is "" if there is room.
	reason  scheduler.Reason
	message string
	// beside is that the limit is too small for placeholders; "" if it is not.
	beside string
	// growth is what dynamic allocation cannot have; "" for nothing.
	growth string
	// instead is that room here makes that in the finding before it needless: the attempt stands in these lines while it waits, and may start without.
	instead bool
}

// ask is what the attempt asks for in one line, and what is left there.
type ask struct {
	scheduler.Place
	left  resource.Quantity
	usage scheduler.Usage
}

func (k ask) short() bool { return k.Asked.Cmp(k.left) > 0 }

func (f finding) short() bool     { return f.reason == scheduler.ReasonWaitingForQuota }
func (f finding) permanent() bool { return f.reason != "" && !f.short() }

// verdict is the worst that was found: what will not pass comes before what will.
func verdict(a scheduler.Attempt, found []finding, note string) scheduler.Admission {
	var message string
	for _, f := range found {
		switch {
		case f.permanent():
			return answer(scheduler.Reject, f.reason, f.message)
		case f.short() && message == "":
			message = "waiting for " + f.message
		}
	}
	w := waitIn(a.Quota, found)
	ahead := strings.Join(w.ahead, "; ")
	switch {
	case message != "" && ahead != "":
		return w.answer(scheduler.ReasonWaitingForQuota, message+"; ahead in line: "+ahead)
	case message != "":
		return w.answer(scheduler.ReasonWaitingForQuota, message)
	case w.blocked:
		return w.answer(scheduler.ReasonBehindOthers,
			fmt.Sprintf("waiting for quota in namespace %s: there is room, but others come first: %s", a.App.Namespace, ahead))
	case len(w.places) > 0 && a.Quota.Expected:
		return w.answer(scheduler.ReasonBehindOthers,
			fmt.Sprintf("waiting for quota in namespace %s: there is room, but the operator has just started, "+
				"and others that wait are checked first", a.App.Namespace))
	}
	return admit(warning(found, note))
}

func warning(found []finding, note string) string {
	var parts []string
	for _, f := range found {
		if f.short() {
			f.message = "no " + f.message
		}
		parts = append(parts, f.message, f.beside, f.growth)
	}
	return scheduler.Warnings(append(parts, note)...)
}

// admit is the answer for an attempt that may start.
func admit(warning string) scheduler.Admission {
	return scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Warning: warning}
}

func answer(v scheduler.Verdict, r scheduler.Reason, message string) scheduler.Admission {
	return scheduler.Admission{Verdict: v, Reason: r, Message: message}
}

// room is what a quota leaves: what is reserved for others comes off it, too. The namespace is "" for what all namespaces share.
type room struct {
	namespace             string
	used, reserved, limit corev1.ResourceList
	// guaranteed is what others cannot keep, and borrowed what is used beyond that.
	guaranteed, borrowed corev1.ResourceList
}

// asks are the places that a demand has in the lines of a quota.
func (r room) asks(quota string, demand corev1.ResourceList) []ask {
	var asks []ask
	for _, name := range slices.Sorted(maps.Keys(r.limit)) {
		asked := demand[name]
		if asked.Sign() <= 0 {
			continue
		}
		left := r.limit[name].DeepCopy()
		if left.Sub(r.used[name]); left.Sign() < 0 {
			left = resource.Quantity{}
		}
		left.Sub(r.reserved[name])
		line := scheduler.Line{Namespace: r.namespace, Quota: quota, Resource: name}
		usage := scheduler.Usage{Line: line, Used: r.used[name], Limit: r.limit[name], Guaranteed: r.guaranteed[name], Borrowed: r.borrowed[name]}
		asks = append(asks, ask{scheduler.Place{Line: line, Asked: asked}, left, usage})
	}
	return asks
}

// demand is what the driver asks for with its initial executors, with their placeholders in addition, and with the most executors
// that there may be.
type demand struct{ initial, peak, most corev1.ResourceList }

// compare says whether there is room: demand alone that is more than the limit will never fit.
func compare(a scheduler.Attempt, quota string, d demand, r room) finding {
	where := "namespace " + a.App.Namespace
	if never := scheduler.Shortages(d.initial, nil, r.limit); len(never) > 0 {
		return finding{quota: quota, reason: scheduler.ReasonExceedsQuota,
			message: fmt.Sprintf("more than %s of %s can ever give: %s", quota, where, scheduler.Exceeding(never))}
	}
	found := finding{quota: quota}
	asked, source := d.peak, quota
	switch never := scheduler.Shortages(d.peak, nil, r.limit); {
	case len(never) > 0: // it runs all the same, and waiting would not help
		asked = d.initial
		found.beside = fmt.Sprintf("%s of %s is too small for the placeholder pods of the scheduler together with the pods that replace them: %s; "+
			"pods are refused until the placeholders are gone", quota, where, scheduler.Exceeding(never))
	case !equality.Semantic.DeepEqual(d.peak, d.initial):
		source += ", with placeholder pods"
	}
	if a.Grows() {
		found.growth = scheduler.CannotGrow(a, quota, d.most, r.limit)
	}
	found.asks = r.asks(quota, asked)
	if now := scheduler.ShortagesWithReserved(asked, r.used, r.reserved, r.limit); len(now) > 0 {
		found.reason, found.message = scheduler.ReasonWaitingForQuota, fmt.Sprintf("quota in %s: %s (%s)", where, scheduler.Waiting(now), source)
	}
	return found
}
