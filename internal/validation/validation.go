// SPDX-License-Identifier: Apache-2.0

// Package validation checks an application without access to the cluster, with one list of pure checks. Each error names the field, the value and a correct
// value.
//
// Only an application that would fail anyway, or exceed a tenant's rights, is refused. A setting that only has no effect causes a warning.
package validation

import (
	"errors"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// checks are all checks on an application alone, in order. Each returns its errors.
var checks = []func(spark.Application) []*spark.ConfError{
	checkVersion,
	checkDeniedKeys,
	checkSizes,
	checkScaling,
	checkDriverName,
	checkExecutorPrefix,
	checkNames,
	checkServerImages,
	checkServices,
	spark.FileErrors,
}

// Check returns all errors in the application and in the objects built from it, in the order of the checks. After an error about a field, later errors about it
// are dropped. failed is the builders' error.
func Check(app spark.Application, built spark.Submission, failed error) []*spark.ConfError {
	var found []*spark.ConfError
	said := map[string]bool{} // paths and whole sentences
	add := func(more []*spark.ConfError) {
		var fresh []*spark.ConfError
		for _, f := range more {
			sentence := f.About(app.PathOf(f))
			if !said[app.PathOf(f)] && !said[sentence] {
				fresh = append(fresh, f)
			}
			said[sentence] = true
		}
		for _, f := range fresh {
			said[app.PathOf(f)] = true
		}
		found = append(found, fresh...)
	}
	for _, check := range checks {
		add(check(app))
	}
	add(checkBuilt(app, built, failed, found))
	return found
}

// ErrorList converts problems of an application to errors about the fields of the user's object.
func ErrorList(app spark.Application, problems []*spark.ConfError) field.ErrorList {
	list := make(field.ErrorList, 0, len(problems))
	for _, p := range problems {
		list = append(list, p.Invalid(app.PathOf(p)))
	}
	return list
}

// Later reports whether an error may disappear before the application starts (something is missing), or is a limit of this operator only (another Spark or
// operator accepts it). Admission warns of such errors. It refuses all others: such an application could never run.
func Later(e *field.Error) bool {
	return e.Type == field.ErrorTypeRequired || e.Type == field.ErrorTypeNotFound || e.Type == field.ErrorTypeNotSupported
}

// Sentences renders errors as text: the field, its value in quotes if there is one, and the problem.
func Sentences(list field.ErrorList) []string {
	all := make([]string, 0, len(list))
	for _, e := range list {
		all = append(all, Sentence(e))
	}
	return all
}

// Sentence renders one error as text.
func Sentence(e *field.Error) string {
	if e.Field == "" {
		return Problem(e)
	}
	return e.Field + ": " + Problem(e)
}

// Problem renders one error as text, without its field.
func Problem(e *field.Error) string {
	if value, ok := e.BadValue.(string); ok {
		return strconv.Quote(value) + ": " + e.Detail
	}
	return e.Detail
}

// Explain renders an error for users, with the field of the user's object that set the value.
func Explain(app spark.Application, err error) string {
	var c *spark.ConfError
	if !errors.As(err, &c) {
		return err.Error()
	}
	return c.About(app.PathOf(c))
}

// checkServerImages refuses a server if a role has no image. Clients of the Spark Connect operator's API expect that the write is refused.
func checkServerImages(app spark.Application) []*spark.ConfError {
	if app.Server == nil || app.Conf[spark.ConfImage] != "" {
		return nil
	}
	for _, r := range []struct{ key, who string }{{spark.ConfDriverImage, "the server has"}, {spark.ConfExecutorImage, "the executors have"}} {
		if app.Conf[r.key] == "" {
			return []*spark.ConfError{{Key: spark.ConfImage, Problem: r.who + " no image; write one here, or in both templates"}}
		}
	}
	return nil
}
