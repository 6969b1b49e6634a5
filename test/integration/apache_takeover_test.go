// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// leftApache is an application that Apache's operator has left, and what happens to it.
type leftApache struct {
	// run is the recorded run that was at the state, for the first time or for the last.
	run   string
	state v1.ApplicationStateSummary
	last  bool
	// objects names the recording with the objects of the driver; that of the plain run if it is empty.
	objects string
	// driver is the status of the driver's pod, "" if there is none, and executors how many executors are ready.
	driver    string
	executors int
	// suspended is why it is suspended, if it is: 1.1.0 has this state, the recorded version does not.
	suspended v1.SuspendReason
	suspend   bool

	// then is what happens next, if anything does.
	then func(ctx context.Context, w leftDemo)
	// follows are the states that the operator adds, births the driver pods that it creates, and restarts how many attempts it begins because
	// of a failure, or of a failure to start.
	follows                     string
	births                      int
	failures, schedulings, runs int64
}

// leftDemo is one that was restored.
type leftDemo struct {
	left
	status v1.SparkApplicationStatus
}

// says lets the kubelet say something of the driver of an attempt.
func says(attempt int, statuses ...string) func(context.Context, leftDemo) {
	return func(ctx context.Context, w leftDemo) {
		GinkgoHelper()
		for _, status := range statuses {
			pod := driverPod(ctx, w.namespace, fmt.Sprintf("demo-%d-driver", attempt))
			reports(ctx, pod, status)
			if status == "ready" {
				Eventually(func() v1.ApplicationStateSummary {
					return demo(ctx, w.namespace).Status.CurrentState.CurrentStateSummary
				}, wait, poll).
					Should(Equal(v1.StateRunningHealthy))
			}
		}
	}
}

// moreExecutors makes one more executor ready.
func moreExecutors(number int) func(context.Context, leftDemo) {
	return func(ctx context.Context, w leftDemo) {
		GinkgoHelper()
		executes(ctx, driverPod(ctx, w.namespace, "demo-0-driver"), number)
	}
}

// resumesDemo waits until a suspended application has no driver, and resumes it.
func resumesDemo(ctx context.Context, w leftDemo) {
	GinkgoHelper()
	Eventually(func() []string { return pods(ctx, w.namespace) }, wait, poll).Should(BeEmpty())
	Expect(demo(ctx, w.namespace).Status.CurrentState.CurrentStateSummary).To(Equal(v1.StateSuspended))
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":false}}`))
	Expect(admin.Patch(ctx, demo(ctx, w.namespace), patch)).To(Succeed())
}

const (
	toHealthy = "DriverStarted DriverReady RunningHealthy"
	toEnd     = "Succeeded ResourceReleased"
)

var leftByApache = map[string]leftApache{
	"new":                {run: "run-success", births: 1, follows: "Submitted DriverRequested"},
	"submitted":          {run: "run-success", state: v1.StateSubmitted, births: 1, follows: "DriverRequested"},
	"submitted, crashed": {run: "run-success", state: v1.StateSubmitted, driver: "pending", then: says(0, "ready"), follows: "DriverRequested " + toHealthy},
	"requested": {
		run: "run-success", state: v1.StateDriverRequested, driver: "pending",
		then: says(0, "ready", "succeeded"), follows: toHealthy + " " + toEnd,
	},
	"requested, v1beta1": {
		run: "app-v1beta1", objects: "app-v1beta1", state: v1.StateDriverRequested, driver: "pending",
		then: says(0, "ready", "failed"), follows: toHealthy + " Failed ResourceReleased",
	},
	"requested, driver gone": {run: "run-success", state: v1.StateDriverRequested, follows: "Failed ResourceReleased"},
	"started": {
		run: "run-success", state: v1.StateDriverStarted, driver: "started",
		then: says(0, "ready"), follows: "DriverReady RunningHealthy",
	},
	"ready": {run: "run-success", state: v1.StateDriverReady, driver: "ready", follows: "RunningHealthy"},
	"few executors at the start": {
		run: "exec-threshold", state: v1.StateInitializedBelowThresholdExecutors, driver: "ready", executors: 1,
		then: moreExecutors(2), follows: "RunningHealthy",
	},
	"running":    {run: "run-success", state: v1.StateRunningHealthy, driver: "ready", then: says(0, "succeeded"), follows: toEnd},
	"running on": {run: "run-success", state: v1.StateRunningHealthy, driver: "ready"},
	"running, with what it opens": {
		run: "app-ingress-rules", objects: "app-ingress-rules", state: v1.StateDriverRequested, driver: "pending",
		then: says(0, "ready"), follows: toHealthy,
	},
	"running, succeeded meanwhile": {run: "run-success", state: v1.StateRunningHealthy, driver: "succeeded", follows: toEnd},
	"running, failed meanwhile":    {run: "run-success", state: v1.StateRunningHealthy, driver: "failed", follows: "Failed ResourceReleased"},
	"running, evicted meanwhile":   {run: "run-evicted", state: v1.StateRunningHealthy, driver: "evicted", follows: "DriverEvicted ResourceReleased"},
	"running, deleted meanwhile":   {run: "run-driver-deleted", state: v1.StateRunningHealthy, follows: "Failed ResourceReleased"},
	"partial capacity": {
		run: "exec-partial", state: v1.StateRunningWithPartialCapacity, driver: "ready", executors: 1,
		then: says(0, "succeeded"), follows: toEnd,
	},
	"too few executors": {
		run: "exec-below", state: v1.StateRunningWithBelowThresholdExecutors, driver: "ready", executors: 1,
		then: moreExecutors(2), follows: "RunningHealthy",
	},
	"driver start timed out":    {run: "timeout-driver-start", state: v1.StateDriverStartTimedOut, driver: "pending", follows: "ResourceReleased"},
	"executors start timed out": {run: "timeout-executors-some", state: v1.StateExecutorsStartTimedOut, driver: "ready", executors: 1, follows: "ResourceReleased"},
	"driver ready timed out":    {run: "timeout-driver-ready", state: v1.StateDriverReadyTimedOut, driver: "started", follows: "ResourceReleased"},
	"start timed out, restarted": {
		run: "restart-infra", state: v1.StateDriverStartTimedOut, driver: "pending",
		births: 1, follows: "ScheduledToRestart DriverRequested DriverStartTimedOut ResourceReleased", failures: 1, runs: 1,
	},
	"succeeded": {run: "run-success", state: v1.StateSucceeded, driver: "succeeded", follows: "ResourceReleased"},
	"succeeded, restarted": {
		run: "restart-always", state: v1.StateSucceeded, driver: "succeeded",
		births: 1, follows: "ScheduledToRestart DriverRequested", runs: 1,
	},
	"failed": {run: "run-failed-started", state: v1.StateFailed, driver: "failed", follows: "ResourceReleased"},
	"failed, restarted": {
		run: "restart-trim-off", state: v1.StateFailed, driver: "failed",
		births: 1, follows: "ScheduledToRestart DriverRequested", failures: 1, runs: 1,
	},
	"failed, at its limit": {run: "restart-failure-limit", state: v1.StateFailed, last: true, driver: "failed", follows: "ResourceReleased"},
	"not started":          {run: "app-image-missing", state: v1.StateSchedulingFailure, follows: "ResourceReleased"},
	"not started, restarted": {
		run: "quota-restart", state: v1.StateSchedulingFailure,
		births: 1, follows: "ScheduledToRestart DriverRequested", failures: 1, schedulings: 1, runs: 1,
	},
	"evicted":         {run: "run-evicted", state: v1.StateDriverEvicted, driver: "evicted", follows: "ResourceReleased"},
	"to be restarted": {run: "restart-backoff", state: v1.StateScheduledToRestart, births: 1, follows: "DriverRequested"},
	"to be restarted, untrimmed": {
		run: "restart-trim-off", state: v1.StateScheduledToRestart,
		births: 1, then: says(1, "ready"), follows: "DriverRequested " + toHealthy,
	},
	"to be restarted, crashed": {run: "restart-backoff", state: v1.StateScheduledToRestart, driver: "pending", follows: "DriverRequested"},
	"running again": {
		run: "restart-backoff", state: v1.StateDriverRequested, last: true, driver: "pending",
		then: says(1, "ready", "succeeded"), follows: toHealthy + " " + toEnd,
	},
	"running again, untrimmed": {
		run: "restart-trim-off", state: v1.StateRunningHealthy, last: true, driver: "ready",
		births: 1, then: says(1, "failed"), follows: "Failed ScheduledToRestart DriverRequested", failures: 1, runs: 1,
	},
	"released":              {run: "run-success", state: v1.StateResourceReleased},
	"released, not started": {run: "app-image-missing", state: v1.StateResourceReleased},
	"retained":              {run: "retain-onfailure-failed", state: v1.StateTerminatedWithoutReleaseResources, driver: "failed"},
	"retained for a time":   {run: "retain-duration", state: v1.StateTerminatedWithoutReleaseResources, driver: "succeeded", follows: "ResourceReleased"},
	"suspended": {
		run: "run-success", state: v1.StateRunningHealthy, suspended: v1.SuspendedBySpec, suspend: true,
		then: resumesDemo, births: 1, follows: "Submitted DriverRequested",
	},
	"suspended, not released": {
		run: "run-success", state: v1.StateRunningHealthy, suspended: v1.SuspendedBySpec, suspend: true, driver: "ready",
		then: resumesDemo, births: 1, follows: "Submitted DriverRequested",
	},
	"evicted by Kueue": {
		run: "run-success", state: v1.StateRunningHealthy, suspended: v1.SuspendedByKueue, driver: "ready",
		births: 1, follows: "Submitted DriverRequested",
	},
	"evicted by Kueue, suspended": {
		run: "run-success", state: v1.StateRunningHealthy, suspended: v1.SuspendedByKueue, suspend: true, driver: "ready",
		then: resumesDemo, births: 1, follows: "Suspended Submitted DriverRequested",
	},
}

// happens lets it happen, and waits for the end.
func (l leftApache) happens(ctx context.Context, w leftDemo) {
	GinkgoHelper()
	if l.then != nil {
		l.then(ctx, w)
	}
	want := append(testutil.ApacheStates(&w.status), strings.Fields(l.follows)...)
	states := func() []string { s := demo(ctx, w.namespace).Status; return testutil.ApacheStates(&s) }
	Eventually(states, wait, poll).Should(Equal(want))
	Eventually(func() int64 { return demo(ctx, w.namespace).Status.ObservedGeneration }, wait, poll).Should(Equal(demo(ctx, w.namespace).Generation))
	Expect(states()).To(Equal(want))
}

// histories are all states that a status holds, by their keys.
func histories(s *v1.SparkApplicationStatus) map[string]v1.ApplicationState {
	all := maps.Clone(s.StateTransitionHistory)
	if all == nil {
		all = map[string]v1.ApplicationState{}
	}
	if p := s.PreviousAttemptSummary; p != nil {
		maps.Copy(all, p.StateTransitionHistory)
	}
	return all
}

// keepsHistory checks that what was recorded is as it was, and that the keys go on from there.
func (l leftApache) keepsHistory(ctx context.Context, w leftDemo) {
	GinkgoHelper()
	s := demo(ctx, w.namespace).Status
	all := histories(&s)
	for key, state := range histories(&w.status) {
		Expect(all).To(HaveKeyWithValue(key, state))
	}
	for i := range len(all) {
		Expect(all).To(HaveKey(fmt.Sprint(i)), "keys are numbers without a gap")
	}
	want := w.attempt()
	want.RestartCounter += l.runs
	want.FailureRestartCounter += l.failures
	want.SchedulingFailureRestartCounter += l.schedulings
	want.ID += l.begun()
	Expect(*s.CurrentAttemptSummary.AttemptInfo).To(Equal(want))
	if l.begun() == 0 && w.status.PreviousAttemptSummary != nil {
		Expect(s.PreviousAttemptSummary).To(Equal(w.status.PreviousAttemptSummary))
	}
}

// begun is how many attempts the operator begins.
func (l leftApache) begun() int64 {
	if l.suspended != "" {
		return 1
	}
	return l.runs
}

// keepsDriver checks which driver there is in the end.
func (l leftApache) keepsDriver(ctx context.Context, w leftDemo) {
	GinkgoHelper()
	final := demo(ctx, w.namespace).Status.CurrentState.CurrentStateSummary
	drivers := func() map[string]types.UID {
		var list corev1.PodList
		Expect(admin.List(ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels{"spark-role": "driver"})).To(Succeed())
		uids := map[string]types.UID{}
		for i := range list.Items {
			uids[list.Items[i].Name] = list.Items[i].UID
		}
		return uids
	}
	switch {
	case final == v1.StateResourceReleased:
		Eventually(drivers, wait, poll).Should(BeEmpty(), "it is released")
	case l.births == 0:
		Expect(drivers()).To(Equal(map[string]types.UID{w.driverName(0): w.driver}), "the driver is the one from before")
	default:
		Eventually(drivers, wait, poll).Should(And(HaveLen(1), HaveKey(w.driverName(l.begun()))), "the driver from before is gone")
	}
}

var _ = Describe("Taking over from Apache's operator", Ordered, ContinueOnFailure, func() {
	var (
		ctx      context.Context
		restored = map[string]leftDemo{}
		clusters = map[string]leftLab{}
		births   census
	)
	names := slices.Sorted(maps.Keys(leftByApache))
	BeforeAll(func() {
		ctx = context.Background()
		DeferCleanup(func() { restartOperator(func() { extraConfig = "" }) })
		restartOperator(func() {
			extraConfig = "apache: {enabled: true}\n"
			corpus := apacheCorpus()
			for _, name := range names {
				restored[name] = leftByApache[name].restore(ctx, corpus)
			}
			for name, l := range leftClusters {
				clusters[name] = l.restore(ctx, corpus)
			}
			births.begin(ctx)
		})
	})

	for _, name := range names {
		l := leftByApache[name]
		It("continues: "+name, func() {
			w := restored[name]
			l.happens(ctx, w)
			l.keepsHistory(ctx, w)
			l.keepsDriver(ctx, w)
			Eventually(func() []types.UID { return births.of(w.namespace) }, wait, poll).Should(HaveLen(l.births), "driver pods created")
			for _, c := range demo(ctx, w.namespace).Status.Conditions {
				Expect(c.Reason).NotTo(BeEmpty(), "reason of %s", c.Type)
				Expect(c.Message).NotTo(ContainSubstring("\tat "), "a stack trace is no message of %s", c.Type)
			}
		})
	}

	for _, name := range slices.Sorted(maps.Keys(leftClusters)) {
		It("continues a cluster: "+name, func() { leftClusters[name].continues(ctx, clusters[name]) })
	}

	It("knows all nineteen states", func() {
		words := map[v1.ApplicationStateSummary]bool{}
		for _, w := range restored {
			if s := w.status.CurrentState; s != nil {
				words[s.CurrentStateSummary] = true
			}
		}
		Expect(words).To(HaveLen(19), fmt.Sprint(words))
	})

	It("leaves what belongs to a driver that runs on", func() {
		w := restored["running, with what it opens"]
		for _, o := range []client.Object{
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "demo-0-driver-svc"}}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "demo-ui"}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "demo-0-spark-drv-conf-map"}},
			&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "demo-0-policy"}}, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "demo-ing"}},
		} {
			Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: o.GetName()}, o)).To(Succeed())
			Expect(o.GetOwnerReferences()).To(HaveExactElements(HaveField("UID", w.driver)))
		}
	})

	It("writes no more than conditions about what has ended", func() {
		for _, name := range []string{"released", "released, not started", "retained"} {
			all := writes.in(restored[name].namespace)
			Expect(count(all, "PATCH", "/sparkapplications/")).To(Equal(1), "%s: %v", name, all)
			Expect(all).To(HaveLen(1), name)
		}
	})

	It("has created no driver too many in the end, and holds no deleted application", func() {
		for name, l := range leftByApache {
			w := restored[name]
			Expect(births.of(w.namespace)).To(HaveLen(l.births), name)
			Expect(admin.Delete(ctx, demo(ctx, w.namespace))).To(Succeed())
		}
		for name := range leftByApache {
			o := &v1.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: restored[name].namespace, Name: "demo"}}
			Eventually(gone(ctx, o), wait, poll).Should(BeTrue(), name)
			Eventually(func() []string { return pods(ctx, restored[name].namespace) }, wait, poll).ShouldNot(ContainElement(HaveSuffix("-driver")), name)
		}
	})
})
