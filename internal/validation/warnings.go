// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// warnings are the checks for settings that are accepted and have no or another effect.
var warnings = []func(spark.Application) []*spark.ConfError{
	func(app spark.Application) []*spark.ConfError { return app.Warnings },
	warnScaling,
	UnknownProperties,
	warnOwned,
	warnSizes,
	warnRelease,
	warnLifecycle,
	warnRestarts,
	warnExposed,
	warnAttached,
	warnCounted,
	warnGroup,
}

// Warnings returns the settings that will be ignored, in the order of the list. None keeps an application from running.
func Warnings(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	for _, list := range warnings {
		found = append(found, list(app)...)
	}
	return found
}

// maxNotes bounds the sentences in a message, since the length of a condition is limited.
const maxNotes = 10

// Notes returns the warnings as one text for users; "" if there are none.
func Notes(app spark.Application) string {
	var sentences []string
	for _, w := range Warnings(app) {
		if len(sentences) == maxNotes {
			sentences = append(sentences, "...")
			break
		}
		sentences = append(sentences, Explain(app, w))
	}
	return strings.Join(sentences, "; ")
}

// warnOwned warns of properties that the operator or Spark's client replaces.
func warnOwned(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	for _, key := range slices.Sorted(maps.Keys(app.OperatorConf)) {
		value, set := app.Conf[key]
		if _, denied := deniedKeys[key]; set && !denied && (key != spark.ConfNamespace || app.Direct != nil) && value != app.OperatorConf[key] {
			found = append(found, &spark.ConfError{Key: key, Value: value, Problem: "has no effect: the operator sets it to " + strconv.Quote(app.OperatorConf[key])})
		}
	}
	if id := app.Conf[spark.ConfAppID]; id != "" && app.Direct == nil {
		found = append(found, &spark.ConfError{Key: spark.ConfAppID, Value: id, Problem: "has no effect: each attempt gets an id of its own"})
	}
	if prefix := app.Conf[spark.ConfExecutorPodNamePrefix]; prefix != "" && app.Server != nil {
		found = append(found, &spark.ConfError{Key: spark.ConfExecutorPodNamePrefix, Value: prefix,
			Problem: "has no effect: the executors of each server pod get a prefix of their own"})
	}
	return found
}

// warnRelease warns about settings that the chosen release of Spark does not yet have, or no longer has.
func warnRelease(app spark.Application) []*spark.ConfError {
	profile, err := spark.ProfileOf(app)
	if err != nil {
		return nil
	}
	var found []*spark.ConfError
	warn := func(key, problem string) {
		found = append(found, &spark.ConfError{Key: key, Problem: problem})
	}
	for _, key := range keysUnder(app, spark.ConfServiceLabelPrefix) {
		if !profile.ServiceLabels {
			warn(key, "has no effect before Spark 3.4")
		}
	}
	if _, set := app.Conf["spark.kubernetes.pyspark.pythonVersion"]; set && !profile.PythonVersionConf {
		warn("spark.kubernetes.pyspark.pythonVersion", "has no effect since Spark 4.1: the image decides")
	}
	for _, key := range keysUnder(app, "spark.kubernetes.") {
		if strings.HasSuffix(key, ".mount.subPathExpr") && !profile.VolumeExtras {
			warn(key, "subPathExpr has no effect before Spark 4.0, which mounts the whole volume; write a subPath")
		}
	}
	if len(app.Executor.Overlay.Ports) > 0 && !profile.ServiceLabels {
		found = append(found, &spark.ConfError{Field: "executor.ports", Problem: "has no effect before Spark 3.4, which replaces the ports of a template"})
	}
	return found
}

// warnLifecycle warns about a hook that Spark overwrites.
func warnLifecycle(app spark.Application) []*spark.ConfError {
	hooks := app.Executor.Overlay.Lifecycle
	if hooks == nil || hooks.PreStop == nil || !strings.EqualFold(app.Conf["spark.decommission.enabled"], "true") {
		return nil
	}
	return []*spark.ConfError{{
		Field:   "executor.lifecycle",
		Problem: "preStop has no effect with spark.decommission.enabled: Spark sets a hook of its own",
	}}
}

// warnRestarts warns of settings that restart Spark's container in its pod. In an attempt, a program runs only once, and the operator retries.
func warnRestarts(app spark.Application) []*spark.ConfError {
	i, c := spark.RoleContainer(app, spark.RoleDriver)
	if c == nil {
		return nil
	}
	const problem = "a driver that is started again in its pod ends its attempt as failed; remove it, and write retries to the application's restart policy"
	at := spark.Field("driver.template.spec.containers").Index(i)
	switch {
	case c.RestartPolicy != nil && *c.RestartPolicy != corev1.ContainerRestartPolicyNever:
		return []*spark.ConfError{{Field: at + ".restartPolicy", Value: string(*c.RestartPolicy), Problem: problem}}
	case len(c.RestartPolicyRules) > 0:
		return []*spark.ConfError{{Field: at + ".restartPolicyRules", Problem: problem}}
	}
	return nil
}

func keysUnder(app spark.Application, prefix string) []string {
	var keys []string
	for key := range app.Conf {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// NeedsIvy warns that the driver needs a writable folder for its packages; nil without packages, or if a folder is set.
func NeedsIvy(app spark.Application) *spark.ConfError {
	if app.Conf[confIvyDirectory] != "" || len(app.Deps.Packages) == 0 && app.Conf[spark.ConfPackages] == "" {
		return nil
	}
	e := &spark.ConfError{
		Key: spark.ConfPackages, Problem: "the driver resolves them into the home of the image's user, which the official images lack; write " +
			confIvyDirectory + ": /tmp/ivy to " + app.Fields.Path(spark.FieldSparkConf),
	}
	if len(app.Deps.Packages) > 0 {
		e.Key, e.Field = "", "deps.packages"
	}
	return e
}

const confIvyDirectory = "spark.jars.ivy"
