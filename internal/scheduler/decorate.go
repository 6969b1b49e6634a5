// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Decoration is laid over the pods of both roles before they are built. A plugin changes labels, annotations and, where a
// role has none, the priority class; the rest is there to be looked at.
type Decoration struct {
	Driver   spark.PodOverlay
	Executor spark.PodOverlay
}

// Decorate returns the application with the plugin's decoration laid over both roles. The application given is not
// changed. It is an error if the plugin sets anything that its Claims do not name.
func Decorate(p Plugin, a Attempt, app spark.Application) (spark.Application, error) {
	decorated, err := call(p, "Decorate", func() (Decoration, error) {
		d := Decoration{Driver: *app.Driver.Overlay.DeepCopy(), Executor: *app.Executor.Overlay.DeepCopy()}
		if err := p.Decorate(a, &d); err != nil {
			return Decoration{}, err
		}
		claims := p.Describe().Claims
		if key, ok := unclaimed(claims, &app.Driver.Overlay, &d.Driver); ok {
			return Decoration{}, fmt.Errorf("it sets %s on the driver, which it does not claim", key)
		}
		if key, ok := unclaimed(claims, &app.Executor.Overlay, &d.Executor); ok {
			return Decoration{}, fmt.Errorf("it sets %s on executors, which it does not claim", key)
		}
		return d, nil
	})
	if err != nil {
		return spark.Application{}, err
	}
	app.Driver.Overlay, app.Executor.Overlay = decorated.Driver, decorated.Executor
	if name := p.Describe().SchedulerName; name != "" {
		app = scheduledBy(app, name)
	}
	return app, nil
}

// scheduledBy makes the scheduler's name win over every other place where one can be named. Executors get it from
// Spark's configuration, which their driver heeds more than the template.
func scheduledBy(app spark.Application, name string) spark.Application {
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

// unclaimed returns something that differs between two overlays without being claimed.
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
		return "something that is neither label, annotation nor priority class", true
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
