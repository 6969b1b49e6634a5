// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

const (
	driverContainer   = "spark-kubernetes-driver"
	executorContainer = "spark-kubernetes-executor"
)

var created = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// pod is a pod in a phase with the statuses of its containers.
func pod(phase corev1.PodPhase, statuses ...corev1.ContainerStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pi-driver", Namespace: "jobs", UID: "uid-1", CreationTimestamp: metav1.NewTime(created)},
		Status:     corev1.PodStatus{Phase: phase, ContainerStatuses: statuses},
	}
}

func runs(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func waits(name, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func exits(name string, code int32, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}}
}

// again is the status of a container that the kubelet started again.
func again(s corev1.ContainerStatus, last *corev1.ContainerStateTerminated, count int32) corev1.ContainerStatus {
	s.RestartCount, s.LastTerminationState.Terminated = count, last
	return s
}

func because(p *corev1.Pod, reason, message string) *corev1.Pod {
	p.Status.Reason, p.Status.Message = reason, message
	return p
}

func unscheduled(reason, message string) *corev1.Pod {
	p := pod(corev1.PodPending)
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "NotReady"},
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message},
	}
	return p
}

func withInit(p *corev1.Pod, statuses ...corev1.ContainerStatus) *corev1.Pod {
	p.Status.InitContainerStatuses = statuses
	return p
}

func TestDriverOf(t *testing.T) {
	cases := map[string]struct {
		reason  string
		pod     *corev1.Pod
		phase   lifecycle.DriverPhase
		exit    lifecycle.Exit
		waiting lifecycle.Wait
		// disrupted says that the cluster did it, in the pod's own words.
		disrupted bool
	}{
		"New":            {reason: "no kubelet has seen it", pod: pod(""), phase: lifecycle.DriverPending},
		"Scheduled":      {reason: "the stages that every pod goes through are no reason", pod: pod(corev1.PodPending, waits(driverContainer, "ContainerCreating", "")), phase: lifecycle.DriverPending},
		"Initialising":   {reason: "the stages that every pod goes through are no reason", pod: withInit(pod(corev1.PodPending, waits(driverContainer, "PodInitializing", "")), runs("fetch")), phase: lifecycle.DriverPending},
		"Unschedulable":  {reason: "the scheduler's words", pod: unscheduled("Unschedulable", "0/3 nodes are available"), phase: lifecycle.DriverPending, waiting: lifecycle.Wait{Cause: lifecycle.Cause{Reason: "Unschedulable"}, Details: "0/3 nodes are available"}},
		"Gated":          {reason: "a scheduling gate holds it", pod: unscheduled("SchedulingGated", "Scheduling is blocked"), phase: lifecycle.DriverPending, waiting: lifecycle.Wait{Cause: lifecycle.Cause{Reason: "SchedulingGated"}, Details: "Scheduling is blocked"}},
		"ImagePull":      {reason: "the kubelet's words, and which container", pod: pod(corev1.PodPending, waits(driverContainer, "ImagePullBackOff", `Back-off pulling image "x"`)), phase: lifecycle.DriverPending, waiting: lifecycle.Wait{Cause: lifecycle.Cause{Reason: "ImagePullBackOff", Message: "container spark-kubernetes-driver"}, Details: `Back-off pulling image "x"`}},
		"SidecarImage":   {reason: "a sidecar can hold the pod back, too", pod: pod(corev1.PodPending, waits(driverContainer, "ContainerCreating", ""), waits("log", "ErrImagePull", "denied")), phase: lifecycle.DriverPending, waiting: lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonImagePull, Message: "container log"}, Details: "denied"}},
		"InitImage":      {reason: "init containers come first", pod: withInit(pod(corev1.PodPending, waits(driverContainer, "PodInitializing", "")), waits("fetch", "CrashLoopBackOff", "back-off 10s")), phase: lifecycle.DriverPending, waiting: lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonContainerStart, Message: "container fetch"}, Details: "back-off 10s"}},
		"ConfigError":    {reason: "a missing Secret", pod: pod(corev1.PodPending, waits(driverContainer, "CreateContainerConfigError", `secret "s" not found`)), phase: lifecycle.DriverPending, waiting: lifecycle.Wait{Cause: lifecycle.Cause{Reason: "CreateContainerConfigError", Message: "container spark-kubernetes-driver"}, Details: `secret "s" not found`}},
		"Running":        {reason: "the Spark container runs", pod: pod(corev1.PodRunning, runs(driverContainer)), phase: lifecycle.DriverRunning},
		"RunningEarly":   {reason: "the phase lags behind the container", pod: pod(corev1.PodPending, runs(driverContainer)), phase: lifecycle.DriverRunning},
		"SidecarFirst":   {reason: "the pod runs, the Spark container does not yet", pod: pod(corev1.PodRunning, waits(driverContainer, "ContainerCreating", ""), runs("log")), phase: lifecycle.DriverPending},
		"NoStatus":       {reason: "the phase is all there is", pod: pod(corev1.PodRunning), phase: lifecycle.DriverRunning},
		"Renamed":        {reason: "a template may name the only container", pod: pod(corev1.PodRunning, exits("mine", 3, "Error", "")), phase: lifecycle.DriverFailed, exit: lifecycle.Exit{Code: 3, Reason: "Error"}},
		"RenamedBeside":  {reason: "of two unknown containers neither is the driver", pod: pod(corev1.PodRunning, exits("mine", 3, "Error", ""), runs("log")), phase: lifecycle.DriverRunning},
		"Succeeded":      {reason: "exit code 0", pod: pod(corev1.PodSucceeded, exits(driverContainer, 0, "Completed", "")), phase: lifecycle.DriverSucceeded},
		"SidecarStill":   {reason: "a sidecar that still runs does not hide the end", pod: pod(corev1.PodRunning, exits(driverContainer, 0, "Completed", ""), runs("log")), phase: lifecycle.DriverSucceeded},
		"SidecarFailed":  {reason: "a sidecar that fails does not undo the driver's success", pod: pod(corev1.PodFailed, exits(driverContainer, 0, "Completed", ""), exits("log", 1, "Error", "")), phase: lifecycle.DriverSucceeded},
		"FailedBeside":   {reason: "a sidecar that still runs does not hide a failure", pod: pod(corev1.PodRunning, runs("log"), exits(driverContainer, 1, "Error", "boom")), phase: lifecycle.DriverFailed, exit: lifecycle.Exit{Code: 1, Reason: "Error", Message: "boom"}},
		"NoContainers":   {reason: "a phase without statuses", pod: pod(corev1.PodSucceeded), phase: lifecycle.DriverSucceeded},
		"OOM":            {reason: "the kernel's verdict", pod: pod(corev1.PodFailed, exits(driverContainer, 137, "OOMKilled", "")), phase: lifecycle.DriverFailed, exit: lifecycle.Exit{Code: 137, Reason: "OOMKilled"}},
		"Evicted":        {reason: "no container status: the pod's own words", pod: because(pod(corev1.PodFailed), "Evicted", "The node was low on resource: memory."), phase: lifecycle.DriverFailed, exit: lifecycle.Exit{Code: -1, Reason: "Evicted", Message: "The node was low on resource: memory."}, disrupted: true},
		"EvictedLate":    {reason: "the container never got an end", pod: because(pod(corev1.PodFailed, waits(driverContainer, "ContainerCreating", "")), "Evicted", "DiskPressure"), phase: lifecycle.DriverFailed, exit: lifecycle.Exit{Code: -1, Reason: "Evicted", Message: "DiskPressure"}, disrupted: true},
		"NodeShutdown":   {reason: "the kubelet ended it with the node", pod: because(pod(corev1.PodFailed, exits(driverContainer, 143, "Error", "")), "Terminated", "Pod was terminated in response to imminent node shutdown."), phase: lifecycle.DriverFailed, exit: lifecycle.Exit{Code: 143, Reason: "Error"}, disrupted: true},
		"StatusUnknown":  {reason: "the container could not be found any more", pod: pod(corev1.PodFailed, exits(driverContainer, 137, "ContainerStatusUnknown", "could not be located")), phase: lifecycle.DriverFailed, exit: lifecycle.Exit{Code: 137, Reason: "ContainerStatusUnknown", Message: "could not be located"}},
		"InitFailed":     {reason: "the driver never started", pod: withInit(pod(corev1.PodFailed, waits(driverContainer, "PodInitializing", "")), exits("fetch", 1, "Error", "")), phase: lifecycle.DriverFailed, exit: lifecycle.Exit{Code: -1}},
		"CannotRun":      {reason: "no such entry point", pod: pod(corev1.PodFailed, exits(driverContainer, 128, "StartError", "no such file")), phase: lifecycle.DriverFailed, exit: lifecycle.Exit{Code: 128, Reason: "StartError", Message: "no such file"}},
		"Deadline":       {reason: "activeDeadlineSeconds", pod: because(pod(corev1.PodFailed), "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"), phase: lifecycle.DriverFailed, exit: lifecycle.Exit{Code: -1, Reason: "DeadlineExceeded", Message: "Pod was active on the node longer than the specified deadline"}},
		"AdmissionError": {reason: "the kubelet does not take the pod", pod: because(pod(corev1.PodFailed), "OutOfcpu", "Node didn't have enough resource"), phase: lifecycle.DriverFailed, exit: lifecycle.Exit{Code: -1, Reason: "OutOfcpu", Message: "Node didn't have enough resource"}, disrupted: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := lifecycle.Driver{
				Presence: lifecycle.Present, Name: "pi-driver", UID: "uid-1", CreatedAt: created, Phase: tc.phase, Exit: tc.exit, Waiting: tc.waiting,
			}
			if tc.disrupted {
				want.Disruption = lifecycle.Cause{Reason: lifecycle.Reason(tc.pod.Status.Reason), Message: tc.pod.Status.Message}
			}
			if diff := cmp.Diff(want, judged(tc.pod)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDriverOfDeleting(t *testing.T) {
	p := pod(corev1.PodRunning, runs(driverContainer))
	p.DeletionTimestamp = &metav1.Time{Time: created}
	if d := judged(p); !d.Deleting || d.Phase != lifecycle.DriverRunning {
		t.Errorf("a pod on its way out still runs: %+v", d)
	}
}

// deleted is a pod that was told to go at a moment, and whose container ended some seconds later.
func deleted(code int32, reason string, after int) *corev1.Pod {
	p := pod(corev1.PodFailed, exits(executorContainer, code, reason, ""))
	const grace = 30
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: at(100 + grace).Time}, new(int64(grace))
	p.Status.ContainerStatuses[0].State.Terminated.FinishedAt = at(100 + after)
	return p
}

func TestExecutorOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		pod    *corev1.Pod
		want   lifecycle.ExecutorState
		exit   *int32
		word   string
	}{
		"New":          {reason: "not seen by a kubelet", pod: pod(""), want: lifecycle.ExecutorPending},
		"Pending":      {reason: "waits for a node", pod: pod(corev1.PodPending), want: lifecycle.ExecutorPending},
		"Running":      {reason: "runs", pod: pod(corev1.PodRunning, runs(executorContainer)), want: lifecycle.ExecutorRunning},
		"Succeeded":    {reason: "ended well", pod: pod(corev1.PodSucceeded), want: lifecycle.ExecutorSucceeded},
		"Failed":       {reason: "evicted", pod: because(pod(corev1.PodFailed), "Evicted", "low on memory"), want: lifecycle.ExecutorFailed, word: "Evicted"},
		"SidecarStill": {reason: "a sidecar does not hide the end", pod: pod(corev1.PodRunning, exits(executorContainer, 0, "Completed", ""), runs("log")), want: lifecycle.ExecutorSucceeded},
		"OOM":          {reason: "a sidecar does not hide a failure", pod: pod(corev1.PodRunning, exits(executorContainer, 137, "OOMKilled", ""), runs("log")), want: lifecycle.ExecutorFailed, exit: new(int32(137)), word: "OOMKilled"},
		"Stopped":      {reason: "the driver needs it no more", pod: deleted(143, "Error", 2), want: lifecycle.ExecutorLost},
		"StoppedLate":  {reason: "in the second of its deletion, and with an error on its way", pod: deleted(1, "Error", 0), want: lifecycle.ExecutorLost},
		"ClockBehind":  {reason: "the kubelet's clock is behind", pod: deleted(143, "Error", -2), want: lifecycle.ExecutorLost},
		"StoppedWell":  {reason: "it ended by itself", pod: deleted(0, "Completed", 2), want: lifecycle.ExecutorSucceeded},
		"FailedBefore": {reason: "it failed, and was cleared away for that", pod: deleted(1, "Error", -3), want: lifecycle.ExecutorFailed, exit: new(int32(1)), word: "Error"},
		"OOMAtLast":    {reason: "memory is not what a deletion takes", pod: deleted(137, "OOMKilled", 2), want: lifecycle.ExecutorFailed, exit: new(int32(137)), word: "OOMKilled"},
		"NodeLost":     {reason: "unknown is not ended", pod: pod(corev1.PodUnknown), want: lifecycle.ExecutorPending},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := lifecycle.Executor{Name: "pi-driver", State: tc.want, ExitCode: tc.exit, Reason: tc.word}
			if diff := cmp.Diff(want, executorOf(tc.pod)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// manyPods are all combinations of phases and of two containers' states, with and without init containers and
// conditions, full of what nobody looks at.
func manyPods() []*corev1.Pod {
	states := []func(string) corev1.ContainerStatus{
		runs,
		func(n string) corev1.ContainerStatus { return waits(n, "ContainerCreating", "") },
		func(n string) corev1.ContainerStatus { return waits(n, "ImagePullBackOff", "no image") },
		func(n string) corev1.ContainerStatus { return exits(n, 0, "Completed", "") },
		func(n string) corev1.ContainerStatus { return exits(n, 137, "OOMKilled", "killed") },
	}
	var all []*corev1.Pod
	for _, phase := range []corev1.PodPhase{"", corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown} {
		for _, name := range []string{driverContainer, executorContainer, "mine"} {
			for _, first := range states {
				for second := range len(states) + 1 {
					statuses := []corev1.ContainerStatus{first(name)}
					if second < len(states) {
						statuses = append([]corev1.ContainerStatus{states[second]("log")}, statuses...)
					}
					p := because(pod(phase, statuses...), "Evicted", "low on memory")
					all = append(all, p, withInit(unscheduledLike(p), waits("fetch", "ErrImagePull", "denied")),
						withInit(p.DeepCopy(), waits("fetch", "CrashLoopBackOff", "back-off 10s")), bare(p))
				}
			}
		}
	}
	for i, p := range all {
		p.Annotations = map[string]string{"note": fmt.Sprint(i)}
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
		p.Spec.Containers = []corev1.Container{{Name: "x", Env: []corev1.EnvVar{{Name: "A", Value: "B"}}}}
		p.Labels = map[string]string{v1beta2.LabelAppName: "pi", v1beta2.LabelSubmissionID: "s"}
		p.OwnerReferences = []metav1.OwnerReference{{UID: "app", Controller: new(true)}}
		if i%2 == 0 {
			p.DeletionTimestamp = &metav1.Time{Time: created}
		}
	}
	return all
}

func unscheduledLike(p *corev1.Pod) *corev1.Pod {
	out := p.DeepCopy()
	out.Status.Conditions = unscheduled("Unschedulable", "no room").Status.Conditions
	return out
}

// bare is the pod without container statuses, as an eviction leaves it.
func bare(p *corev1.Pod) *corev1.Pod {
	out := p.DeepCopy()
	out.Status.ContainerStatuses = nil
	return out
}

// cachedPod is a pod as it is cached.
func cachedPod(p *corev1.Pod) *Pod { return podOf(p, labelsRead(family.Labels)) }

// judged is what is made of a pod as a driver.
func judged(p *corev1.Pod) lifecycle.Driver {
	d := labeled.driver(context.Background(), cachedPod(p), Target{}, lifecycle.Record{})
	d.Ownership = ""
	return d
}

// What the cache drops must not be missed.
func TestCachedPodIsJudgedAsThePod(t *testing.T) {
	stages := map[scheduler.Stage]int{}
	for i, p := range manyPods() {
		cached := cachedPod(p)
		if whole, cached := labeled.ownership(p, target), labeled.ownership(cached, target); whole != cached {
			t.Fatalf("pod %d: owner %s, cached %s", i, whole, cached)
		}
		if diff := cmp.Diff(byApp(p), byApp(cached)); diff != "" {
			t.Fatalf("pod %d: index (-whole +cached):\n%s", i, diff)
		}
		asDriver := scheduler.PodStatusOf(p)
		want := scheduler.Pods(scheduler.Attempt{}, scheduler.PodStatuses{Driver: &asDriver})
		if diff := cmp.Diff(want, scheduler.Pods(scheduler.Attempt{}, scheduler.PodStatuses{Driver: &cached.status})); diff != "" {
			t.Fatalf("pod %d: as schedulers see a driver (-whole +cached):\n%s", i, diff)
		}
		stages[want.Stage]++
		placed := scheduler.PodStatus{Phase: corev1.PodRunning, Node: "n"}
		executor := p.DeepCopy()
		executor.Labels[spark.LabelRole] = spark.RoleExecutor
		want = scheduler.Pods(scheduler.Attempt{}, scheduler.PodStatuses{Driver: &placed, Executors: []scheduler.PodStatus{scheduler.PodStatusOf(executor)}})
		got := scheduler.Pods(scheduler.Attempt{}, scheduler.PodStatuses{Driver: &placed, Executors: []scheduler.PodStatus{cachedPod(executor).status}})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("pod %d: as schedulers see an executor (-whole +cached):\n%s", i, diff)
		}
		stages[want.Stage]++
	}
	if len(stages) < 4 {
		t.Errorf("the pods are too much alike to prove anything: %v", stages)
	}
}

// Whatever else an executor has, this is what it costs: 100,000 of them must fit beside everything else.
func TestExecutorIsCachedInAKibibyte(t *testing.T) {
	const n = 5000
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	if err := store.AddIndexers(IndexPods(family.Labels.App)); err != nil {
		t.Fatal(err)
	}
	cache := CachePod(family.Labels)
	before := heap()
	for i := range n {
		p := runningExecutor(i)
		cached, err := cache(p)
		if err == nil {
			err = store.Add(cached)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	took := (heap() - before) / n
	runtime.KeepAlive(store)
	t.Logf("%d bytes for each executor", took)
	if took > 1024 {
		t.Errorf("an executor takes %d bytes in the cache, want 1024 at most", took)
	}
}

// heap is what is in use once the garbage is gone.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// runningExecutor is one of many as the API server sends them: no text of it is part of another one.
func runningExecutor(i int) *corev1.Pod {
	text := strings.Clone
	p := ours(pod(corev1.PodPhase(text("Running")), corev1.ContainerStatus{
		Name: text(executorContainer), ContainerID: fmt.Sprint("containerd://", i), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(9)}},
	}), fmt.Sprintf("pi-5f3c9a8b7d6e-exec-%d", i), text("executor"), fmt.Sprintf("s-%d", i/100))
	p.UID, p.ResourceVersion, p.Namespace = types.UID(fmt.Sprintf("8d3c1f0e-6f5b-4c59-9a35-%012d", i)), fmt.Sprint(1_000_000+i), text("jobs")
	p.Labels["spark-exec-id"], p.Labels["spark-version"] = fmt.Sprint(i), text("4.1.4")
	p.Spec.NodeName, p.Spec.SchedulerName = fmt.Sprint("node-", i%50), text("default-scheduler")
	p.Spec.Containers = []corev1.Container{{Name: text(executorContainer), Image: text("spark:4.1.4"), Env: []corev1.EnvVar{{Name: appIDEnv, Value: text("spark-1")}}}}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: at(3)})
	}
	return p
}

func TestMemoryLimitOfDriver(t *testing.T) {
	limited := func(role, name string) *corev1.Pod {
		p := withSpark(pod(corev1.PodRunning), name)
		p.Labels = map[string]string{"spark-role": role}
		for i := range p.Spec.Containers {
			p.Spec.Containers[i].Resources.Limits = corev1.ResourceList{
				corev1.ResourceMemory: resource.MustParse([]string{"64Mi", "896Mi"}[i]), corev1.ResourceCPU: resource.MustParse("1"),
			}
		}
		return p
	}
	for _, name := range []string{driverContainer, "main"} {
		if got := judged(limited("driver", name)).MemoryLimit; got != 896<<20 {
			t.Errorf("container %s: limit %d, want 896Mi", name, got)
		}
	}
	if got := judged(withSpark(pod(corev1.PodRunning), driverContainer)).MemoryLimit; got != 0 {
		t.Errorf("limit %d of a container without one", got)
	}
}

func TestCachePodLetsTheRestThrough(t *testing.T) {
	for _, o := range []any{toolscache.DeletedFinalStateUnknown{Key: "jobs/pi-driver"}, cachedPod(driverPod())} {
		if got, err := CachePod(family.Labels)(o); err != nil || got != o {
			t.Errorf("got %v, %v; a %T is no pod that has just arrived", got, err, o)
		}
	}
}

func TestIndexByApp(t *testing.T) {
	p := pod(corev1.PodRunning)
	if got := byApp(p); got != nil {
		t.Errorf("a pod without the label is indexed as %v", got)
	}
	p.Labels = map[string]string{v1beta2.LabelAppName: "pi"}
	if diff := cmp.Diff([]string{"sparkoperator.k8s.io/app-name=pi"}, byApp(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// withSpark names Spark's container as a pod template may, beside a sidecar.
func withSpark(p *corev1.Pod, name string) *corev1.Pod {
	p.Spec.Containers = []corev1.Container{
		{Name: "proxy", Env: []corev1.EnvVar{{Name: "PORT"}}},
		{Name: name, Env: []corev1.EnvVar{{Name: "TEAM"}, {Name: "SPARK_APPLICATION_ID", Value: "spark-1"}}},
	}
	return p
}

// A sidecar keeps the pod running after Spark has ended, also where a template gives Spark's container another name.
func TestContainerNamedByTemplate(t *testing.T) {
	p := withSpark(pod(corev1.PodRunning, runs("proxy"), exits("main", 3, "Error", "")), "main")
	if d := judged(p); d.Phase != lifecycle.DriverFailed || d.Exit.Code != 3 {
		t.Errorf("driver %+v, want failed with exit code 3", d)
	}
	if e := executorOf(p); e.State != lifecycle.ExecutorFailed {
		t.Errorf("executor %+v, want failed", e)
	}
}
