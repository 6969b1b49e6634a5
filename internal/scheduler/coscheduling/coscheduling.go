// SPDX-License-Identifier: Apache-2.0

// Package coscheduling is the plugin for the Coscheduling plugin of kubernetes-sigs/scheduler-plugins, written for version
// 0.34.
//
// Each attempt gets a PodGroup of its own. By default the group needs one member and requests the room of the whole application (minResources), so the driver
// starts when the cluster has that room. The room is not reserved: two applications may count the same room. With the parameter executorGang the group
// contains the executors only, and all of them start together or none. With dynamic allocation only the minimum of executors starts together.
package coscheduling

import (
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Name is the plugin's name in spec.batchScheduler.
const Name = "coscheduling"

// schedulerName is the default name in the scheduler-plugins chart.
const schedulerName = "scheduler-plugins-scheduler"

// groupLabel puts a pod into a group.
var groupLabel = scheduler.PodKey{Part: scheduler.PodLabel, Key: v1alpha1.PodGroupLabel}

var podGroupKind = v1alpha1.SchemeGroupVersion.WithKind("PodGroup")

// Plugin connects Coscheduling.
type Plugin struct {
	// name is the plugin's name for users; alias is set if it is the name of a scheduler profile.
	name          string
	alias         bool
	schedulerName string
}

// New returns the plugin. name is the scheduler profile that runs Coscheduling; "" means scheduler-plugins-scheduler.
func New(name string) Plugin {
	if name == "" {
		name = schedulerName
	}
	return Plugin{name: Name, schedulerName: name}
}

// ForScheduler returns the plugin for another scheduler profile that runs Coscheduling.
func (Plugin) ForScheduler(name string) scheduler.Plugin {
	return Plugin{name: name, alias: true, schedulerName: name}
}

var (
	_ scheduler.Plugin   = Plugin{}
	_ scheduler.Observer = Plugin{}
	_ scheduler.Releaser = Plugin{}
	_ scheduler.Multiple = Plugin{}
)

// parameters are spec.batchSchedulerOptions.parameters.
type parameters struct {
	// ExecutorGang starts all initial executors together or none; with dynamic allocation, the minimum of executors.
	ExecutorGang bool `json:"executorGang"`
	// ScheduleTimeoutSeconds is how long pods with a node wait for the rest of their group; nil means the scheduler's default.
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds"`
}

// Describe introduces the plugin.
func (p Plugin) Describe() scheduler.Descriptor {
	d := scheduler.Descriptor{
		Name: p.name, SchedulerName: p.schedulerName,
		Needs: []scheduler.API{{
			GroupKind: podGroupKind.GroupKind(), Versions: []string{podGroupKind.Version},
			Hint: "install the CRDs, the controller and the scheduler of kubernetes-sigs/scheduler-plugins",
		}},
		Reads: []schema.GroupVersionKind{scheduler.PriorityClassKind},
		Owns:  []schema.GroupVersionKind{podGroupKind},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{podGroupKind.Group}, Resources: []string{"podgroups"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
			{APIGroups: []string{scheduler.PriorityClassKind.Group}, Resources: []string{"priorityclasses"}, Verbs: []string{"get"}},
		},
		ManagedKeys: []scheduler.PodKey{groupLabel, {Part: scheduler.PodPriorityClass}},
		Supports:    scheduler.Support{Resources: true},
	}
	if p.alias {
		d.AliasOf = Name
	}
	return d
}

// Validate checks the parameters. It refuses a gang of executors that Spark never creates together, because the gang would wait forever.
func (Plugin) Validate(a scheduler.Attempt) field.ErrorList {
	p, findings := parametersOf(a)
	findings = append(findings, scheduler.ValidateGang(a, gang(a, p))...)
	if t := p.ScheduleTimeoutSeconds; t != nil && *t < 1 {
		findings = append(findings, scheduler.Invalid(a.Field(scheduler.FieldParameters)+".scheduleTimeoutSeconds", fmt.Sprintf("%d: must be at least 1", *t)))
	}
	return findings
}

func parametersOf(a scheduler.Attempt) (parameters, field.ErrorList) {
	var p parameters
	findings := scheduler.DecodeParameters(a, &p)
	return p, findings
}

// gang returns the number of executors that must start together; 0 if the driver is in the group, too.
func gang(a scheduler.Attempt, p parameters) int32 {
	if !p.ExecutorGang {
		return 0
	}
	return scheduler.GangSize(a)
}

// usersGroups returns the groups that the user named on the pods. If there is one, the plugin creates no group.
func usersGroups(a scheduler.Attempt) []scheduler.Ref {
	return scheduler.UsersGroups(a, groupLabel, podGroupKind)
}

// Reads returns the reads of the application's PriorityClass and of the groups.
func (Plugin) Reads(a scheduler.Attempt) []scheduler.Read {
	reads := scheduler.ReadPriorityClass(a)
	if groups := usersGroups(a); len(groups) > 0 {
		reads = append(append(reads, scheduler.ReadRefs(groups)...), groupOf(a).Read())
	}
	return reads
}

// Admit applies the group and admits the attempt, because an attempt waits with its driver pod.
func (Plugin) Admit(a scheduler.Attempt, s scheduler.Snapshot) (scheduler.Admission, error) {
	if missing, ok := scheduler.MissingPriorityClass(a, s); ok {
		return missing, nil
	}
	if groups := usersGroups(a); len(groups) > 0 {
		return scheduler.AdmitToUsersGroups(a, groups, groupOf(a), s), nil
	}
	p, _ := parametersOf(a)
	wanted, err := group(a, p, care{})
	if err != nil {
		return scheduler.Admission{}, err
	}
	ref := groupOf(a)
	message, warning := start(a, p)
	return scheduler.Admission{
		Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Message: message, Warning: warning,
		Group: &ref, Apply: []*unstructured.Unstructured{wanted},
	}, nil
}

// start returns the message about the wait. The warning says that a requested gang has no effect; "" if it has.
func start(a scheduler.Attempt, p parameters) (message, warning string) {
	driver, executors := a.Word(spark.WordDriver), a.Word(spark.WordExecutors)
	switch members := gang(a, p); {
	case members == 0 && p.ExecutorGang:
		warning = scheduler.NoGang(a)
	case members == 0:
	case members < a.PodSets.Initial:
		return fmt.Sprintf("the %s starts when a node has capacity for it, and the first %d of its %d %s start "+
			"together (the minimum of dynamic allocation)", driver, members, a.PodSets.Initial, executors), ""
	default:
		return fmt.Sprintf("the %s starts when a node has capacity for it, and its %d %s start together", driver, members, executors), ""
	}
	return fmt.Sprintf("the %s starts when the cluster has capacity for the whole %s", driver, a.Word(spark.WordApplication)), warning
}

// Decorate puts the pods into the group, unless the user named another group.
func (Plugin) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	scheduler.DecoratePriorityClass(a, d)
	if len(usersGroups(a)) > 0 {
		return nil
	}
	if p, _ := parametersOf(a); gang(a, p) == 0 {
		scheduler.SetIn(&d.Driver.Labels, v1alpha1.PodGroupLabel, a.ID)
	}
	scheduler.SetIn(&d.Executor.Labels, v1alpha1.PodGroupLabel, a.ID)
	return nil
}

// Release returns the group.
func (Plugin) Release(a scheduler.Attempt) []scheduler.Ref { return []scheduler.Ref{groupOf(a)} }

// groupOf returns the group's reference. The scheduler counts pods by groupLabel in all namespaces, so the name must be unique in the cluster; the attempt's
// ID is unique.
func groupOf(a scheduler.Attempt) scheduler.Ref {
	return scheduler.Ref{GroupVersionKind: podGroupKind, Namespace: a.App.Namespace, Name: a.ID}
}

// group returns the wanted PodGroup. After it was lowered it no longer blocks a pod that fits on a node.
func group(a scheduler.Attempt, p parameters, c care) (*unstructured.Unstructured, error) {
	spec := v1alpha1.PodGroupSpec{MinMember: 1, ScheduleTimeoutSeconds: p.ScheduleTimeoutSeconds}
	members, lowered := gang(a, p), !c.lowered.IsZero()
	switch {
	case members > 0 && !lowered:
		spec.MinMember = members
	case members > 0:
	case lowered:
		spec.MinResources = a.PodSets.Driver.Requests
	default:
		spec.MinResources = a.Total()
	}
	g := &v1alpha1.PodGroup{Spec: spec}
	g.Annotations = c.annotations()
	return scheduler.Applied(groupOf(a), g)
}

// Delays of the group's nudges; see Observe.
const (
	// settle is the time until the scheduler uses a changed group.
	settle = 5 * time.Second
	// pause is the least time between two nudges of a group.
	pause = 15 * time.Second
	// overtaken is the least time between freed room and the last nudge after it. It is less than pause.
	overtaken = 10 * time.Second
	// flush is the default time after which the scheduler requeues waiting pods without a nudge.
	flush = 5 * time.Minute
)
