// SPDX-License-Identifier: Apache-2.0

package family_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/controller/application"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/test/family"
)

// Names of the kinds.
const (
	appKind = "SparkApplication"
	jobKind = "Job"
)

// rooms is a plugin with room for some pods, of whatever kind, in one line.
type rooms struct {
	limit int32
	// told is what it was told of others, by kind and name of who asked last.
	told map[string]scheduler.Outstanding
}

var line = scheduler.Line{Quota: "room", Resource: "pods"}

func (*rooms) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{Name: "rooms", Quota: true}
}
func (*rooms) Validate(scheduler.Attempt) field.ErrorList              { return nil }
func (*rooms) Reads(scheduler.Attempt) []scheduler.Read                { return nil }
func (*rooms) Decorate(scheduler.Attempt, *scheduler.Decoration) error { return nil }

func (p *rooms) Admit(a scheduler.Attempt, _ scheduler.Snapshot) (scheduler.Admission, error) {
	p.told[a.App.Kind.Kind+" "+a.App.Name] = a.Quota
	taken := int32(0)
	for _, r := range a.Quota.Others {
		taken += r.PodSets.Initial + 1
	}
	if a.Quota.Ahead[line].All() > 0 || taken+a.PodSets.Initial+1 > p.limit {
		return scheduler.Admission{Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForQuota, Message: "there is no room", Lines: []scheduler.Place{{Line: line}}}, nil
	}
	return scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Message: "there is room"}, nil
}

// others is how many attempts somebody was told of when it last asked, and how many wait before it.
func (p *rooms) others(who string) [2]int {
	return [2]int{len(p.told[who].Others), p.told[who].Ahead[line].All()}
}

// process is an operator of both kinds in a cluster.
type process struct {
	t      *testing.T
	c      client.Client
	clock  *clocktesting.FakePassiveClock
	plugin *rooms
	kinds  map[string]reconcile.Reconciler
	uids   int
}

func newProcess(t *testing.T, limit int32) *process {
	t.Helper()
	p := &process{t: t, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)), plugin: &rooms{limit: limit, told: map[string]scheduler.Outstanding{}}}
	kind := application.NewKind("job", family.Jobs{}, &family.JobList{}, family.AddToScheme)
	p.c = fake.NewClientBuilder().WithScheme(controller.Scheme(kind)).
		WithStatusSubresource(&v1beta2.SparkApplication{}, &family.Job{}, &corev1.Pod{}).
		WithReturnManagedFields().
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				p.uids++
				o.SetUID(types.UID(fmt.Sprintf("uid-%d", p.uids)))
				o.SetCreationTimestamp(metav1.NewTime(p.clock.Now()))
				return c.Create(ctx, o, opts...)
			},
		}).Build()
	p.restart()
	return p
}

// restart is a new process, which remembers nothing.
func (p *process) restart() {
	p.t.Helper()
	registry, err := scheduler.NewRegistry("rooms", p.plugin)
	if err != nil {
		p.t.Fatal(err)
	}
	reader := observe.Reader{Cache: p.c, Live: p.c}
	recorder := &events.FakeRecorder{}
	memory := reservations.New(p.clock, nil, scheduler.Order{})
	apps := application.NewEngine(kubeflow.SparkApplications{}, &v1beta2.SparkApplicationList{}, reader, p.c, registry, recorder, p.clock, memory)
	jobs := application.NewEngine(family.Jobs{}, &family.JobList{}, reader, p.c, registry, recorder, p.clock, memory)
	apps.Exposure, jobs.Exposure = exposure.Config{Service: true}, exposure.Config{Service: true}
	p.kinds = map[string]reconcile.Reconciler{appKind: apps, jobKind: jobs}
}

// create applies an application with one executor, a second after the last one.
func (p *process) create(kind, name string, changes ...func(client.Object)) client.Object {
	p.t.Helper()
	var o client.Object = testutil.Pi(testutil.New("jobs", name), testutil.Executors(1))
	if kind == jobKind {
		j := &family.Job{Spec: family.JobSpec{
			Main: "local:///x.jar", Class: "X", Image: "spark", Spark: testutil.SparkVersion, Workers: 1, Pod: name + "-of-the-job",
		}}
		j.Namespace, j.Name = "jobs", name
		o = j
	}
	for _, change := range changes {
		change(o)
	}
	o.SetGeneration(1)
	if err := p.c.Create(p.t.Context(), o); err != nil {
		p.t.Fatal(err)
	}
	p.pass(time.Second)
	return o
}

func (p *process) pass(d time.Duration) { p.clock.SetTime(p.clock.Now().Add(d)) }

// ask reconciles an application once.
func (p *process) ask(kind, name string) {
	p.t.Helper()
	if _, err := p.kinds[kind].Reconcile(p.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "jobs", Name: name}}); err != nil {
		p.t.Fatal(err)
	}
}

// remove deletes an application with all that it owns, and lets its engine see it.
func (p *process) remove(kind string, o client.Object) {
	p.t.Helper()
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}} {
		if err := p.c.List(p.t.Context(), list); err != nil {
			p.t.Fatal(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, item := range items {
			if part := item.(client.Object); metav1.IsControlledBy(part, o) {
				if err := p.c.Delete(p.t.Context(), part); err != nil {
					p.t.Fatal(err)
				}
			}
		}
	}
	if err := p.c.Delete(p.t.Context(), o); err != nil {
		p.t.Fatal(err)
	}
	p.ask(kind, o.GetName())
}

// why is the reason that an application shows in a condition.
func (p *process) why(kind, name, condition string) string {
	p.t.Helper()
	key := client.ObjectKey{Namespace: "jobs", Name: name}
	var app v1beta2.SparkApplication
	var job family.Job
	conditions := &app.Status.Conditions
	var o client.Object = &app
	if kind == jobKind {
		o, conditions = &job, &job.Status.Conditions
	}
	if err := p.c.Get(p.t.Context(), key, o); err != nil {
		p.t.Fatal(err)
	}
	if c := meta.FindStatusCondition(*conditions, condition); c != nil {
		return c.Reason
	}
	return ""
}

// expect compares what somebody was told, and whether it may start.
func (p *process) expect(kind, name string, others, ahead int, reason scheduler.Reason) {
	p.t.Helper()
	p.ask(kind, name)
	if diff := cmp.Diff([2]int{others, ahead}, p.plugin.others(kind+" "+name)); diff != "" {
		p.t.Errorf("%s %s was told of others, and of those before it (-want +got):\n%s", kind, name, diff)
	}
	if got := p.why(kind, name, "Admitted"); got != string(reason) {
		p.t.Errorf("%s %s: %s, want %s", kind, name, got, reason)
	}
}

// What is promised to an application of one kind is not there for one of the other, and all wait in one line.
func TestOneLedgerAndOneLine(t *testing.T) {
	kinds := map[string][2]string{"application first": {appKind, jobKind}, "job first": {jobKind, appKind}}
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t, 2)
			first := p.create(k[0], "pi")
			p.expect(k[0], "pi", 0, 0, scheduler.ReasonAdmitted)
			second := p.create(k[1], "pi")
			p.expect(k[1], "pi", 1, 0, scheduler.ReasonWaitingForQuota)
			p.create(k[0], "late")
			p.expect(k[0], "late", 1, 1, scheduler.ReasonWaitingForQuota)
			p.remove(k[0], first)
			p.expect(k[0], "late", 0, 1, scheduler.ReasonWaitingForQuota)
			p.expect(k[1], "pi", 0, 0, scheduler.ReasonAdmitted)
			p.expect(k[0], "late", 1, 0, scheduler.ReasonWaitingForQuota)
			p.remove(k[1], second)
			p.expect(k[0], "late", 0, 0, scheduler.ReasonAdmitted)
		})
	}
}

// Who goes takes with it what was promised to it, and not what was promised to its namesake of the other kind.
func TestNamesakesAreForgottenApart(t *testing.T) {
	p := newProcess(t, 4)
	app, job := p.create(appKind, "pi"), p.create(jobKind, "pi")
	p.expect(appKind, "pi", 0, 0, scheduler.ReasonAdmitted)
	p.expect(jobKind, "pi", 1, 0, scheduler.ReasonAdmitted)
	p.create(appKind, "late")
	p.expect(appKind, "late", 2, 0, scheduler.ReasonWaitingForQuota)
	p.remove(jobKind, job)
	p.expect(appKind, "late", 1, 0, scheduler.ReasonAdmitted)
	p.create(jobKind, "later")
	p.expect(jobKind, "later", 2, 0, scheduler.ReasonWaitingForQuota)
	p.remove(appKind, app)
	p.expect(jobKind, "later", 1, 0, scheduler.ReasonAdmitted)
}

// After a restart nobody of either kind is admitted before the ledger knows what runs of both.
func TestLedgerIsRebuiltFromBothKinds(t *testing.T) {
	for _, asks := range []string{appKind, jobKind} {
		t.Run(asks, func(t *testing.T) {
			p := newProcess(t, 4)
			for _, kind := range []string{appKind, jobKind} {
				p.create(kind, "pi")
				p.ask(kind, "pi")
				p.ask(kind, "pi") // its driver is seen, and its executor is still to come
			}
			p.restart()
			p.create(asks, "late")
			p.expect(asks, "late", 2, 0, scheduler.ReasonWaitingForQuota)
		})
	}
}

// Whatever it is that both want to name alike, the later one leaves it alone, says so, and goes on once the name is free.
func TestNamesThatBothWant(t *testing.T) {
	tests := map[string]struct {
		reason    string
		app, job  func(client.Object)
		condition string
		// submits is whether the later one has a driver all the same.
		submits bool
	}{
		"Pod": {
			reason: "the driver pod", condition: "Submitted",
			job: func(o client.Object) { o.(*family.Job).Spec.Pod = "pi-driver" },
		},
		"ConfigMap": {
			reason: "a ConfigMap of the user's choice", condition: "Submitted",
			app: func(o client.Object) {
				o.(*v1beta2.SparkApplication).Spec.Monitoring = &v1beta2.MonitoringSpec{
					ExposeDriverMetrics: true, Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: "/x.jar"},
				}
			},
			job: func(o client.Object) {
				o.(*family.Job).Spec.Settings = &family.Settings{Name: "pi-prom-conf", Data: map[string]string{"a": "b"}}
			},
		},
		"Service": {reason: "the Service of the UI stops nobody", condition: "Exposed", submits: true},
	}
	for name, tc := range tests {
		for _, order := range [][2]string{{appKind, jobKind}, {jobKind, appKind}} {
			t.Run(name+", "+order[0]+" first", func(t *testing.T) {
				p := newProcess(t, 100)
				changes := map[string]func(client.Object){appKind: tc.app, jobKind: tc.job}
				create := func(kind string) client.Object {
					return p.create(kind, "pi", func(o client.Object) {
						if change := changes[kind]; change != nil {
							change(o)
						}
					})
				}
				first := create(order[0])
				p.settle(order[0])
				create(order[1])
				p.settle(order[1])
				if got := p.why(order[0], "pi", "Submitted"); got != "DriverCreated" {
					t.Errorf("the first: %s", got)
				}
				if got := p.why(order[1], "pi", tc.condition); got != "NameConflict" {
					t.Errorf("%s: the later one's condition %s says %q", tc.reason, tc.condition, got)
				}
				if got := p.why(order[1], "pi", "Submitted") == "DriverCreated"; got != tc.submits {
					t.Errorf("the later one has a driver: %t", got)
				}
				p.remove(order[0], first)
				p.settle(order[1])
				if got := p.why(order[1], "pi", "Submitted"); got != "DriverCreated" {
					t.Errorf("the name is free, but the later one says %q", got)
				}
				if got := p.why(order[1], "pi", "Exposed"); got != "" && got != "Exposed" {
					t.Errorf("the name is free, but the condition Exposed says %q", got)
				}
			})
		}
	}
}

// settle lets an application do what it does within a minute.
func (p *process) settle(kind string) {
	p.t.Helper()
	for range 12 {
		p.ask(kind, "pi")
		p.pass(5 * time.Second)
	}
}
