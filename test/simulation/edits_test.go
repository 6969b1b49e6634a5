// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// edit is what a user changes of one field of a spec.
type edit[S any] struct {
	field  string
	change func(*history, *S)
}

// appEdits are those of an application.
var appEdits = []edit[v1beta2.SparkApplicationSpec]{
	{"arguments", func(_ *history, s *v1beta2.SparkApplicationSpec) { s.Arguments = append(s.Arguments, argument) }},
	{"timeToLiveSeconds", func(h *history, s *v1beta2.SparkApplicationSpec) { s.TimeToLiveSeconds = new(int64(h.rng.IntN(60))) }},
	{fieldDriver, func(_ *history, s *v1beta2.SparkApplicationSpec) {
		if s.Driver.PodName == nil {
			s.Driver.PodName = new("another-driver")
		} else {
			s.Driver.PodName = nil
		}
	}},
	{"restartPolicy", func(h *history, s *v1beta2.SparkApplicationSpec) { s.RestartPolicy = h.drawPolicy() }},
	{"sparkVersion", func(_ *history, s *v1beta2.SparkApplicationSpec) {
		if s.SparkVersion == unknownVersion {
			s.SparkVersion = testutil.SparkVersion
		} else {
			s.SparkVersion = unknownVersion
		}
	}},
	{"deadlines", func(h *history, s *v1beta2.SparkApplicationSpec) { s.Deadlines = h.drawDeadlines() }},
	{"retention", func(h *history, s *v1beta2.SparkApplicationSpec) { s.Retention = h.drawRetention() }},
	{"executor", func(h *history, s *v1beta2.SparkApplicationSpec) {
		s.Executor.NodeSelector = map[string]string{"zone": h.one("a", "b")}
	}},
	{"batchScheduler", func(h *history, s *v1beta2.SparkApplicationSpec) {
		if s.BatchScheduler = new(h.one("", lineName, lineName, noScheduler)); *s.BatchScheduler == "" {
			s.BatchScheduler = nil
		}
	}},
	{"batchSchedulerOptions", func(h *history, s *v1beta2.SparkApplicationSpec) {
		queue := h.one("", "a", "b", noQueue)
		if s.BatchSchedulerOptions = nil; queue != "" {
			s.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: &queue}
		}
	}},
}

// drawQueue draws the queue that pods name.
func (h *history) drawQueue(s *sparkv1.SparkApplicationSpec) {
	s.SparkConf[confLine] = h.one("a", "b", noQueue)
	s.SparkConf[strings.Replace(confLine, "driver", "executor", 1)] = s.SparkConf[confLine]
}

// argument is what edits add.
const argument = "x"

// fieldDriver is the field with the name of the driver pod.
const fieldDriver = "driver"

// secondEdits are those of an application of the second family.
var secondEdits = []edit[sparkv1.SparkApplicationSpec]{
	{"driverArgs", func(_ *history, s *sparkv1.SparkApplicationSpec) { s.DriverArgs = append(s.DriverArgs, argument) }},
	{"sparkConf", func(h *history, s *sparkv1.SparkApplicationSpec) {
		if h.rng.IntN(2) == 0 {
			s.SparkConf[spark.ConfSchedulerName] = h.one("", lineName)
			return
		}
		h.drawQueue(s)
	}},
	{"applicationTolerations", func(h *history, s *sparkv1.SparkApplicationSpec) {
		t := s.ApplicationTolerations
		switch h.rng.IntN(6) {
		case 0:
			t.InstanceConfig = h.drawInstances()
		case 1:
			h.drawRetainPolicy(t)
		case 2:
			t.TTLAfterStopMillis = new(h.rng.Int64N(60_000))
		case 3:
			t.ApplicationTimeoutConfig = h.drawTimeouts()
		default:
			t.RestartConfig = h.drawRestart()
		}
	}},
}

// confLine is the queue of the driver of an application that asks for a scheduler by its pods.
const confLine = "spark.kubernetes.driver.label." + lineLabel

func (h *history) one(of ...string) string { return of[h.rng.IntN(len(of))] }

// likeArguments are fields that histories do not edit. What holds for one field that an attempt is made from holds for them.
var likeArguments = []string{
	"type", "mode", "proxyUser", "image", "imagePullPolicy", "imagePullSecrets", "mainClass", "mainApplicationFile", "sparkConf", "hadoopConf", "sparkConfigMap",
	"hadoopConfigMap", "volumes", "deps", "nodeSelector", "failureRetries", "retryInterval", "pythonVersion", "memoryOverheadFactor", "monitoring", "dynamicAllocation",
	"runtimeVersions", "jars", "pyFiles", "sparkRFiles", "files", "deploymentMode", "driverSpec", "executorSpec", "configMapSpecs", "driverServiceIngressList",
	"driverHttpRouteList", "driverGrpcRouteList", "server",
}

// serverEdits are the fields of a server that its user edits.
var serverEdits = []string{"sparkConf", "suspend", "idleTimeout", "drainTimeout", "authentication"}

// elsewhere are fields that are edited by other actors, or that cannot be edited, or are those of objects of which tamper edits one.
var elsewhere = []string{"suspend", "managedBy", "sparkUIOptions", "driverIngressOptions", "driverPodDisruptionBudget", "logTails"}

// Each field of the definitions is edited in the histories, or like one that is.
func TestEveryFieldIsEdited(t *testing.T) {
	known := append(append(slices.Clone(likeArguments), elsewhere...), serverEdits...)
	for _, e := range appEdits {
		known = append(known, e.field)
	}
	for _, e := range secondEdits {
		known = append(known, e.field)
	}
	found := map[string]bool{}
	for _, spec := range []any{v1beta2.SparkApplicationSpec{}, sparkv1.SparkApplicationSpec{}, v1alpha1.SparkConnectSpec{}} {
		for i := range reflect.TypeOf(spec).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(spec).Field(i).Tag.Get("json"), ",")
			if found[name] = true; !slices.Contains(known, name) {
				t.Errorf("no history edits %T.%s: add it to appEdits, secondEdits or serverEdits, or to those that are like another field", spec, name)
			}
		}
	}
	for _, name := range known {
		if !found[name] {
			t.Errorf("there is no field %s", name)
		}
	}
}

// editSome edits fields of the application, one after the other and at once.
func (h *history) editSome() {
	for range 1 + h.rng.IntN(3) {
		e := appEdits[h.rng.IntN(len(appEdits))]
		if e.field == fieldDriver && h.stats.TwoLeaders > 0 {
			continue // between two operators that lead at once only the name keeps their drivers apart
		}
		h.edit(e.field, func(s *v1beta2.SparkApplicationSpec) { e.change(h, s) })
	}
}

// impatient is a user who edits what is waited for: the policy of an attempt that is to follow, or the queue. In fair weather there are few such
// edits: when there are no more, everything must end.
func (h *history) impatient() {
	if h.thoughts == 0 || h.rng.IntN(2) > 0 {
		return
	}
	h.thoughts--
	if o := h.store.second(); o != nil && o.DeletionTimestamp == nil && h.rng.IntN(2) == 0 {
		h.other.editWait(o)
		return
	}
	app := h.store.app()
	if app == nil || app.DeletionTimestamp != nil {
		return
	}
	reason, _ := waitsFor(asked(&app.Spec))
	switch state := app.Status.AppState.State; {
	case state == v1beta2.ApplicationStateFailing || state == v1beta2.ApplicationStateSubmissionFailed:
		h.editField("restartPolicy")
	case reason != "":
		h.editField(h.one("batchScheduler", "batchSchedulerOptions"))
	}
}

// drawThoughts draws how many edits there may be of what is waited for.
func (h *history) drawThoughts() int {
	if h.server != nil {
		return 0
	}
	return max(0, h.rng.IntN(6)-2)
}

func (h *history) editField(name string) {
	e := appEdits[slices.IndexFunc(appEdits, func(e edit[v1beta2.SparkApplicationSpec]) bool { return e.field == name })]
	h.edit(e.field, func(s *v1beta2.SparkApplicationSpec) { e.change(h, s) })
}

// editWait is that of the second family.
func (s *second) editWait(o *sparkv1.SparkApplication) {
	reason, _ := waitsFor(askedBySecond(&o.Spec))
	switch {
	case stateOf(o) == sparkv1.StateScheduledToRestart:
		s.edit("restart policy", func(spec *sparkv1.SparkApplicationSpec) {
			if spec.ApplicationTolerations.RestartConfig = s.h.drawRestart(); s.h.rng.IntN(3) == 0 {
				spec.ApplicationTolerations.RestartConfig.RestartPolicy = sparkv1.RestartNever
			}
		})
	case reason != "":
		s.edit("queue", func(spec *sparkv1.SparkApplicationSpec) { secondEdits[1].change(s.h, spec) })
	}
}

// editSome is that of the second family.
func (s *second) editSome() {
	for range 1 + s.h.rng.IntN(3) {
		e := secondEdits[s.h.rng.IntN(len(secondEdits))]
		s.edit(e.field, func(spec *sparkv1.SparkApplicationSpec) { e.change(s.h, spec) })
	}
}

// asked is the scheduler and the queue that an application asks for.
func asked(s *v1beta2.SparkApplicationSpec) (scheduled, queue string) {
	return ptr.Deref(s.BatchScheduler, ""), ptr.Deref(ptr.Deref(s.BatchSchedulerOptions, v1beta2.BatchSchedulerConfiguration{}).Queue, "")
}

// askedBySecond is that of the second family, in which pods ask. A scheduler that is not known takes them.
func askedBySecond(s *sparkv1.SparkApplicationSpec) (scheduled, queue string) {
	return s.SparkConf[spark.ConfSchedulerName], s.SparkConf[confLine]
}

// sayWhy reports whether conditions say why an application waits: the reason, and a message that names what its user must change.
func sayWhy(conditions []metav1.Condition, reason scheduler.Reason, names string) bool {
	return slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
		return c.Status == metav1.ConditionFalse && c.Reason == string(reason) && strings.Contains(c.Message, names)
	})
}

// neverConflicts judges that no pod contradicts what was chosen for it: no user asks for that, so that an edit was overlooked.
func (h *history) neverConflicts(conditions []metav1.Condition) {
	for _, c := range conditions {
		if c.Reason == string(scheduler.ReasonPodKeyConflict) || c.Reason == string(scheduler.ReasonPodSchedulerNameConflict) {
			h.fail("%s: %s", c.Reason, c.Message)
		}
	}
}

// madeFrom judges that a driver is made from the spec that was decided from: its arguments, scheduler and queue.
func (h *history) madeFrom(p *corev1.Pod, arguments []string, scheduled, queue string) {
	given := p.Spec.Containers[0].Args
	if n := len(given) - len(arguments); n < 0 || !slices.Equal(given[n:], arguments) || n > 0 && given[n-1] == argument {
		h.fail("driver %s has the arguments %q, but its user wants %q", p.Name, given, arguments)
	}
	if p.Spec.SchedulerName != scheduled || p.Labels[lineLabel] != queue {
		h.fail("driver %s is for queue %q of the scheduler %q, but its user asks for queue %q of %q", p.Name, p.Labels[lineLabel], p.Spec.SchedulerName, queue, scheduled)
	}
}
