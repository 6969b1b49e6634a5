// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// yearly is due at no time of a test, so that the test says when something is.
const yearly = "0 0 1 1 *"

var _ = Describe("A schedule", func() {
	var (
		ctx       context.Context
		namespace string
		object    *v1beta2.ScheduledSparkApplication
	)
	BeforeEach(func() {
		ctx = context.Background()
		namespace = newNamespace(ctx)
		object = &v1beta2.ScheduledSparkApplication{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly", Labels: map[string]string{"team": "a"}},
			Spec:       v1beta2.ScheduledSparkApplicationSpec{Schedule: yearly, Template: sparkPi(namespace, "template").Spec},
		}
		object.Spec.Template.Arguments = []string{"$(SCHEDULED_TIME)"}
	})
	AfterEach(func() { Expect(client.IgnoreNotFound(admin.Delete(ctx, object))).To(Succeed()) })

	create := func() { GinkgoHelper(); Expect(admin.Create(ctx, object)).To(Succeed()) }
	status := func() v1beta2.ScheduledSparkApplicationStatus {
		GinkgoHelper()
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		return object.Status
	}
	edit := func(change func()) {
		GinkgoHelper()
		Eventually(func() error {
			status()
			change()
			return admin.Update(ctx, object)
		}, wait, poll).Should(Succeed())
	}
	runs := func() []string {
		var list v1beta2.SparkApplicationList
		Expect(admin.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{v1beta2.LabelScheduledAppName: "nightly"})).To(Succeed())
		var names []string
		for _, run := range list.Items {
			names = append(names, run.Name)
		}
		return names
	}
	trigger := func(at time.Time) string {
		GinkgoHelper()
		edit(func() {
			metav1.SetMetaDataAnnotation(&object.ObjectMeta, v1beta2.AnnotationTriggerAt, at.UTC().Format(time.RFC3339))
		})
		return schedule.Name("nightly", at.Truncate(time.Second), schedule.Nanos)
	}
	finish := func(name string) {
		GinkgoHelper()
		pod := driverPod(ctx, namespace, name+"-driver")
		kubelet(ctx, pod, corev1.PodSucceeded, "spark-kubernetes-driver", exited(0, "Completed"))
		Eventually(func() v1beta2.ApplicationStateType {
			var run v1beta2.SparkApplication
			if admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &run) != nil {
				return v1beta2.ApplicationStateCompleted // and deleted by the history limit
			}
			return run.Status.AppState.State
		}, wait, poll).Should(Equal(v1beta2.ApplicationStateCompleted))
	}
	reason := func(kind string) func() string {
		return func() string {
			if c := meta.FindStatusCondition(status().Conditions, kind); c != nil {
				return c.Reason
			}
			return ""
		}
	}

	It("starts runs one after the other with Forbid, and keeps as many as are wanted", smoke, func() {
		object.Spec.Schedule, object.Spec.ConcurrencyPolicy = "@every 1s", v1beta2.ConcurrencyForbid
		create()
		Eventually(runs, wait, poll).Should(HaveLen(1))
		first := runs()[0]
		Eventually(func() []string { return status().Active }, wait, poll).Should(ConsistOf(first))
		run := app(ctx, namespace, first)
		Expect(run.Labels).To(HaveKeyWithValue("team", "a"))
		Expect(run.Spec.Arguments).To(ConsistOf(run.Annotations[v1beta2.AnnotationScheduledTime]))
		Expect(run.OwnerReferences).To(ConsistOf(metav1.OwnerReference{
			APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "ScheduledSparkApplication", Name: "nightly", UID: object.UID, BlockOwnerDeletion: ptr.To(true),
		}))
		Eventually(func() int64 { return status().SkippedRuns }, wait, poll).Should(BeNumerically(">", 1), "runs that wait are superseded, and counted")
		Expect(reason(schedule.ConditionRunActive)()).To(Equal(string(schedule.ReasonWaitingForActive)))
		Expect(runs()).To(ConsistOf(first))
		finish(first)
		var second string
		Eventually(func() string { second = status().LastRunName; return second }, wait, poll).ShouldNot(Equal(first))
		finish(second)
		Eventually(func() []string { return status().PastSuccessfulRunNames }, wait, poll).ShouldNot(ContainElement(first), "one is kept")
		Eventually(runs, wait, poll).ShouldNot(ContainElement(first))
	})

	It("starts nothing while it is suspended but what is triggered", func() {
		object.Spec.Schedule, object.Spec.Suspend = "@every 1s", ptr.To(true)
		create()
		Eventually(reason(schedule.ConditionScheduled), wait, poll).Should(Equal(string(schedule.ReasonSuspended)))
		name := trigger(time.Now())
		Eventually(runs, wait, poll).Should(ConsistOf(name))
		Expect(app(ctx, namespace, name).Annotations).To(HaveKeyWithValue(v1beta2.AnnotationRunReason, "Trigger"))
		Expect(status().NextRun.Time.IsZero()).To(BeTrue(), "nothing will run at a time of the schedule")
		Consistently(runs, 2*time.Second, poll).Should(ConsistOf(name))
		edit(func() { object.Spec.Suspend = ptr.To(false) })
		Eventually(runs, wait, poll).Should(HaveLen(2), "it goes on")
		edit(func() { object.Spec.Suspend = ptr.To(true) })
	})

	It("replaces a run when its driver is gone", func() {
		object.Spec.ConcurrencyPolicy = v1beta2.ConcurrencyReplace
		create()
		first := trigger(time.Now().Add(-time.Minute))
		driver := driverPod(ctx, namespace, first+"-driver")
		Eventually(func() []string { return status().Active }, wait, poll).Should(ConsistOf(first))
		second := trigger(time.Now())
		Eventually(reason(schedule.ConditionRunActive), wait, poll).Should(Equal(string(schedule.ReasonReplacing)))
		Eventually(runs, wait, poll).Should(BeEmpty(), "the first is deleted")
		Consistently(runs, 2*time.Second, poll).Should(BeEmpty(), "and its driver is not")
		Expect(admin.Delete(ctx, driver, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(runs, wait, poll).Should(ConsistOf(second))
	})

	It("says what is wrong, and goes on when it is right", func() {
		object.Spec.Schedule, object.Spec.TimeZone = yearly, "Europe/Atlantis"
		create()
		Eventually(func() v1beta2.ScheduleState { return status().ScheduleState }, wait, poll).Should(Equal(v1beta2.ScheduleStateFailedValidation))
		Expect(object.Status.Reason).To(HavePrefix("Invalid timezone: "))
		Expect(object.Status.NextRun.IsZero()).To(BeTrue())
		edit(func() { object.Spec.TimeZone, object.Spec.Schedule = "Europe/Berlin", "@every 1s" })
		Eventually(runs, wait, poll).ShouldNot(BeEmpty())
		Expect(status().ScheduleState).To(Equal(v1beta2.ScheduleStateScheduled))
		edit(func() { object.Spec.Schedule, object.Spec.TimeZone = yearly, "UTC" })
		Eventually(func() string { return status().NextRun.UTC().Format("01-02") }, wait, poll).Should(Equal("01-01"), "an edit counts at once")
	})

	It("makes up for a range of times", func() {
		to := time.Now().Truncate(time.Hour).Add(time.Second)
		object.Spec.Schedule = "@hourly"
		object.Spec.Backfill = &v1beta2.ScheduleBackfill{From: metav1.NewTime(to.Add(-3 * time.Hour)), To: metav1.NewTime(to), MaxActive: ptr.To(int32(2))}
		create()
		want := func(hours ...int) (names []string) {
			for _, n := range hours {
				names = append(names, schedule.Name("nightly", to.Truncate(time.Hour).Add(-time.Duration(n)*time.Hour), schedule.Nanos))
			}
			return names
		}
		Eventually(func() int32 {
			if b := status().Backfill; b != nil {
				return b.Started
			}
			return 0
		}, wait, poll).Should(Equal(int32(2)))
		Expect(runs()).To(ConsistOf(want(2, 1)), "the oldest first, and no more than two")
		finish(want(2)[0])
		Eventually(runs, wait, poll).Should(ContainElements(want(0)))
		Eventually(func() *metav1.Time { return status().Backfill.Next }, wait, poll).Should(BeNil())
	})

	It("takes over a schedule with its runs, and waits for a name", func() {
		var last time.Time
		restartOperator(func() {
			create()
			old := kubeflow.NewRun(object, schedule.Start{Name: "nightly-1700000000000000000"})
			old.Annotations = nil
			Expect(admin.Create(ctx, old)).To(Succeed())
			last = time.Date(time.Now().Year(), 1, 1, 0, 0, 0, 0, time.Local)
			object.Spec.ConcurrencyPolicy = v1beta2.ConcurrencyForbid
			object.Status = v1beta2.ScheduledSparkApplicationStatus{
				LastRun: metav1.NewTime(time.Now().Add(-time.Second)), ScheduleState: v1beta2.ScheduleStateScheduled, LastRunName: old.Name,
			}
			Expect(admin.Status().Update(ctx, object)).To(Succeed())
		})
		Eventually(func() []string { return status().Active }, wait, poll).Should(ConsistOf("nightly-1700000000000000000"))
		Expect(runs()).To(HaveLen(1), "nothing was missed since the last run")

		By("a time that was missed, whose name is taken")
		name := schedule.Name("nightly", last, schedule.Nanos)
		notOwned := sparkPi(namespace, name)
		notOwned.Spec.Suspend = ptr.To(true)
		Expect(admin.Create(ctx, notOwned)).To(Succeed())
		restartOperator(func() {
			s := status()
			object.Status.ScheduledSince = ptr.To(metav1.NewTime(last.Add(-time.Hour)))
			Expect(s.LastScheduledTime).To(BeNil())
			Expect(admin.Status().Update(ctx, object)).To(Succeed())
		})
		Eventually(reason(schedule.ConditionStalled), wait, poll).Should(Equal(string(schedule.ReasonNameConflict)))
		Expect(admin.Delete(ctx, notOwned)).To(Succeed())
		Eventually(runs, wait, poll).Should(ContainElement(name), "it is tried again")
		Eventually(reason(schedule.ConditionStalled), wait, poll).Should(Equal(string(schedule.ReasonNoTrouble)))
	})

	It("knows after a crash which runs it has started", func() {
		object.Spec.Schedule, object.Spec.MissedRunPolicy = "@every 1s", v1beta2.MissedRunAll
		var crashed *v1beta2.SparkApplication
		restartOperator(func() {
			create()
			tick := object.CreationTimestamp.Add(time.Second)
			crashed = kubeflow.NewRun(object, schedule.Start{Name: schedule.Name("nightly", tick, schedule.Nanos), Reason: schedule.ReasonSchedule, Tick: tick})
			Expect(admin.Create(ctx, crashed)).To(Succeed())
		})
		Eventually(func() []string { return status().Active }, wait, poll).Should(ContainElement(crashed.Name))
		Eventually(func() int { return len(runs()) }, wait, poll).Should(BeNumerically(">", 3))
		edit(func() { object.Spec.Suspend = ptr.To(true) })
		Eventually(reason(schedule.ConditionScheduled), wait, poll).Should(Equal(string(schedule.ReasonSuspended)))
		s := status()
		Expect(s.SkippedRuns).To(BeZero())
		Expect(app(ctx, namespace, crashed.Name).UID).To(Equal(crashed.UID))
		Eventually(func() int {
			return int(status().LastScheduledTime.Sub(object.CreationTimestamp.Time) / time.Second)
		}, wait, poll).Should(Equal(len(runs())), "one for each second")
		Expect(slices.ContainsFunc(writes.in(namespace), func(w string) bool { return strings.HasPrefix(w, "PUT") })).To(BeFalse())
	})
})
