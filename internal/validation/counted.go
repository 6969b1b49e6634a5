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
	profile, err := spark.ProfileOf(app)
	if err != nil {
		return nil // another check refuses it
	}
	built, err := spark.Build(app, spark.Identity{}, profile)
	if err != nil {
		return nil
	}
	var found []*spark.ConfError
	for _, r := range []struct {
		field          spark.Field
		asked, counted corev1.ResourceList
	}{{spark.RoleDriver, built.PodSets.Driver.Requests, c.Driver}, {spark.RoleExecutor, built.PodSets.Executor.Requests, c.Executor}} {
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
