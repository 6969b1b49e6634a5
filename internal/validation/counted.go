// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// CheckCounted refuses an application that may run more executors than another program's quota counts.
func CheckCounted(app spark.Application, built spark.Submission) []*spark.ConfError {
	c, most := app.Counted, built.PodSets.Max
	if c == nil || most <= c.Executors {
		return nil
	}
	read := spark.NewReader(app, built)
	e := &spark.ConfError{Key: read.ExecutorsKey(most)}
	counted := app.Fields.Path(c.ExecutorsField)
	if app.PathOf(e) == counted { // the preset of the counted field: it is not written
		e.Type = field.ErrorTypeRequired
		e.Problem = fmt.Sprintf("missing: %d would run, and %s counts %d (%s); write %[1]d", most, c.By, c.Executors, c.Why)
		return []*spark.ConfError{e}
	}
	runs := fmt.Sprintf("up to %d executors", most)
	if most == math.MaxInt32 {
		runs = "any number of executors"
	}
	e.Value = read.Text(e.Key)
	e.Problem = fmt.Sprintf("%s may run, and %s counts %d, from %s (%s); use a fixed number of executors, and write it to %[4]s",
		runs, c.By, c.Executors, counted, c.Why)
	return []*spark.ConfError{e}
}

// warnCounted warns of pods that request more than another program's quota counts of them.
func warnCounted(app spark.Application) []*spark.ConfError {
	c := app.Counted
	if c == nil {
		return nil
	}
	sets, ok := podSets(app)
	if !ok {
		return nil // another check refuses it
	}
	var found []*spark.ConfError
	for _, r := range []struct {
		field          spark.Field
		asked, counted corev1.ResourceList
	}{{spark.RoleDriver, sets.Driver.Requests, c.Driver}, {spark.RoleExecutor, sets.Executor.Requests, c.Executor}} {
		if asks, counts := beyond(r.asked, r.counted); asks != "" {
			found = append(found, &spark.ConfError{Field: r.field, Problem: fmt.Sprintf(
				"a pod requests %s, and %s counts %s (%s); it reads %s and nothing else", asks, c.By, counts, c.Why, c.SizeFields)})
		}
	}
	return found
}

// beyond returns the resources of which more is asked than counted, as texts; "" if there are none.
func beyond(asked, counted corev1.ResourceList) (asks, counts string) {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		more, less := asked[name], counted[name]
		if more.Cmp(less) <= 0 {
			continue
		}
		if asks != "" {
			asks, counts = asks+" and ", counts+" and "
		}
		asks, counts = asks+string(name)+" "+more.String(), counts+string(name)+" "+less.String()
	}
	return asks, counts
}

// podSets returns the sizes of the pods; ok is false for an application that cannot be built.
func podSets(app spark.Application) (sets spark.PodSets, ok bool) {
	profile, err := spark.ProfileOf(app)
	if err != nil {
		return spark.PodSets{}, false
	}
	built, err := spark.Build(app, spark.Identity{}, profile)
	return built.PodSets, err == nil
}

// warnGroup warns of a request for the whole application that differs from that of its pods: less would let it pass others in its queue, and more keeps room
// of the queue idle.
func warnGroup(app spark.Application) []*spark.ConfError {
	asked := app.Scheduling.Resources
	if len(asked) == 0 {
		return nil
	}
	sets, ok := podSets(app)
	if !ok {
		return nil
	}
	total := sets.Requests(sets.Initial)
	var found []*spark.ConfError
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		quantity, own := asked[name], total[name]
		problem := ""
		switch c := quantity.Cmp(own); {
		case c < 0:
			problem = fmt.Sprintf("is less than the pods request: %s is asked for", own.String())
		case c > 0 && slices.Contains(app.Scheduling.Reservable, name):
			problem = fmt.Sprintf("is more than the pods request, %s: the scheduler keeps the rest idle", own.String())
		case c > 0:
			problem = fmt.Sprintf("is more than the pods request: %s is asked for, unless a policy of the operator allows more (limits.group)", own.String())
		default:
			continue
		}
		found = append(found, &spark.ConfError{Field: spark.FieldGroupResources.Key(string(name)), Value: quantity.String(), Problem: problem})
	}
	return found
}
