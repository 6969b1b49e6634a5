/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package validation holds what can be said about an application without looking at the cluster: one list of pure
// checks. Each answer names the field, the value and what would be right.
package validation

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// checks is the list. Each returns what it objects to.
var checks = []func(spark.Application) []*spark.ConfError{
	checkVersion,
	checkDeniedKeys,
	checkHeap,
	checkQuantities,
	checkDriverName,
}

// Check returns everything that is wrong with the application, in the order of the checks.
func Check(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	for _, check := range checks {
		found = append(found, check(app)...)
	}
	return found
}

// Explain renders an error for people: with the field of the user's object where the value came from.
func Explain(app spark.Application, err error) string {
	var c *spark.ConfError
	if !errors.As(err, &c) {
		return err.Error()
	}
	field := c.Field
	if c.Key != "" {
		field = app.Field(c.Key)
	} else if origin, ok := app.Origins[c.Field]; ok {
		field = origin
	}
	return c.About(field)
}

func checkVersion(app spark.Application) []*spark.ConfError {
	if _, err := spark.ProfileFor(app.SparkVersion); err != nil {
		return []*spark.ConfError{{
			Field: "SparkVersion", Value: app.SparkVersion,
			Problem: "not a supported Spark version; supported: " + strings.Join(spark.SupportedVersions(), ", "),
		}}
	}
	return nil
}

// deniedKeys are Spark properties that would take an application out of its namespace, its rights or the admin's view.
// The value says what to use instead.
var deniedKeys = map[string]string{
	spark.ConfMaster:                 "the operator sets it",
	"spark.kubernetes.driver.master": "use spec.driver.kubernetesMaster",
	spark.ConfImage:                  "use spec.image",
	spark.ConfDriverImage:            "use spec.driver.image",
	spark.ConfExecutorImage:          "use spec.executor.image",
	spark.ConfDriverServiceAccount:   "use spec.driver.serviceAccount",
	spark.ConfExecutorServiceAccount: "use spec.executor.serviceAccount",
}

// deniedToken matches properties that carry a credential for the API server.
var deniedToken = regexp.MustCompile(`^spark\.kubernetes\.authenticate\.(submission\.|driver\.|executor\.)?oauthToken(File)?$`)

// checkDeniedKeys looks at what stands in sparkConf itself: the same property from a typed field is fine.
func checkDeniedKeys(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	for _, key := range slices.Sorted(maps.Keys(app.Conf)) {
		if _, typed := app.Origins[key]; typed {
			continue
		}
		instead, denied := deniedKeys[key]
		if !denied && deniedToken.MatchString(key) {
			instead, denied = "a pod uses its service account", true
		}
		if key == spark.ConfNamespace && app.Conf[key] != app.Namespace {
			instead, denied = "an application runs in its own namespace", true
		}
		if denied {
			found = append(found, &spark.ConfError{Key: key, Problem: fmt.Sprintf("sparkConf key %q is not allowed: %s", key, instead)})
		}
	}
	return found
}

// heap is what a JVM takes after -Xmx. Spark itself reads more ("2gb", "2048", "2g "), but the driver's launcher hands
// spark.driver.memory to the JVM as it stands, which then does not start.
var heap = regexp.MustCompile(`^[0-9]+[kKmMgGtT]$`)

func checkHeap(app spark.Application) []*spark.ConfError {
	value, set := app.Conf[spark.ConfDriverMemory]
	if !set || heap.MatchString(value) {
		return nil
	}
	return []*spark.ConfError{{
		Key: spark.ConfDriverMemory, Value: value,
		Problem: `not a heap size that a JVM takes; write a whole number and one of k, m, g, t, such as "512m" or "2g"`,
	}}
}

// quantityKeys are Spark properties that Kubernetes reads as quantities.
var quantityKeys = []string{
	spark.ConfDriverRequestCores, spark.ConfDriverLimitCores, spark.ConfExecutorRequestCores, spark.ConfExecutorLimitCores,
}

func checkQuantities(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	for _, key := range quantityKeys {
		value, set := app.Conf[key]
		if !set {
			continue
		}
		if q, err := resource.ParseQuantity(value); err != nil || q.Sign() <= 0 {
			found = append(found, &spark.ConfError{
				Key: key, Value: value,
				Problem: `not a number of cores; write a positive Kubernetes quantity such as "500m" or "2"`,
			})
		}
	}
	return found
}

func checkDriverName(app spark.Application) []*spark.ConfError {
	name := app.OperatorConf[spark.ConfDriverPodName]
	if problems := utilvalidation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return []*spark.ConfError{{
			Field: "DriverName", Value: name,
			Problem: "not a pod name; write lower-case letters, digits, '-' and '.', such as \"my-job-driver\"",
		}}
	}
	return nil
}
