// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// sized holds the properties that set the CPU of a role's Spark container.
type sized struct{ role, cores, coreRequest, coreLimit string }

var sizedRoles = []sized{
	{spark.RoleDriver, spark.ConfDriverCores, spark.ConfDriverRequestCores, spark.ConfDriverLimitCores},
	{spark.RoleExecutor, spark.ConfExecutorCores, spark.ConfExecutorRequestCores, spark.ConfExecutorLimitCores},
}

// warnSizes warns of CPU and memory in templates, which Spark overwrites from its configuration. Spark keeps other resources.
func warnSizes(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	var sizes map[string]corev1.ResourceRequirements
	for _, r := range sizedRoles {
		if r.role == spark.RoleDriver && app.Server != nil {
			continue // a server's driver keeps the values of its template
		}
		i, c := spark.RoleContainer(app, r.role)
		if c == nil || len(c.Resources.Requests)+len(c.Resources.Limits) == 0 {
			continue
		}
		if sizes == nil {
			if sizes = spark.Resources(app); sizes == nil {
				return nil // another check refuses it
			}
		}
		at := (spark.Field(r.role) + ".template.spec.containers").Index(i) + ".resources"
		requests := map[corev1.ResourceName]string{corev1.ResourceCPU: r.cpuField(app), corev1.ResourceMemory: r.memoryField(app)}
		limits := map[corev1.ResourceName]string{corev1.ResourceCPU: app.Field(r.coreLimit), corev1.ResourceMemory: r.memoryField(app)}
		counts := sizes[r.role]
		if limit := app.Driver.Overlay.MemoryLimit; limit != nil && r.role == spark.RoleDriver {
			counts.Limits[corev1.ResourceMemory], limits[corev1.ResourceMemory] = *limit, app.Fields.Path("driver.memoryLimit")
		}
		found = append(found, overwritten(at+".requests", c.Resources.Requests, counts.Requests, requests)...)
		found = append(found, overwritten(at+".limits", c.Resources.Limits, counts.Limits, limits)...)
	}
	return found
}

// cpuField returns the field that sets the requested cores of a role.
func (r sized) cpuField(app spark.Application) string {
	if _, set := app.Conf[r.coreRequest]; set {
		return app.Field(r.coreRequest)
	}
	return app.Fields.Path(spark.Field(r.role) + ".cores")
}

func (r sized) memoryField(app spark.Application) string {
	return app.Fields.Path(spark.Field(r.role)+".memory") + ", to which an overhead is added"
}

// overwritten warns of resources in written that differ from counts, the effective ones. fields names the fields to use instead.
func overwritten(at spark.Field, written, counts corev1.ResourceList, fields map[corev1.ResourceName]string) (found []*spark.ConfError) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		asked, is := written[name]
		value, replaced := counts[name]
		if is && replaced && asked.Cmp(value) != 0 {
			found = append(found, &spark.ConfError{
				Field: at + "." + spark.Field(name), Value: asked.String(),
				Problem: "has no effect: Spark's container gets " + value.String() + "; write it to " + fields[name],
			})
		}
	}
	return found
}
