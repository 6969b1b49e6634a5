// SPDX-License-Identifier: Apache-2.0

// Package validation holds what can be said about an application without looking at the cluster: one list of pure
// checks. Each answer names the field, the value and what would be right.
//
// Only what would fail anyway, or what a tenant may not do, is refused. What merely has no effect is a warning.
package validation

import (
	"cmp"
	"errors"
	"slices"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// checks is the list. Each returns what it objects to.
var checks = []func(spark.Application) []*spark.ConfError{
	checkVersion,
	checkDeniedKeys,
	checkHeap,
	checkSizes,
	checkFactors,
	checkQuantities,
	checkScaling,
	checkDriverName,
	checkNames,
	checkBuilt,
}

// Check returns everything that is wrong with the application, in the order of the checks. Of a field that one
// check objects to the later ones say nothing.
func Check(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	for _, check := range checks {
		said := map[string]bool{}
		for _, f := range found {
			said[FieldOf(app, f)] = true
		}
		for _, f := range check(app) {
			if !said[FieldOf(app, f)] {
				found = append(found, f)
			}
		}
	}
	return found
}

// Report returns the problems of a conversion and everything that is wrong beside them. Of a spec that could not be
// decoded there is nothing else to say.
func Report(app spark.Application, problems []*spark.ConfError) []*spark.ConfError {
	if slices.ContainsFunc(problems, func(p *spark.ConfError) bool { return p.Field == "spec" }) {
		return problems
	}
	return slices.Concat(problems, Check(app))
}

// missing are the fields to write where a property is not set.
var missing = map[string]string{spark.ConfImage: "spec.image"}

// Explain renders an error for people: with the field of the user's object where the value came from.
func Explain(app spark.Application, err error) string {
	var c *spark.ConfError
	if !errors.As(err, &c) {
		return err.Error()
	}
	return c.About(FieldOf(app, c))
}

// FieldOf is the field of the user's object that an error is about.
func FieldOf(app spark.Application, c *spark.ConfError) string {
	if c.Key == "" {
		return cmp.Or(app.Origins[c.Field], c.Field)
	}
	if typed, ok := missing[c.Key]; ok && app.Conf[c.Key] == "" {
		return typed
	}
	return app.Field(c.Key)
}
