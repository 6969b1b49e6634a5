// SPDX-License-Identifier: Apache-2.0

package yunikorn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

func attempt(parameters string) scheduler.Attempt {
	a := schedulertest.Attempt(Name)
	a.Queue = "root.team-a"
	a.Parameters = []byte(parameters)
	return a
}

func TestDecorate(t *testing.T) {
	a := attempt(`{"gangSchedulingStyle":"Hard","placeholderTimeoutInSeconds":60}`)
	a.PriorityClass = "high"
	a.User = scheduler.User{Name: "ann", Groups: []string{"dev"}}
	a.PodSets.ExecutorAttributes = spark.PodAttributes{NodeSelector: map[string]string{"pool": "batch"}, Tolerations: []corev1.Toleration{{Key: "batch", Operator: corev1.TolerationOpExists}}}
	got, err := scheduler.Decorate(Plugin{}, a, spark.Application{})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"yunikorn.apache.org/app-id": a.ID, "yunikorn.apache.org/queue": "root.team-a"}
	user := `{"user":"ann","groups":["dev"]}`
	groups := `[{"name":"driver","minMember":1,"minResource":{"cpu":"1","memory":"2Gi"}},` +
		`{"name":"executor","minMember":3,"minResource":{"cpu":"2","memory":"4Gi"},"nodeSelector":{"pool":"batch"},"tolerations":[{"key":"batch","operator":"Exists"}]}]`
	want := spark.Application{
		OperatorConf: map[string]string{},
		Driver: spark.Role{Overlay: spark.PodOverlay{SchedulerName: "yunikorn", PriorityClassName: "high", Labels: labels, Annotations: map[string]string{
			"yunikorn.apache.org/user.info":                  user,
			"yunikorn.apache.org/task-groups":                groups,
			"yunikorn.apache.org/task-group-name":            "driver",
			"yunikorn.apache.org/schedulingPolicyParameters": "placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard",
		}}},
		Executor: spark.Role{Overlay: spark.PodOverlay{SchedulerName: "yunikorn", PriorityClassName: "high", Labels: labels, Annotations: map[string]string{
			"yunikorn.apache.org/task-group-name": "executor",
		}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecorateVariants(t *testing.T) {
	long := "root." + strings.Repeat("department.", 6) + "team"
	cases := map[string]struct {
		reason           string
		change           func(*scheduler.Attempt)
		driver, executor []string // annotations
		labels           int
	}{
		"Default": {reason: "a soft gang", driver: []string{"schedulingPolicyParameters", "task-group-name", "task-groups"}, executor: []string{"task-group-name"}, labels: 2},
		"OwnID": {reason: "the application that the user named", change: func(a *scheduler.Attempt) {
			a.PodSets.ExecutorAttributes.Labels = map[string]string{"yunikorn.apache.org/app-id": "mine"}
		}, driver: []string{"schedulingPolicyParameters", "task-group-name", "task-groups"}, executor: []string{"task-group-name"}, labels: 1},
		"OwnIDAnnotation": {reason: "YuniKorn reads a label before it", change: func(a *scheduler.Attempt) {
			a.PodSets.DriverAttributes.Annotations = map[string]string{"yunikorn.apache.org/app-id": "mine"}
		}, driver: []string{"schedulingPolicyParameters", "task-group-name", "task-groups"}, executor: []string{"task-group-name"}, labels: 1},
		"OwnGang": {reason: "the gang that the user described", change: func(a *scheduler.Attempt) {
			a.PodSets.DriverAttributes.Annotations = map[string]string{"yunikorn.apache.org/task-groups": "[]"}
		}, labels: 2},
		"OwnGroup": {reason: "the gang that the user put executors into", change: func(a *scheduler.Attempt) {
			a.PodSets.ExecutorAttributes.Annotations = map[string]string{"yunikorn.apache.org/task-group-name": "mine"}
		}, labels: 2},
		"None":       {reason: "no gang", change: func(a *scheduler.Attempt) { a.Parameters = []byte(`{"gangSchedulingStyle":"None"}`) }, labels: 2},
		"DriverOnly": {reason: "a group without members is no group", change: func(a *scheduler.Attempt) { a.PodSets.Initial = 0 }, driver: []string{"schedulingPolicyParameters", "task-group-name", "task-groups"}, labels: 2},
		"NoQueue":    {reason: "placement rules choose", change: func(a *scheduler.Attempt) { a.Queue = "" }, driver: []string{"schedulingPolicyParameters", "task-group-name", "task-groups"}, executor: []string{"task-group-name"}, labels: 1},
		"LongQueue":  {reason: "a label has 63 characters at most", change: func(a *scheduler.Attempt) { a.Queue = long }, driver: []string{"queue", "schedulingPolicyParameters", "task-group-name", "task-groups"}, executor: []string{"queue", "task-group-name"}, labels: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt("")
			if tc.change != nil {
				tc.change(&a)
			}
			got, err := scheduler.Decorate(Plugin{}, a, spark.Application{})
			if err != nil {
				t.Fatal(err)
			}
			for role, pair := range map[string]struct {
				got  map[string]string
				want []string
			}{"driver": {got.Driver.Overlay.Annotations, tc.driver}, "executor": {got.Executor.Overlay.Annotations, tc.executor}} {
				if len(pair.got) != len(pair.want) {
					t.Errorf("%s: %s has the annotations %v", tc.reason, role, pair.got)
				}
				for _, key := range pair.want {
					if pair.got["yunikorn.apache.org/"+key] == "" {
						t.Errorf("%s: %s has no annotation %s", tc.reason, role, key)
					}
				}
			}
			if n := len(got.Executor.Overlay.Labels); n != tc.labels {
				t.Errorf("%s: labels %v", tc.reason, got.Executor.Overlay.Labels)
			}
		})
	}
}

// Placeholders that are smaller than the pods are thrown away, and an annotation that cannot be read is no gang: both
// without a word.
func TestTaskGroupsAreExact(t *testing.T) {
	a := attempt("")
	a.PodSets.Executor.Requests[corev1.ResourceMemory] = resource.MustParse("1476395008")
	a.PodSets.Executor.Requests["nvidia.com/gpu"] = resource.MustParse("2")
	got, err := scheduler.Decorate(Plugin{}, a, spark.Application{})
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Name        string
		MinMember   int32
		MinResource map[string]resource.Quantity
	}
	if err := json.Unmarshal([]byte(got.Driver.Overlay.Annotations["yunikorn.apache.org/task-groups"]), &groups); err != nil {
		t.Fatal(err)
	}
	if len(groups) != 2 || groups[1].MinMember != 3 {
		t.Fatalf("groups %+v", groups)
	}
	for name, want := range a.PodSets.Executor.Requests {
		if have := groups[1].MinResource[string(name)]; have.Cmp(want) != 0 {
			t.Errorf("placeholders ask for %s %s, executors for %s", have.String(), name, want.String())
		}
	}
}

func TestAdmit(t *testing.T) {
	cases := map[string]struct {
		reason  string
		change  func(*scheduler.Attempt)
		verdict scheduler.Verdict
		code    scheduler.Reason
		says    string
	}{
		"Go":      {reason: "it waits with its driver", verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, says: "waits in queue root.team-a"},
		"NoQueue": {reason: "YuniKorn chooses", change: func(a *scheduler.Attempt) { a.Queue = "" }, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, says: "placement rules"},
		"Class":   {reason: "the pods would be refused", change: func(a *scheduler.Attempt) { a.PriorityClass = "high" }, verdict: scheduler.Wait, code: scheduler.ReasonPriorityClassNotFound, says: `"high"`},
		"Queue":   {reason: "no path", change: func(a *scheduler.Attempt) { a.Queue = "root..a" }, verdict: scheduler.Reject, code: scheduler.ReasonInvalidParameters, says: `batchScheduler.queue: "root..a" is not the path of a queue`},
		"Style":   {reason: "no style", change: func(a *scheduler.Attempt) { a.Parameters = []byte(`{"gangSchedulingStyle":"soft"}`) }, verdict: scheduler.Reject, code: scheduler.ReasonInvalidParameters, says: `"soft": must be Soft, Hard or None`},
		"Timeout": {reason: "no time", change: func(a *scheduler.Attempt) { a.Parameters = []byte(`{"placeholderTimeoutInSeconds":-1}`) }, verdict: scheduler.Reject, code: scheduler.ReasonInvalidParameters, says: "parameters.placeholderTimeoutInSeconds: -1"},
		"Unknown": {reason: "no parameter", change: func(a *scheduler.Attempt) { a.Parameters = []byte(`{"timeout":1}`) }, verdict: scheduler.Reject, code: scheduler.ReasonInvalidParameters, says: "parameters.timeout: is not a parameter of yunikorn"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt("")
			if tc.change != nil {
				tc.change(&a)
			}
			got, err := scheduler.AdmitAttempt(Plugin{}, a, scheduler.Snapshot{})
			if err != nil || got.Verdict != tc.verdict || got.Reason != tc.code || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: %+v, %v; want %s, %s and %q", tc.reason, got, err, tc.verdict, tc.code, tc.says)
			}
			schedulertest.Keeps(t, Plugin{}, a, scheduler.Snapshot{}, scheduler.PodStatuses{})
		})
	}
}

// Placeholders hold room for executors that the driver does not ask for at once.
func TestFewPending(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		pending    int32
		parameters string
		warns      bool
	}{
		"Few":    {reason: "two of three at a time", pending: 2, warns: true},
		"Enough": {reason: "all at once", pending: 3},
		"Any":    {reason: "no limit"},
		"None":   {reason: "no gang", pending: 2, parameters: `{"gangSchedulingStyle":"None"}`},
	} {
		a := attempt(tc.parameters)
		a.PodSets.MaxPending = tc.pending
		got, err := scheduler.AdmitAttempt(Plugin{}, a, scheduler.Snapshot{})
		if err != nil || got.Verdict != scheduler.Admit || strings.Contains(got.Warning, "spark.kubernetes.allocation.maxPendingPods is 2: of the 3 executors with reserved capacity") != tc.warns {
			t.Errorf("%s: %s: %+v, %v; want a warning: %t", name, tc.reason, got, err, tc.warns)
		}
	}
}

// The pods are as YuniKorn 1.8 leaves them; the words are its own.
func TestObserve(t *testing.T) {
	rejected := scheduler.PodStatus{Name: "d", Phase: corev1.PodFailed, Reason: "ApplicationRejected", Message: " queue root.spark.a cannot fit application q3"}
	started := rejected
	started.Started = true
	waiting := scheduler.PodStatus{Name: "d", Phase: corev1.PodPending, SchedulerName: "yunikorn"}
	noNode := waiting
	noNode.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "request is waiting for cluster resources become available"}}
	full := "Application q3 scheduling failed, reason: ApplicationRejected: task group request map[pods:11] larger than max queue allocation"
	failed := schedulertest.Object(t, "reason: ApplicationFailed\nmessage: '"+full+"'")
	other := schedulertest.Object(t, "reason: Scheduling\nmessage: queued")
	words := []*unstructured.Unstructured{said(t, 1, "d", "", "Normal", "Informational", "full")}
	cases := map[string]struct {
		reason     string
		parameters string
		driver     *scheduler.PodStatus
		events     []*unstructured.Unstructured
		stage      scheduler.Stage
		code       scheduler.Reason
		says       string
		evicted    bool
	}{
		"Rejected":  {reason: "not a failure of Spark", driver: &rejected, stage: scheduler.StageRefused, code: scheduler.ReasonSchedulerRefused, says: "admits the user: queue root.spark.a cannot fit application q3"},
		"Explained": {reason: "the event says more", driver: &rejected, events: []*unstructured.Unstructured{other, failed}, stage: scheduler.StageRefused, code: scheduler.ReasonSchedulerRefused, says: full},
		"Started":   {reason: "a program may use the same word", driver: &started, stage: scheduler.StagePlaced, code: scheduler.ReasonScheduled},
		"TimedOut":  {reason: "a hard gang may find room another day", driver: &scheduler.PodStatus{Phase: corev1.PodFailed, Reason: "ResourceReservationTimeout", Message: "Scheduling has timed out due to insufficient resources"}, stage: scheduler.StageEvicted, code: scheduler.ReasonPodsReadyTimeout, says: "timed out due to insufficient resources", evicted: true},
		"Unheard":   {reason: "YuniKorn has not processed it yet", driver: &waiting, stage: scheduler.StageQueued, code: scheduler.ReasonWaitingForScheduler, says: "check that YuniKorn runs"},
		"Reserving": {reason: "no condition while placeholders are gathered", driver: &waiting, events: words, stage: scheduler.StageReserving, code: scheduler.ReasonWaitingForGang, says: "waiting in queue root.team-a for the capacity of the driver and 3 executors: together they asked cpu 7, memory 14Gi"},
		"Queued":    {reason: "no condition while the queue is full", parameters: `{"gangSchedulingStyle":"None"}`, driver: &waiting, events: words, stage: scheduler.StageQueued, code: scheduler.ReasonWaitingForQuota, says: "waiting in queue root.team-a for capacity or for its turn: the driver asked cpu 1, memory 2Gi"},
		"NoNode":    {reason: "the one condition there is", driver: &noNode, stage: scheduler.StageQueued, code: scheduler.ReasonWaitingForCapacity, says: "waiting for cluster resources"},
		"Running":   {reason: "it runs", driver: &scheduler.PodStatus{Phase: corev1.PodRunning, Node: "n1"}, stage: scheduler.StagePlaced, code: scheduler.ReasonScheduled},
		"Stopped":   {reason: "its victims stop before they are gone", driver: &scheduler.PodStatus{Phase: corev1.PodFailed, Node: "n1", Started: true, Deleting: true}, stage: scheduler.StageGone, code: scheduler.ReasonDriverGone, says: "does not report whether it was preempted", evicted: true},
		"Stopping":  {reason: "a driver that was told to end may still end well", driver: &scheduler.PodStatus{Phase: corev1.PodRunning, Node: "n1", Started: true, Deleting: true}, stage: scheduler.StagePlaced, code: scheduler.ReasonScheduled},
		"Vanished":  {reason: "YuniKorn leaves no mark on its victims", stage: scheduler.StageGone, code: scheduler.ReasonDriverGone, says: "does not report whether it was preempted", evicted: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt(tc.parameters)
			facts := scheduler.PodStatuses{Driver: tc.driver}
			s := scheduler.Snapshot{}
			for _, read := range (Plugin{}).ObserveReads(a, facts) {
				s[read] = scheduler.NewList(tc.events...)
			}
			got, err := scheduler.Observe(Plugin{}, a, s, facts)
			if err != nil || got.Stage != tc.stage || got.Reason != tc.code || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: %+v, %v; want %s, %s and %q", tc.reason, got, err, tc.stage, tc.code, tc.says)
			}
			if (got.Eviction != nil) != tc.evicted {
				t.Errorf("%s: eviction %+v", tc.reason, got.Eviction)
			}
			schedulertest.Keeps(t, Plugin{}, a, s, facts)
		})
	}
}

func TestReads(t *testing.T) {
	a := attempt("")
	if got := (Plugin{}).ObserveReads(a, scheduler.PodStatuses{Driver: &scheduler.PodStatus{Name: "d", Phase: corev1.PodRunning}}); len(got) != 0 {
		t.Errorf("a driver that runs needs no events: %v", got)
	}
	got := (Plugin{}).ObserveReads(a, scheduler.PodStatuses{Driver: &scheduler.PodStatus{Name: "d", Phase: corev1.PodFailed, Reason: "ApplicationRejected"}})
	want := []scheduler.Read{{GroupVersionKind: eventKind, Namespace: "team-a", Fields: "involvedObject.kind=Pod,involvedObject.name=d"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzPlugin(f *testing.F) { schedulertest.Fuzz(f, Plugin{}, nil) }

func BenchmarkAdmit(b *testing.B) {
	schedulertest.Bench(b, Plugin{}, attempt(""), scheduler.Snapshot{})
}

// YuniKorn creates one placeholder for each member of the gang, with its requests as limits and the driver's priority class.
func TestPlaceholders(t *testing.T) {
	requested := func(p spark.PodResources) spark.PodResources {
		return spark.PodResources{Requests: p.Requests, Limits: p.Requests}
	}
	driver := scheduler.Placeholder{Role: "driver", PodResources: requested(attempt("").PodSets.Driver), Count: 1}
	executors := scheduler.Placeholder{Role: "executor", PodResources: requested(attempt("").PodSets.Executor), Count: 3}
	classed := func(p scheduler.Placeholder) scheduler.Placeholder {
		p.PriorityClass = "high"
		return p
	}
	cases := map[string]struct {
		reason     string
		parameters string
		change     func(*scheduler.Attempt)
		want       []scheduler.Placeholder
	}{
		"Default": {reason: "a soft gang", want: []scheduler.Placeholder{driver, executors}},
		"Hard":    {reason: "a hard gang", parameters: `{"gangSchedulingStyle":"Hard"}`, want: []scheduler.Placeholder{driver, executors}},
		"None":    {reason: "no gang", parameters: `{"gangSchedulingStyle":"None"}`},
		"Alone":   {reason: "no executors at first", change: func(a *scheduler.Attempt) { a.PodSets.Initial = 0 }, want: []scheduler.Placeholder{driver}},
		"Class":   {reason: "the application's class", change: func(a *scheduler.Attempt) { a.PriorityClass = "high" }, want: []scheduler.Placeholder{classed(driver), classed(executors)}},
		"Driver": {reason: "the driver's own class comes first, and is for all of them", change: func(a *scheduler.Attempt) {
			a.PriorityClass, a.PodSets.DriverAttributes.PriorityClassName, a.PodSets.ExecutorAttributes.PriorityClassName = "low", "high", "low"
		}, want: []scheduler.Placeholder{classed(driver), classed(executors)}},
		"Own": {reason: "a gang of the user's own", change: func(a *scheduler.Attempt) {
			a.PodSets.DriverAttributes.Annotations = map[string]string{"yunikorn.apache.org/task-groups": "[]"}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt(tc.parameters)
			if tc.change != nil {
				tc.change(&a)
			}
			got, err := scheduler.Placeholders(Plugin{}, a)
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// The operator's configuration is checked in the same words as an application.
func TestConfiguredParameters(t *testing.T) {
	configured := func(value string) error {
		_, err := scheduler.NewRegistryFor(scheduler.Policy{Default: Name, Parameters: map[string]scheduler.PluginParameters{Name: {ParameterRules: scheduler.ParameterRules{Parameters: map[string]json.RawMessage{"gangSchedulingStyle": []byte(value)}}}}}, Plugin{})
		return err
	}
	if err := configured(`"None"`); err != nil {
		t.Error(err)
	}
	const want = `batchScheduler.plugins.yunikorn.parameters.gangSchedulingStyle: "none": must be Soft, Hard or None`
	if err := configured(`"none"`); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
