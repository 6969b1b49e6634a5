// SPDX-License-Identifier: Apache-2.0

// Package quota holds back an application for which the quotas of its namespace have no room, because the API server would refuse its executors. It is asked
// before the plugin that places the pods.
//
// It computes an estimate and admits when it is unsure: the API server (ResourceQuota) and the scheduler (ElasticQuota) decide. It adds up three amounts: the
// usage that the quotas report, the room that other admitted applications will still take (scheduler.Ledger), and the driver, initial executors and
// placeholders of this application. Executors that dynamic allocation adds later are not counted.
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

// Name is the plugin's name. Users do not choose it.
const Name = "quota"

// Mode is the reaction to a full quota.
type Mode string

const (
	// Off reads no quota.
	Off Mode = "Off"
	// Warn starts the application with a warning.
	Warn Mode = "Warn"
	// Enforce lets the application wait, or refuses it if its request can never fit.
	Enforce Mode = "Enforce"
)

// Intervals of checks for a waiting application. Quotas are watched; the checks cover pods whose end changes no quota.
const (
	// retry applies near the front of the line.
	retry = 30 * time.Second
	// retryBehind applies to the other attempts, possibly thousands. They are enqueued when attempts ahead of them start; this check only updates their
	// statuses.
	retryBehind = 5 * time.Minute
	// few bounds the attempts ahead of an attempt that is checked every retry.
	few = 10
)

// Plugin checks quotas.
type Plugin struct {
	mode    Mode
	elastic []string
}

// New returns the plugin. An unknown mode means Off. elastic names the plugins whose pods ElasticQuotas limit, because the CapacityScheduling plugin of
// scheduler-plugins places them.
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

// Validate accepts everything, because quotas belong to the administrator.
func (Plugin) Validate(scheduler.Attempt) field.ErrorList { return nil }

// Reads returns the reads of the quotas that limit the attempt, and of the PriorityClass that decides its place in their lines.
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

// off reports whether the plugin admits everything without reading quotas.
func (p Plugin) off() bool { return p.mode != Warn && p.mode != Enforce }

// holds reports whether the attempt has a reservation that counts. In mode Warn nothing is reserved, and the warning is reported again.
func (p Plugin) holds(a scheduler.Attempt) bool { return p.mode == Enforce && a.Quota.Held }

// bound reports whether ElasticQuotas limit pods of the attempt, whichever field names their scheduler.
func (p Plugin) bound(a scheduler.Attempt) bool {
	limited := func(name string) bool { return slices.Contains(p.elastic, name) }
	return limited(a.Scheduler) || slices.ContainsFunc(a.PlacedBy, limited)
}

// Admit admits the attempt if all quotas have room for it and no other attempt comes first in its lines.
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

// finding is the result of the check of one quota that limits the attempt's pods.
type finding struct {
	quota string
	// asks are the requested resources, by name. Each resource has a line of its own.
	asks []ask
	// reason is "" if there is room.
	reason  scheduler.Reason
	message string
	// beside reports a limit that is too small for placeholders; "" if the limit suffices.
	beside string
	// growth reports that dynamic allocation cannot get its maximum of executors; "" if it can.
	growth string
	// takes are requests that need no room in the quota now.
	takes []ask
	// instead is set if room in this quota replaces room in the previous finding. The attempt waits in the lines of this quota, too, but may start without room
	// in it.
	instead bool
}

// ask is a request in one line, with the room that is left in its quota.
type ask struct {
	scheduler.Place
	usage scheduler.Usage
}

func (k ask) short() bool { return k.Asked.Cmp(k.Left) > 0 }

func (f finding) short() bool     { return f.reason == scheduler.ReasonWaitingForQuota }
func (f finding) permanent() bool { return f.reason != "" && !f.short() }

// verdict returns the answer for the worst finding: a permanent finding is worse than a temporary one.
func verdict(a scheduler.Attempt, found []finding, note string) scheduler.Admission {
	var message string
	for _, f := range found {
		switch {
		case f.permanent():
			return scheduler.Admission{Verdict: scheduler.Reject, Reason: f.reason, Reversible: true, Message: f.message}
		case f.short() && message == "":
			message = "waiting for " + f.message
		}
	}
	w := waitIn(a.Quota, found)
	switch {
	case message != "":
		if len(w.ahead) > 0 {
			message += "; ahead in line: " + strings.Join(w.ahead, "; ")
		}
		return w.answer(scheduler.ReasonWaitingForQuota, strings.Join(append([]string{message}, w.holds...), "; "))
	case w.blocked:
		return w.answer(scheduler.ReasonBehindOthers, fmt.Sprintf("waiting for quota in namespace %s: there is room, but others come first: %s",
			a.App.Namespace, strings.Join(append(w.ahead, w.holds...), "; ")))
	case len(w.places) > 0 && a.Quota.Expected:
		return w.answer(scheduler.ReasonBehindOthers,
			fmt.Sprintf("waiting for quota in namespace %s: there is room, but the operator has just started, "+
				"and others that wait are checked first", a.App.Namespace))
	}
	answer := admit(warning(found, note))
	for _, f := range found {
		for _, k := range append(f.asks, f.takes...) {
			answer.Takes = append(answer.Takes, k.Place)
		}
	}
	return answer
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

// admit returns the answer for an attempt that may start.
func admit(warning string) scheduler.Admission {
	return scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Warning: warning}
}

// room is the limit of a quota with its usage and the reservations of others. The namespace is "" for a total of all namespaces.
type room struct {
	namespace             string
	used, reserved, limit corev1.ResourceList
	// guaranteed is the amount that others must return on demand, and borrowed the usage beyond it.
	guaranteed, borrowed corev1.ResourceList
}

// asks returns the places of a demand in the lines of a quota.
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
		asks = append(asks, ask{scheduler.Place{Line: line, Asked: asked, Left: left}, usage})
	}
	return asks
}

// demand is the request of the driver with its initial executors. peak adds their placeholders; most has the maximum of executors instead.
type demand struct{ initial, peak, most corev1.ResourceList }

// compare compares a demand with a quota's room. A demand above the limit can never fit.
func compare(a scheduler.Attempt, quota string, d demand, r room) finding {
	where := "namespace " + a.App.Namespace
	if never := scheduler.Shortages(d.initial, nil, r.limit); len(never) > 0 {
		return finding{quota: quota, reason: scheduler.ReasonExceedsQuota,
			message: fmt.Sprintf("the request exceeds %s of %s: %s", quota, where, scheduler.Exceeding(never))}
	}
	found := finding{quota: quota}
	asked, source := d.peak, quota
	switch never := scheduler.Shortages(d.peak, nil, r.limit); {
	case len(never) > 0: // the application runs nevertheless, and waiting would not help
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
