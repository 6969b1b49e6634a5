// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Decoration holds the overlays of both roles before the pods are built. A plugin may change labels and annotations, and may set the priority class of a role
// without one; the rest is read-only.
type Decoration struct {
	Driver   spark.PodOverlay
	Executor spark.PodOverlay
}

// Decorate returns a copy of the application with the plugin's decoration on both roles. It fails if the plugin sets a key outside its ManagedKeys.
func Decorate(p Plugin, a Attempt, app spark.Application) (spark.Application, error) {
	decorated, err := call(p, "Decorate", func() (Decoration, error) {
		d := Decoration{Driver: *app.Driver.Overlay.DeepCopy(), Executor: *app.Executor.Overlay.DeepCopy()}
		if err := p.Decorate(a, &d); err != nil {
			return Decoration{}, err
		}
		claims := p.Describe().ManagedKeys
		if key, ok := unclaimed(claims, &app.Driver.Overlay, &d.Driver); ok {
			return Decoration{}, fmt.Errorf("it sets %s on the %s, but does not declare it", key, a.Word(spark.WordDriver))
		}
		if key, ok := unclaimed(claims, &app.Executor.Overlay, &d.Executor); ok {
			return Decoration{}, fmt.Errorf("it sets %s on %s, but does not declare it", key, a.Word(spark.WordExecutors))
		}
		return d, nil
	})
	if err != nil {
		return spark.Application{}, err
	}
	app.Driver.Overlay, app.Executor.Overlay = decorated.Driver, decorated.Executor
	if name := p.Describe().SchedulerName; name != "" {
		app = ScheduledBy(app, name)
	}
	return app, nil
}

// ScheduledBy returns the application with the scheduler's name on all pods; it overrides every other source of the name. Executors get it from Spark's
// configuration, which takes precedence over the executors' pod template.
func ScheduledBy(app spark.Application, name string) spark.Application {
	app.Driver.Overlay.SchedulerName, app.Executor.Overlay.SchedulerName = name, name
	conf := maps.Clone(app.OperatorConf)
	if conf == nil {
		conf = map[string]string{}
	}
	for _, key := range []string{spark.ConfSchedulerName, spark.ConfDriverSchedulerName, spark.ConfExecutorSchedulerName} {
		if app.Conf[key] != "" {
			conf[key] = name
		}
	}
	app.OperatorConf = conf
	return app
}

// unclaimed returns a difference between two overlays that no ManagedKey covers; false if there is none.
func unclaimed(claims []PodKey, before, after *spark.PodOverlay) (string, bool) {
	if key, ok := unclaimedIn(claims, PodLabel, before.Labels, after.Labels); ok {
		return key, true
	}
	if key, ok := unclaimedIn(claims, PodAnnotation, before.Annotations, after.Annotations); ok {
		return key, true
	}
	if after.PriorityClassName != before.PriorityClassName &&
		(before.PriorityClassName != "" || !slices.Contains(claims, PodKey{Part: PodPriorityClass})) {
		return "the priority class " + after.PriorityClassName, true
	}
	rest := *after
	rest.Labels, rest.Annotations, rest.PriorityClassName = before.Labels, before.Annotations, before.PriorityClassName
	if !equality.Semantic.DeepEqual(&rest, before) {
		return "something that is not a label, an annotation or a priority class", true
	}
	return "", false
}

func unclaimedIn(claims []PodKey, part PodPart, before, after map[string]string) (string, bool) {
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if old, had := before[key]; (!had || old != after[key]) && !slices.Contains(claims, PodKey{Part: part, Key: key}) {
			return fmt.Sprintf("%s %q", part, key), true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, kept := after[key]; !kept {
			return fmt.Sprintf("%s %q to nothing", part, key), true
		}
	}
	return "", false
}

// conflict detects pods that contradict the chosen scheduler: they set a key of the plugin to another value, or name another scheduler. A scheduler chosen by
// the application overrides the name on its pods; a default scheduler does not.
func conflict(p Plugin, a Attempt) (Admission, bool, error) {
	d, err := decorationOf(p, a)
	if err != nil {
		return Admission{}, false, err
	}
	roles := []struct {
		role    spark.Word
		traits  spark.PodAttributes
		overlay spark.PodOverlay
	}{
		{spark.WordDriver, a.PodSets.DriverAttributes, d.Driver}, {spark.WordExecutor, a.PodSets.ExecutorAttributes, d.Executor},
	}
	name := p.Describe().SchedulerName
	for _, r := range roles {
		if other := r.traits.SchedulerName; name != "" && a.Source != SourceApplication && other != "" && other != name {
			return schedulerConflict(a, r.role, other), true, nil
		}
		if admission, ok := keyConflict(a, r.role, PodLabel, r.traits.Labels, r.overlay.Labels); ok {
			return admission, true, nil
		}
		if admission, ok := keyConflict(a, r.role, PodAnnotation, r.traits.Annotations, r.overlay.Annotations); ok {
			return admission, true, nil
		}
	}
	return Admission{}, false, nil
}

// decorationOf returns the plugin's decoration, starting from empty overlays.
func decorationOf(p Plugin, a Attempt) (Decoration, error) {
	return call(p, "Decorate", func() (Decoration, error) {
		var d Decoration
		err := p.Decorate(a, &d)
		return d, err
	})
}

func schedulerConflict(a Attempt, role spark.Word, other string) Admission {
	return Admission{
		Verdict: Reject, Reason: ReasonPodSchedulerNameConflict,
		Message: fmt.Sprintf("the %s pod names the scheduler %q, but %s is the default here (%s); remove that name, or write %s: %s to keep it",
			a.Word(role), other, a.Scheduler, a.Source, a.Field(FieldScheduler), NoScheduler),
	}
}

func keyConflict(a Attempt, role spark.Word, part PodPart, theirs, ours map[string]string) (Admission, bool) {
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		if value, set := theirs[key]; set && value != ours[key] {
			return Admission{
				Verdict: Reject, Reason: ReasonPodKeyConflict,
				Message: fmt.Sprintf("the %s pod has the %s %s: %q, which the scheduler plugin %s sets to %q; remove it",
					a.Word(role), part, key, value, a.Scheduler, ours[key]),
			}, true
		}
	}
	return Admission{}, false
}

// PriorityClassKind is the kind PriorityClass.
var PriorityClassKind = schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}

// missingRetry is the interval of checks for a missing PriorityClass. PriorityClasses are not watched: few applications name a missing class, and a GET for
// each is cheaper than a watch.
const missingRetry = 10 * time.Second

// ReadPriorityClass returns the reads of the PriorityClasses that the attempt and its pods name. Without cluster-wide rights the operator may not read a
// class; the API server then refuses pods with a missing class.
func ReadPriorityClass(a Attempt) []Read {
	var reads []Read
	for _, name := range append([]string{a.PriorityClass}, a.PodClasses...) {
		if read := readClass(name); name != "" && !slices.Contains(reads, read) {
			reads = append(reads, read)
		}
	}
	return reads
}

func readClass(name string) Read {
	return Read{GroupVersionKind: PriorityClassKind, Name: name, Optional: true}
}

// PriorityOf returns the smallest priority of the classes that the pods may have. A class that does not exist or may not be read counts as 0.
func PriorityOf(a Attempt, s Snapshot) int32 {
	names := a.PodClasses
	if len(names) == 0 {
		names = []string{a.PriorityClass}
	}
	var all []int32
	for _, name := range names {
		var value int32
		if class, err := As[schedulingv1.PriorityClass](s[readClass(name)]); err == nil && class != nil && name != "" {
			value = class.Value
		}
		all = append(all, value)
	}
	return slices.Min(all)
}

// MissingPriorityClass returns the answer for an attempt whose PriorityClass does not exist: the API server would refuse its
// pods.
func MissingPriorityClass(a Attempt, s Snapshot) (Admission, bool) {
	if a.PriorityClass == "" || s[readClass(a.PriorityClass)] != nil {
		return Admission{}, false
	}
	return Admission{
		Verdict:    Wait,
		Reason:     ReasonPriorityClassNotFound,
		Message:    fmt.Sprintf("%s: PriorityClass %q does not exist; create it or name another", a.Field(FieldPriorityClass), a.PriorityClass),
		RetryAfter: missingRetry,
	}, true
}

// DecoratePriorityClass sets the attempt's PriorityClass on each role without one. A plugin that calls it must have PodPriorityClass in its ManagedKeys.
func DecoratePriorityClass(a Attempt, d *Decoration) {
	if d.Driver.PriorityClassName == "" {
		d.Driver.PriorityClassName = a.PriorityClass
	}
	if d.Executor.PriorityClassName == "" {
		d.Executor.PriorityClassName = a.PriorityClass
	}
}

// SetIn sets an entry of a map that may not exist yet.
func SetIn(target *map[string]string, key, value string) {
	if *target == nil {
		*target = map[string]string{}
	}
	(*target)[key] = value
}
