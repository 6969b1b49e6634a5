// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// The webhook says what the controller would: a default that it has written into the spec is none of the user's words, so
// that it hides neither a policy's default nor keeps one from binding.
func TestPoliciesOfTheWebhook(t *testing.T) {
	all := policy.Set{
		{Name: "usual", Namespaces: []string{"jobs"}, Defaults: policy.Defaults{Driver: policy.RoleDefaults{Memory: "3g"}}},
		{Name: "small", Namespaces: []string{"jobs"}, Limits: policy.Limits{ForbiddenConf: []string{"spark.secret.*"}}},
	}
	demand := policies(func() *policy.Set { return &all })
	o := &v1beta2.SparkApplication{}
	o.Namespace, o.Name = "jobs", "pi"
	o.Spec.SparkVersion, o.Spec.Image, o.Spec.MainApplicationFile = "4.1.0", new("spark:4.1.0"), new("local:///app/pi.py")
	o.Spec.SparkConf = map[string]string{"spark.secret.door": "open"}
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprintf("defaulted=%v", written), func(t *testing.T) {
			if written {
				kubeflow.Default(o)
			}
			app, _ := kubeflow.Normalise(o)
			app, objections, _ := demand(app, lifecycle.Policies{})
			if got := app.Conf[spark.ConfDriverMemory]; got != "3g" {
				t.Errorf("the driver has %q of memory, want the namespace's default", got)
			}
			if len(objections) != 1 || !strings.Contains(objections[0].Error(), "spark.secret.door") {
				t.Errorf("objections %v, want one to the forbidden property", objections)
			}
			o.Namespace = "elsewhere"
			app, _ = kubeflow.Normalise(o)
			if app, objections, _ := demand(app, lifecycle.Policies{}); len(objections) != 0 || app.Conf[spark.ConfDriverMemory] == "3g" {
				t.Errorf("another namespace is bound: %v", objections)
			}
			o.Namespace = "jobs"
		})
	}
}
