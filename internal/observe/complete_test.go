// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

func at(seconds int) metav1.Time {
	return metav1.NewTime(created.Add(time.Duration(seconds) * time.Second))
}

// scheduled gives a pod its node.
func scheduled(p *corev1.Pod) *corev1.Pod {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(3)})
	return p
}

// What deadlines and retries rest on: each time and each label that a pod has.
func TestDriverTellsItsTimesAndMarks(t *testing.T) {
	started := corev1.ContainerStatus{Name: driverContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(9)}}}
	ended := corev1.ContainerStatus{Name: driverContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, StartedAt: at(9), FinishedAt: at(20)}}}
	disrupted := func(p *corev1.Pod, status corev1.ConditionStatus) *corev1.Pod {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: status, Reason: "PreemptionByScheduler", Message: "preempted"})
		return p
	}
	leaving := pod(corev1.PodRunning, started)
	leaving.DeletionTimestamp = &metav1.Time{Time: at(30).Time}
	marked := pod(corev1.PodPending)
	marked.Labels = map[string]string{v1beta2.LabelSubmissionID: "s-1", v1beta2.LabelSpecHash: "0123", "spark-app-selector": "spark-1"}
	cases := map[string]struct {
		reason string
		pod    *corev1.Pod
		want   func(*lifecycle.Driver)
	}{
		"Unscheduled": {reason: "it has no node", pod: pod(corev1.PodPending), want: func(d *lifecycle.Driver) { d.Phase = lifecycle.DriverPending }},
		"Scheduled":   {reason: "from when the images count", pod: scheduled(pod(corev1.PodPending)), want: func(d *lifecycle.Driver) { d.Phase, d.ScheduledAt = lifecycle.DriverPending, at(3).Time }},
		"Running":     {reason: "from when the run counts", pod: scheduled(pod(corev1.PodRunning, started)), want: func(d *lifecycle.Driver) { d.ScheduledAt, d.StartedAt = at(3).Time, at(9).Time }},
		"NoStatus":    {reason: "the node is the closest that is known", pod: scheduled(pod(corev1.PodRunning)), want: func(d *lifecycle.Driver) { d.ScheduledAt, d.StartedAt = at(3).Time, at(3).Time }},
		"Ended":       {reason: "a run too short to be seen has begun, too", pod: pod(corev1.PodSucceeded, ended), want: func(d *lifecycle.Driver) { d.Phase, d.StartedAt = lifecycle.DriverSucceeded, at(9).Time }},
		"Preempted": {reason: "the cluster's words, before the end", pod: disrupted(pod(corev1.PodRunning, started), corev1.ConditionTrue), want: func(d *lifecycle.Driver) {
			d.StartedAt, d.Disruption = at(9).Time, lifecycle.Cause{Reason: "PreemptionByScheduler", Message: "preempted"}
		}},
		"NotPreempted": {reason: "a disruption that was called off", pod: disrupted(pod(corev1.PodRunning, started), corev1.ConditionFalse), want: func(d *lifecycle.Driver) { d.StartedAt = at(9).Time }},
		"Leaving":      {reason: "when its node should have let it go", pod: leaving, want: func(d *lifecycle.Driver) { d.StartedAt, d.Deleting, d.GoneAt = at(9).Time, true, at(30).Time }},
		"Marks": {reason: "which attempt and which spec it is of", pod: marked, want: func(d *lifecycle.Driver) {
			d.Phase, d.SubmissionID, d.SpecHash, d.SparkAppID = lifecycle.DriverPending, "s-1", "0123", "spark-1"
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := lifecycle.Driver{Presence: lifecycle.Present, Name: "pi-driver", UID: "uid-1", CreatedAt: created, Phase: lifecycle.DriverRunning}
			tc.want(&want)
			if diff := cmp.Diff(want, judged(tc.pod)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// While the kubelet goes back and forth between a pull and the wait for the next, the reason and the sentence stay:
// otherwise each change would be a write and an event.
func TestImagePullDoesNotFlap(t *testing.T) {
	const refused = `failed to pull and unpack image "registry.example/x:1": not found`
	cases := map[string]struct {
		reason   string
		statuses []corev1.ContainerStatus
		want     lifecycle.Cause
	}{
		"NotFound": {
			reason: "as a kubelet of 1.31 and later alternates",
			statuses: []corev1.ContainerStatus{
				waits(driverContainer, "ErrImagePull", refused),
				waits(driverContainer, "ImagePullBackOff", `Back-off pulling image "registry.example/x:1": ErrImagePull: `+refused),
			},
			want: lifecycle.Cause{Reason: lifecycle.ReasonImagePull, Message: "container spark-kubernetes-driver: " + refused},
		},
		"NoWords": {
			reason:   "the reason alone is better than nothing",
			statuses: []corev1.ContainerStatus{waits(driverContainer, "ImageInspectError", "")},
			want:     lifecycle.Cause{Reason: lifecycle.ReasonImagePull, Message: "container spark-kubernetes-driver: ImageInspectError"},
		},
		"OtherError": {
			reason:   "what nobody has heard of is told as it is",
			statuses: []corev1.ContainerStatus{waits(driverContainer, "RunContainerError", "no such device")},
			want:     lifecycle.Cause{Reason: lifecycle.ReasonContainerStart, Message: "container spark-kubernetes-driver: no such device"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, status := range tc.statuses {
				if diff := cmp.Diff(tc.want, judged(pod(corev1.PodPending, status)).Waiting.Detailed()); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", tc.reason, status.State.Waiting.Reason, diff)
				}
			}
		})
	}
}

// events is an API server that holds events, honors the field selectors that are asked for, and may be in trouble.
func events(t *testing.T, fail error, all ...corev1.Event) client.Reader {
	t.Helper()
	return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			var o client.ListOptions
			o.ApplyOptions(opts)
			about := fields.Set{"involvedObject.name": "pi-driver", "involvedObject.uid": "uid-1", "type": "Warning"}
			if o.FieldSelector == nil || len(o.FieldSelector.Requirements()) != len(about) || !o.FieldSelector.Matches(about) || o.Namespace != "jobs" {
				t.Errorf("asked for the events %v of %q, want %s", o.FieldSelector, o.Namespace, about)
			}
			list.(*corev1.EventList).Items = all
			return fail
		},
	}).Build()
}

// A volume that cannot be mounted is told by events only.
func TestMountTrouble(t *testing.T) {
	event := func(reason, message string, last metav1.Time) corev1.Event {
		return corev1.Event{Reason: reason, Message: message, LastTimestamp: last}
	}
	newStyle := corev1.Event{Reason: "FailedMount", Message: "new", EventTime: metav1.NewMicroTime(at(1).Time), Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(at(60).Time)}}
	once := corev1.Event{Reason: "FailedMount", Message: "once", EventTime: metav1.NewMicroTime(at(70).Time)}
	waiting := scheduled(pod(corev1.PodPending, waits(driverContainer, "ContainerCreating", "")))
	cases := map[string]struct {
		reason string
		pod    *corev1.Pod
		events []corev1.Event
		fail   error
		state  lifecycle.State
		early  time.Duration
		want   lifecycle.Wait
	}{
		"Soon":        {reason: "almost every pod mounts its volumes within a few seconds: no read", pod: waiting, early: time.Second, events: []corev1.Event{event("FailedMount", "m", at(5))}},
		"Newest":      {reason: "the newest counts", pod: waiting, events: []corev1.Event{event("FailedMount", "old", at(5)), event("FailedAttachVolume", "new", at(9)), event("FailedMount", "older", at(1))}, want: lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonVolume, Message: "new"}}},
		"Volume":      {reason: "which volume it is stays, the error has another id each time", pod: waiting, events: []corev1.Event{event("FailedMount", `MountVolume.SetUp failed for volume "v" : rpc error: id 17`, at(5))}, want: lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonVolume, Message: `MountVolume.SetUp failed for volume "v" `}, Details: "rpc error: id 17"}},
		"Other":       {reason: "other events are no trouble with volumes", pod: waiting, events: []corev1.Event{event("BackOff", "x", at(9))}},
		"EventsV1":    {reason: "recorders of events.k8s.io leave the old time empty", pod: waiting, events: []corev1.Event{event("FailedMount", "old", at(50)), newStyle}, want: lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonVolume, Message: "new"}}},
		"Once":        {reason: "an event that happened once has no series", pod: waiting, events: []corev1.Event{once, newStyle}, want: lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonVolume, Message: "once"}}},
		"Trouble":     {reason: "without events the pod waits without a reason; that is no error", pod: waiting, fail: errors.New("boom")},
		"Known":       {reason: "the pod itself says why: no read", pod: scheduled(pod(corev1.PodPending, waits(driverContainer, "ErrImagePull", "denied"))), events: []corev1.Event{event("FailedMount", "m", at(5))}, want: lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonImagePull, Message: "container spark-kubernetes-driver"}, Details: "denied"}},
		"Unscheduled": {reason: "without a node nothing is mounted: no read", pod: pod(corev1.PodPending), events: []corev1.Event{event("FailedMount", "m", at(5))}},
		"NotOurTurn":  {reason: "a user who stops a driver does not need its wait", pod: waiting, state: lifecycle.Suspending, events: []corev1.Event{event("FailedMount", "m", at(5))}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state := lifecycle.Submitted
			if tc.state != "" {
				state = tc.state
			}
			p := ours(tc.pod.DeepCopy(), "pi-driver", "driver", "s-1")
			r := Reader{Labels: family.Labels, Cache: cluster(nil, nil, p), Live: events(t, tc.fail, tc.events...)}
			look := target
			look.Now = scheduledAt(waiting).Add(mountTime - tc.early)
			got, err := r.Observe(t.Context(), look, lifecycle.Record{State: state})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Driver.Waiting); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The last words of a driver are asked for once, when it is found failed, and it does no harm if there are none.
func TestLogTail(t *testing.T) {
	failed := func() *corev1.Pod {
		return ours(pod(corev1.PodFailed, exits(driverContainer, 1, "Error", "")), "pi-driver", "driver", "s-1")
	}
	renamed := ours(withSpark(pod(corev1.PodFailed, exits("main", 1, "Error", "")), "main"), "pi-driver", "driver", "s-1")
	restarted := ours(pod(corev1.PodRunning, again(runs(driverContainer), &corev1.ContainerStateTerminated{ExitCode: 1}, 1)), "pi-driver", "driver", "s-1")
	notOwned := pod(corev1.PodFailed, exits(driverContainer, 1, "Error", ""))
	cases := map[string]struct {
		reason    string
		pod       *corev1.Pod
		state     lifecycle.State
		fail      error
		want      string
		container string
		previous  bool
	}{
		"Restarted": {reason: "its present container has not said why the first one ended", pod: restarted, state: lifecycle.Running, want: "last words", container: driverContainer, previous: true},
		"Failed":    {reason: "from Spark's container", pod: failed(), state: lifecycle.Running, want: "last words", container: driverContainer},
		"Submitted": {reason: "also if it was never seen running", pod: failed(), state: lifecycle.Submitted, want: "last words", container: driverContainer},
		"Renamed":   {reason: "whatever it is called", pod: renamed, state: lifecycle.Running, want: "last words", container: "main"},
		"NoLog":     {reason: "the node may be gone", pod: failed(), state: lifecycle.Running, fail: errors.New("node is gone"), container: driverContainer},
		"Again":     {reason: "what is recorded is not asked for again", pod: failed(), state: lifecycle.Failing},
		"NotOwned":  {reason: "not our pod", pod: notOwned, state: lifecycle.Running},
		"Running":   {reason: "it still talks", pod: driverPod(), state: lifecycle.Running},
		"Succeeded": {reason: "nobody asks why", pod: ours(pod(corev1.PodSucceeded, exits(driverContainer, 0, "Completed", "")), "pi-driver", "driver", "s-1"), state: lifecycle.Running},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asked := ""
			c := cluster(nil, nil, tc.pod)
			r := Reader{Labels: family.Labels, Cache: c, Live: c, Logs: func(_ context.Context, l Log) (string, error) {
				if asked != "" || l.Namespace != "jobs" || l.Pod != "pi-driver" || l.Limit != logLimit || l.Previous != tc.previous {
					t.Errorf("asked for %+v after %q", l, asked)
				}
				asked = l.Container
				return "\x1b[31;1mlast\x1b[0m \x00words\r", tc.fail
			}}
			got, err := r.Observe(t.Context(), target, lifecycle.Record{State: tc.state})
			if err != nil {
				t.Fatal(err)
			}
			if got.Driver.LogTail != tc.want || asked != tc.container {
				t.Errorf("%s: log %q of container %q, want %q of %q", tc.reason, got.Driver.LogTail, asked, tc.want, tc.container)
			}
		})
	}
	c := cluster(nil, nil, failed())
	if got, err := (Reader{Labels: family.Labels, Cache: c, Live: c}).Observe(t.Context(), target, lifecycle.Record{State: lifecycle.Running}); err != nil || got.Driver.Phase != lifecycle.DriverFailed {
		t.Errorf("%+v, %v: an operator that may not read logs works all the same", got.Driver, err)
	}
}

// All that was created for an attempt is found by its mark, of whatever kind, and nothing else.
func TestResources(t *testing.T) {
	meta := func(namespace, name, submission string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{v1beta2.LabelSubmissionID: submission}}
	}
	stored := []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta("jobs", "conf", "s-1")}, &corev1.Service{ObjectMeta: meta("jobs", "svc", "s-1")},
		&corev1.PersistentVolumeClaim{ObjectMeta: meta("jobs", "pvc", "s-1")}, &networkingv1.NetworkPolicy{ObjectMeta: meta("jobs", "policy", "s-1")},
		&corev1.ConfigMap{ObjectMeta: meta("jobs", "next", "s-2")}, &corev1.ConfigMap{ObjectMeta: meta("other", "far", "s-1")},
		&corev1.Pod{ObjectMeta: meta("jobs", "pi-driver", "s-1")},
	}
	got, err := Reader{Labels: family.Labels, Live: fake.NewClientBuilder().WithObjects(stored...).Build()}.Resources(t.Context(), "jobs", "s-1")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range got {
		names = append(names, o.GetObjectKind().GroupVersionKind().Kind+" "+o.GetName())
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"ConfigMap conf", "NetworkPolicy policy", "PersistentVolumeClaim pvc", "Service svc"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	broken := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("boom")
		},
	}).Build()
	if _, err := (Reader{Labels: family.Labels, Live: broken}).Resources(t.Context(), "jobs", "s-1"); err == nil {
		t.Error("what cannot be listed is not known to be gone: want an error")
	}
}
