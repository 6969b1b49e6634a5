// SPDX-License-Identifier: Apache-2.0

// Package conformance is the test that every scheduler plugin must pass: 47 cases of what users and administrators do
// with an application that waits for a scheduler. Each case runs our whole operator against a real API server. The
// author of a plugin describes it with a Subject and calls Run from a test of their own.
//
// A subject is tested in two tiers. In the first a stand-in plays the scheduler and writes what the real one would; in
// the second it is the real program. A case that passes in the first and fails in the second shows that the stand-in is
// wrong, which keeps it honest.
package conformance

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Tier is how real the scheduler is.
type Tier int

const (
	// StandIn is a script that writes what the scheduler would.
	StandIn Tier = 1
	// Real is the scheduler itself.
	Real Tier = 2
)

// Place is a queue or namespace for applications. It has a fixed room; nothing outside of it affects them.
type Place struct {
	// Queue is for spec.batchSchedulerOptions.queue; "" for none.
	Queue string
	// NodeSelector and Tolerations are for the pods of both roles.
	NodeSelector map[string]string
	Tolerations  []corev1.Toleration
}

// Environment is provided by the author of a plugin: the scheduler and an administrator's actions.
type Environment interface {
	// Install makes the APIs of the scheduler exist, and Uninstall takes them away.
	Install(ctx context.Context) error
	Uninstall(ctx context.Context) error
	// Start starts the scheduler, and Stop ends it.
	Start(ctx context.Context) error
	Stop()
	// Place makes a place for the applications of a namespace that has the given room.
	Place(ctx context.Context, namespace string, room corev1.ResourceList) (Place, error)
	// Remove takes the place away; it is no error if there is none.
	Remove(ctx context.Context, namespace string) error
}

// Queues is for schedulers whose queues can be made, closed and opened again.
type Queues interface {
	CreateQueue(ctx context.Context, name string, room corev1.ResourceList) error
	CloseQueue(ctx context.Context, name string) error
	OpenQueue(ctx context.Context, name string) error
}

// Subject is a plugin that is put to the test.
type Subject struct {
	// Title heads the column in the table.
	Title string
	Tier  Tier
	// Scheduler is the value of spec.batchScheduler.
	Scheduler string
	// Settings are the operator's, and Registry makes its plugins of them.
	Settings config.BatchScheduler
	Registry func(config.BatchScheduler) (*scheduler.Registry, error)
	// Alias is a further name of the plugin, which is that of another scheduler; "" if it serves only one.
	Alias string
	// OwnGroup is the mark by which users put pods into a group of their own.
	OwnGroup scheduler.PodKey
	// QueueMark is the mark by which pods name their queue.
	QueueMark scheduler.PodKey
	// Other is the name of another plugin in the registry.
	Other string
	// Role are the operator's rights that do not depend on plugins.
	Role []rbacv1.PolicyRule
	// API is the group of an API that the plugin cannot do without; "" if it needs none.
	API string
	// Silent is the reason of an application whose scheduler does not run.
	Silent scheduler.Reason
	// Full are the reasons, one of which an application has that finds its place full.
	Full []scheduler.Reason
	// Says is the part of the message that comes from the scheduler; "" for none.
	Says string
	// TooBig is the reason of an application that is larger than its place.
	TooBig scheduler.Reason
	// MissingQueue is the reason of an application whose queue does not exist; SchedulerRefused means that it fails.
	MissingQueue scheduler.Reason
	// ClosedQueue is the same for a queue that is closed.
	ClosedQueue scheduler.Reason
	// QueuePrefix begins the names of the queues that the cases make.
	QueuePrefix string
	// Reckons reads the application's size as the scheduler got it, from the driver and the plugin's objects; nil if the
	// scheduler reads the pods only.
	Reckons func(ctx context.Context, c client.Client, driver *corev1.Pod, objects []unstructured.Unstructured) (corev1.ResourceList, error)
	// User reads what the scheduler knows of the user of a driver; nil if it asks for none.
	User func(ctx context.Context, driver *corev1.Pod) (string, error)
	// Lowers is set if this is the driver's size once the initial executors of dynamic allocation run.
	Lowers bool
	// QueuesFirst is set if an application waits in its queue before it has pods.
	QueuesFirst bool
	// Placeholders is set if the scheduler creates a placeholder pod for each pod of a gang.
	Placeholders bool
	// DriverStays is set if the scheduler preempts executors, but no driver.
	DriverStays bool
	// AllOrNothing are the parameters of an application whose executors start together or not at all. GivesUp are those of one
	// that its scheduler takes back after a few seconds without room. "" if the plugin has no such option.
	AllOrNothing, GivesUp string
	// TakesBack are the parameters of an application for which its scheduler reclaims borrowed resources; "" if it needs none.
	TakesBack string
	// Spares are parameters that protect executors from preemption; Yields are parameters that let the scheduler preempt the
	// driver only; "" if the plugin has no such options.
	Spares, Yields string
	// Renews is an annotation that the plugin writes again on objects whose pods wait, for a reason and now and then; "" for none.
	Renews string
	// Alone are the cases that must have the cluster to themselves, because all applications in it share one room.
	Alone []int
	// DoesNotApply gives the reason why a case does not concern the plugin, by its number.
	DoesNotApply map[int]string

	Environment Environment
	// Admin reaches the API server with every right.
	Admin *rest.Config
}

// plugin returns what applications choose.
func (s Subject) plugin(tb testing.TB) scheduler.Plugin {
	tb.Helper()
	registry, err := s.Registry(s.Settings)
	must(tb, "make the registry", err)
	p, ok := registry.Plugin(s.Scheduler)
	if !ok {
		tb.Fatalf("the plugin %s is not enabled", s.Scheduler)
	}
	return p
}

// stage is when a case runs.
type stage int

const (
	// beforeAPI : the scheduler's API is not there yet; the last of these cases installs it.
	beforeAPI stage = iota
	// beforeScheduler : the scheduler does not run yet; the last of these cases starts it.
	beforeScheduler
	// normal : the cluster works, and the cases run concurrently, except for those that must run alone.
	normal
	// last : the case leaves the cluster without the API.
	last
)

// Case is one of the cases.
type Case struct {
	Number int
	Name   string
	stage  stage
	run    func(*Harness)
	// absent is the reason why the case applies to no plugin at present.
	absent string
}

// doesNotApply returns the reason why the case is not run; "" if it is run.
func (s Subject) doesNotApply(k Case) string {
	switch {
	case k.absent != "":
		return k.absent
	case k.Number == 33 && s.AllOrNothing == "", k.Number == 34 && s.GivesUp == "":
		return "the plugin has no such option"
	case k.Number == 36 && s.OwnGroup.Key == "":
		return "the scheduler has no groups"
	case k.Number == 40 && s.User == nil:
		return "the scheduler knows no users"
	case k.Number == 35 && s.Alias == "":
		return "the plugin serves one scheduler"
	case k.Number == 42 && !lends(s.Environment):
		return "nobody is guaranteed what others may use"
	case k.Number == 44 && s.Spares == "":
		return "the plugin does not say which pods may be taken down"
	case k.Number == 45 && !s.QueuesFirst:
		return "no application waits in a queue before it has pods"
	case k.Number == 46 && !s.Placeholders:
		return "the scheduler makes no pods of its own"
	}
	return s.DoesNotApply[k.Number]
}

func lends(e Environment) bool {
	_, ok := e.(Lender)
	return ok
}

// Cases are all cases that exist, by their numbers.
func Cases() []Case { return cases }

// Run puts a subject to the test. What comes of it is noted in the report.
func Run(t *testing.T, s Subject, report *Report) {
	t.Helper()
	ctx := t.Context()
	only := selection()
	c, err := client.New(s.Admin, client.Options{Scheme: controller.Scheme()})
	must(t, "make a client", err)
	for _, k := range cases {
		if why := s.doesNotApply(k); why != "" {
			report.note(s, k.Number, doesNotApply, why)
		}
	}
	run := func(t *testing.T, k Case, parallel bool) {
		t.Helper()
		if s.doesNotApply(k) != "" || len(only) > 0 && !only[k.Number] {
			return
		}
		t.Run(fmt.Sprintf("%02d %s", k.Number, k.Name), func(t *testing.T) {
			if parallel {
				t.Parallel()
			}
			t.Cleanup(func() { report.note(s, k.Number, outcome(t), "") })
			k.run(newHarness(t, s, c))
		})
	}
	each := func(t *testing.T, at stage, parallel bool) {
		t.Helper()
		for _, k := range cases {
			if alone := slices.Contains(s.Alone, k.Number); k.stage == at && (at != normal || alone != parallel) {
				run(t, k, parallel)
			}
		}
	}
	t.Cleanup(s.Environment.Stop)
	each(t, beforeAPI, false)
	must(t, "install the scheduler's API", s.Environment.Install(ctx))
	each(t, beforeScheduler, false)
	must(t, "start the scheduler", s.Environment.Start(ctx))
	t.Run("cases", func(t *testing.T) { each(t, normal, true) })
	each(t, normal, false)
	each(t, last, false)
	must(t, "uninstall the scheduler's API", s.Environment.Uninstall(ctx))
}

// selection reads the numbers of the cases to run; others are left out.
func selection() map[int]bool {
	only := map[int]bool{}
	for _, text := range strings.FieldsFunc(os.Getenv("CONFORMANCE_CASES"), func(r rune) bool { return r == ',' }) {
		if n, err := strconv.Atoi(text); err == nil {
			only[n] = true
		}
	}
	return only
}

func must(tb testing.TB, what string, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

func outcome(t *testing.T) string {
	t.Helper()
	if t.Failed() {
		return failed
	}
	return passed
}
