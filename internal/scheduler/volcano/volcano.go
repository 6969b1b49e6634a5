// SPDX-License-Identifier: Apache-2.0

// Package volcano is the plugin for Volcano (https://volcano.sh), written for version 1.14.
//
// Each attempt gets a PodGroup of its own before it gets any pod. The group requests the room of the whole application (minResources) and only one member:
// the driver creates the executors, so a group that also required executors would never be complete. With the parameter executorGang the group requires
// executors, too, as soon as the driver runs. Volcano admits the group (phase Inqueue) when its queue has the room, and reserves that room; until then there
// is no driver.
package volcano

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Name is the plugin's name in spec.batchScheduler.
const Name = "volcano"

const (
	// schedulerName is the default name of the Volcano scheduler.
	schedulerName = "volcano"
	// Volcano creates defaultQueue itself; rootQueue is the ancestor of all queues.
	defaultQueue = "default"
	rootQueue    = "root"
)

// groupAnnotation puts a pod into a group.
var groupAnnotation = scheduler.PodKey{Part: scheduler.PodAnnotation, Key: v1beta1.KubeGroupNameAnnotationKey}

var (
	podGroupKind = v1beta1.SchemeGroupVersion.WithKind("PodGroup")
	queueKind    = v1beta1.SchemeGroupVersion.WithKind("Queue")
	eventKind    = schema.GroupVersionKind{Version: "v1", Kind: "Event"}
	// allQueues are read together, because only the other queues show whether a queue is a leaf.
	allQueues = scheduler.Read{GroupVersionKind: queueKind}
)

// Plugin connects Volcano.
type Plugin struct{ schedulerName string }

// New returns the plugin. name is the scheduler name that Volcano was started with; "" means volcano.
func New(name string) Plugin {
	if name == "" {
		name = schedulerName
	}
	return Plugin{schedulerName: name}
}

var (
	_ scheduler.Plugin        = Plugin{}
	_ scheduler.Observer      = Plugin{}
	_ scheduler.Releaser      = Plugin{}
	_ scheduler.Queuer        = Plugin{}
	_ scheduler.QueueReporter = Plugin{}
)

// parameters are spec.batchSchedulerOptions.parameters.
type parameters struct {
	// AfterStart controls the reserved room once the driver and the initial executors run. KeepReservation keeps it. DriverOnly, the default with dynamic
	// allocation, shrinks it to the driver's room, so that queues below their share can reclaim the executors' room.
	AfterStart string `json:"afterStart"`
	// ExecutorGang starts all initial executors together or none; with dynamic allocation, the minimum of executors. Volcano preempts and reclaims only for pods
	// that a group requires, so it does so for executors only with ExecutorGang.
	ExecutorGang bool `json:"executorGang"`
	// DriverPreemptable and ExecutorsPreemptable allow Volcano to evict pods of the role. It evicts them for applications of higher priority (preemption), or to
	// return room of queues above their share (reclaim).
	DriverPreemptable    bool `json:"driverPreemptable"`
	ExecutorsPreemptable bool `json:"executorsPreemptable"`
}

const (
	keepReservation = "KeepReservation"
	driverOnly      = "DriverOnly"
)

// Describe introduces the plugin.
func (p Plugin) Describe() scheduler.Descriptor {
	const hint = "install Volcano with its CRDs"
	return scheduler.Descriptor{
		Name: Name, SchedulerName: p.schedulerName, DefaultQueue: defaultQueue,
		Needs: []scheduler.API{
			{GroupKind: podGroupKind.GroupKind(), Versions: []string{podGroupKind.Version}, Hint: hint},
			{GroupKind: queueKind.GroupKind(), Versions: []string{queueKind.Version}, Hint: hint},
		},
		Reads: []schema.GroupVersionKind{queueKind, scheduler.PriorityClassKind, eventKind},
		Owns:  []schema.GroupVersionKind{podGroupKind},
		// The queue's numbers appear in messages only: the phase of the group decides.
		Ignores: map[schema.GroupVersionKind][][]string{queueKind: {
			{"status", "allocated"}, {"status", "reservation"},
			{"status", "pending"}, {"status", "inqueue"}, {"status", "running"}, {"status", "completed"}, {"status", "unknown"},
		}},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{podGroupKind.Group}, Resources: []string{"podgroups"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
			{APIGroups: []string{queueKind.Group}, Resources: []string{"queues"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{scheduler.PriorityClassKind.Group}, Resources: []string{"priorityclasses"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list", "watch"}},
		},
		ManagedKeys: []scheduler.PodKey{
			groupAnnotation,
			{Part: scheduler.PodAnnotation, Key: batchv1alpha1.TaskSpecKey},
			{Part: scheduler.PodAnnotation, Key: v1beta1.PodPreemptable},
			{Part: scheduler.PodPriorityClass},
		},
		Supports: scheduler.Support{Queues: true, Resources: true, WaitsBeforePods: true, Reserves: true},
	}
}

// Validate checks the parameters.
func (Plugin) Validate(a scheduler.Attempt) field.ErrorList {
	p, findings := parametersOf(a)
	if p.ExecutorGang {
		findings = append(findings, scheduler.ValidateGang(a, scheduler.GangSize(a))...)
	}
	return findings
}

func parametersOf(a scheduler.Attempt) (parameters, field.ErrorList) {
	p := parameters{AfterStart: keepReservation, ExecutorsPreemptable: true}
	if a.PodSets.Min < a.PodSets.Max { // otherwise room of executors that dynamic allocation deletes would stay reserved and unused
		p.AfterStart = driverOnly
	}
	findings := scheduler.DecodeParameters(a, &p)
	if len(findings) == 0 && p.AfterStart != keepReservation && p.AfterStart != driverOnly {
		findings = append(findings, scheduler.Invalid(a.Field(scheduler.FieldParameters)+".afterStart",
			fmt.Sprintf("%q: must be %s or %s", p.AfterStart, keepReservation, driverOnly)))
	}
	return p, findings
}

// Reads returns the reads of the attempt's group, Volcano's events about it, and the queues.
func (Plugin) Reads(a scheduler.Attempt) []scheduler.Read {
	reads := append(scheduler.ReadPriorityClass(a), allQueues, groupOf(a).Read(), groupEvents(a))
	return append(reads, scheduler.ReadRefs(usersGroups(a))...)
}

// usersGroups returns the groups that the user named on the pods. If there is one, the plugin creates no group.
func usersGroups(a scheduler.Attempt) []scheduler.Ref {
	return scheduler.UsersGroups(a, groupAnnotation, podGroupKind)
}

// Decorate puts both roles into the group. By default it protects the driver from eviction: Volcano spares only as many pods as the group requires, which is
// one, and this pod may be an executor. The roles get names because Volcano remembers for each role the nodes that do not fit. Pods in a user's own group
// stay unchanged.
func (Plugin) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	scheduler.DecoratePriorityClass(a, d)
	if len(usersGroups(a)) > 0 {
		return nil
	}
	options, _ := parametersOf(a)
	mark := func(o *spark.PodOverlay, role string, preemptable bool) {
		scheduler.SetIn(&o.Annotations, v1beta1.KubeGroupNameAnnotationKey, a.ID)
		scheduler.SetIn(&o.Annotations, batchv1alpha1.TaskSpecKey, role)
		scheduler.SetIn(&o.Annotations, v1beta1.PodPreemptable, strconv.FormatBool(preemptable))
	}
	mark(&d.Driver, spark.RoleDriver, options.DriverPreemptable)
	mark(&d.Executor, spark.RoleExecutor, options.ExecutorsPreemptable)
	return nil
}

// Release returns the group.
func (Plugin) Release(a scheduler.Attempt) []scheduler.Ref { return []scheduler.Ref{groupOf(a)} }

func groupOf(a scheduler.Attempt) scheduler.Ref {
	return scheduler.Ref{GroupVersionKind: podGroupKind, Namespace: a.App.Namespace, Name: a.ID}
}

// groupEvents returns the read of Volcano's events about the groups of a namespace. One list serves all applications there.
func groupEvents(a scheduler.Attempt) scheduler.Read {
	return scheduler.Read{
		GroupVersionKind: eventKind, Namespace: a.App.Namespace, Optional: true,
		Fields: "involvedObject.kind=PodGroup,reason=" + string(v1beta1.PodGroupUnschedulableType),
	}
}

// voice describes Volcano's events. In each cycle Volcano writes a warning about each group that has waiting pods or no pods. The spam filter of client-go
// passes 25 events about an object and then one in five minutes; one of the later events may be lost.
func voice(a scheduler.Attempt) scheduler.Voice {
	return scheduler.Voice{Name: "Volcano", Events: groupEvents(a), Pause: 11 * time.Minute}
}

// group returns the wanted PodGroup. It has no status, because the CRD has no status subresource: a client that writes the whole object would overwrite the
// scheduler's status. gang is the number of executors that start together.
func group(a scheduler.Attempt, demand demand, gang int32) (*unstructured.Unstructured, error) {
	minResources := demand.minResources()
	return scheduler.Applied(groupOf(a), &v1beta1.PodGroup{Spec: v1beta1.PodGroupSpec{
		MinMember: 1 + gang, MinResources: &minResources, Queue: a.Queue, PriorityClassName: priorityClassOf(a),
	}})
}

// priorityClassOf returns the class of the group. Volcano orders groups and preempts between groups by this class; the classes of pods order the pods within
// their group only. If the attempt has no class, the driver's class is used.
func priorityClassOf(a scheduler.Attempt) string {
	return cmp.Or(a.PriorityClass, a.PodSets.DriverAttributes.PriorityClassName)
}
