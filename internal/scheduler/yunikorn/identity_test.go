// SPDX-License-Identifier: Apache-2.0

package yunikorn

import (
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// YuniKorn's admission controller refuses a pod that names a user, unless its creator may (finding 1 of the review of the schedulers). So only pods of the
// operator and of Kubernetes' controllers name one.
func TestUserIsOnPodsOfTheOperator(t *testing.T) {
	const key = "yunikorn.apache.org/user.info"
	ann := scheduler.User{Name: "ann", Groups: []string{"dev"}}
	cases := map[string]struct {
		reason           string
		user             scheduler.User
		controllers      bool
		parameters       string
		driver, executor string
	}{
		"Application": {reason: "the driver's account creates the executors, and YuniKorn reads the first pod", user: ann, driver: `{"user":"ann","groups":["dev"]}`},
		"NoGang":      {reason: "the gang has no part in it", user: ann, parameters: `{"gangSchedulingStyle":"None"}`, driver: `{"user":"ann","groups":["dev"]}`},
		"NoGroups":    {reason: "a user without groups", user: scheduler.User{Name: "ann"}, driver: `{"user":"ann"}`},
		"Cluster": {
			reason: "a worker may be the first pod, and the StatefulSet controller creates it", user: ann, controllers: true,
			driver: `{"user":"ann","groups":["dev"]}`, executor: `{"user":"ann","groups":["dev"]}`,
		},
		"Unrecorded":        {reason: "nobody is known"},
		"UnrecordedCluster": {reason: "nobody is known", controllers: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt(tc.parameters)
			a.User, a.PodSets.ByControllers = tc.user, tc.controllers
			got, err := scheduler.Decorate(Plugin{}, a, spark.Application{})
			if err != nil {
				t.Fatal(err)
			}
			if driver, executor := got.Driver.Overlay.Annotations[key], got.Executor.Overlay.Annotations[key]; driver != tc.driver || executor != tc.executor {
				t.Errorf("%s: the driver has %q, want %q; executors have %q, want %q", tc.reason, driver, tc.driver, executor, tc.executor)
			}
		})
	}
}

// The controller refuses executors on which the application names even the right user.
func TestWarnsOfUserOnExecutors(t *testing.T) {
	const text = `{"user":"ann"}`
	for name, tc := range map[string]struct {
		reason           string
		driver, executor string
		controllers      bool
		warns            bool
	}{
		"Executor": {reason: "the driver's account creates it", executor: text, warns: true},
		"Driver":   {reason: "the operator creates it", driver: text},
		"Worker":   {reason: "a trusted account creates it", executor: text, controllers: true},
	} {
		a := attempt("")
		a.User, a.PodSets.ByControllers = scheduler.User{Name: "ann"}, tc.controllers
		for value, target := range map[string]*spark.PodAttributes{tc.driver: &a.PodSets.DriverAttributes, tc.executor: &a.PodSets.ExecutorAttributes} {
			if value != "" {
				target.Annotations = map[string]string{"yunikorn.apache.org/user.info": value}
			}
		}
		got, err := scheduler.AdmitAttempt(Plugin{}, a, scheduler.Snapshot{})
		if err != nil || got.Verdict != scheduler.Admit || strings.Contains(got.Warning, "the executor pod has the annotation yunikorn.apache.org/user.info") != tc.warns {
			t.Errorf("%s: %s: %+v, %v; want a warning: %t", name, tc.reason, got, err, tc.warns)
		}
	}
}

// YuniKorn takes the queue, the user and the gang of an application from its first pod, and finds the application by its id in all namespaces
// (core review, 11). So each key that it reads names the attempt.
func TestOtherApplication(t *testing.T) {
	labels := func(key, value string) spark.PodAttributes {
		return spark.PodAttributes{Labels: map[string]string{key: value}}
	}
	annotations := func(key, value string) spark.PodAttributes {
		return spark.PodAttributes{Annotations: map[string]string{key: value}}
	}
	const key = "yunikorn.apache.org/app-id"
	cases := map[string]struct {
		reason string
		pod    spark.PodAttributes
		want   scheduler.PodKey
	}{
		"Nothing":    {reason: "the plugin names the attempt"},
		"Attempt":    {reason: "the plugin's own id", pod: labels(key, attempt("").ID)},
		"Spark":      {reason: "Spark's id of the attempt", pod: annotations(key, "spark-1")},
		"Selector":   {reason: "Spark's own label", pod: labels("spark-app-selector", "spark-1")},
		"Label":      {reason: "read first", pod: labels(key, "theirs"), want: scheduler.PodKey{Part: scheduler.PodLabel, Key: key}},
		"Annotation": {reason: "read second", pod: annotations(key, "theirs"), want: scheduler.PodKey{Part: scheduler.PodAnnotation, Key: key}},
		"Old":        {reason: "read third", pod: labels("applicationId", "theirs"), want: scheduler.PodKey{Part: scheduler.PodLabel, Key: "applicationId"}},
		"Last":       {reason: "read last", pod: labels("spark-app-selector", "theirs"), want: scheduler.PodKey{Part: scheduler.PodLabel, Key: "spark-app-selector"}},
		"Empty":      {reason: "YuniKorn puts the pod into an application of the whole namespace", pod: labels(key, ""), want: scheduler.PodKey{Part: scheduler.PodLabel, Key: key}},
		"Unfilled":   {reason: "Spark fills it in for properties, not in templates: two tenants with it are one application", pod: annotations(key, "{{APP_ID}}"), want: scheduler.PodKey{Part: scheduler.PodAnnotation, Key: key}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt("")
			a.SparkID = "spark-1"
			got, found := Plugin{}.OtherApplication(tc.pod, a)
			if got != tc.want || found != (tc.want != scheduler.PodKey{}) {
				t.Errorf("%s: %v, %t; want %v", tc.reason, got, found, tc.want)
			}
		})
	}
}
