// SPDX-License-Identifier: Apache-2.0

// Package governed is what becomes of an application under the policies of the operator: the operator decides on it, and
// the command line tool says what it would decide. It is pure.
package governed

import (
	"slices"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Attempt returns the model of the attempt that an application is at, with the defaults of the policies, and what is wrong
// with it: the fields whose value means nothing, and what it asks for beyond the limits as long as it has not begun. The
// set has the policies of all namespaces.
func Attempt(o *v1beta2.SparkApplication, rec lifecycle.Record, all policy.Set) (spark.Application, []*spark.ConfError) {
	rules := all.For(o.Namespace)
	app, problems := kubeflow.Normalise(o)
	app = kubeflow.WithRaisedMemory(rules.Apply(app), o, rec.Retries.MemoryRaises)
	if !rec.State.Starting() {
		return app, problems // what runs was checked when it began to
	}
	wishes, _ := kubeflow.Policies(o)
	return app, slices.Concat(problems, rules.Check(app), rules.CheckRetention(o.Namespace, wishes.Retention))
}

// Wish returns what lifecycle.Decide needs to know of the application itself.
func Wish(o *v1beta2.SparkApplication, rec lifecycle.Record, all policy.Set) lifecycle.Application {
	wish := kubeflow.Wish(o, rec)
	wish.Policies.Retention = all.For(o.Namespace).Retention(wish.Policies.Retention)
	return wish
}
