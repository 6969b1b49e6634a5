// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// deniedKeys are Spark properties that would take an application out of its namespace, its rights or the admin's view.
// The value says what to use instead.
var deniedKeys = map[string]string{
	spark.ConfMaster:                 "the operator sets it",
	"spark.kubernetes.driver.master": "use {driver.kubernetesMaster}",
	spark.ConfImage:                  "use {image}",
	spark.ConfDriverImage:            "use {driver.image}",
	spark.ConfExecutorImage:          "use {executor.image}",
	spark.ConfDriverServiceAccount:   "use {driver.serviceAccount}",
	spark.ConfExecutorServiceAccount: "use {executor.serviceAccount}",
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
			found = append(found, &spark.ConfError{Key: key, Problem: fmt.Sprintf("sparkConf key %q is not allowed: %s", key, app.Fields.Text(instead))})
		}
	}
	return found
}
