// SPDX-License-Identifier: Apache-2.0

package sparksubmit

import (
	"maps"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// dropped maps properties that must not be in a manifest to the reasons.
var dropped = map[string]string{
	spark.ConfAppID:                                "every attempt gets its own id, as with spark-submit",
	spark.ConfDriverHost:                           "the driver is reached through its Service, as with spark-submit",
	"spark.kubernetes.authenticate.oauthToken":     ownConnection,
	"spark.kubernetes.authenticate.oauthTokenFile": ownConnection,
	"spark.kubernetes.authenticate.caCertFile":     ownConnection,
	"spark.kubernetes.authenticate.clientKeyFile":  ownConnection,
	"spark.kubernetes.authenticate.clientCertFile": ownConnection,
}

const ownConnection = "dropped: only the submitting machine's connection to the API server uses it"

// submissionPrefix begins the properties for the connection that spark-submit itself uses.
const submissionPrefix = "spark.kubernetes.authenticate.submission."

const confWait = "spark.kubernetes.submission.waitAppCompletion"

// withoutEffect are properties that only spark-submit reads. They stay, because the driver has them, too.
var withoutEffect = []string{
	"spark.kubernetes.report.interval", "spark.kubernetes.context", "spark.kubernetes.appKillPodDeletionGracePeriod",
	"spark.kubernetes.submission.connectionTimeout", "spark.kubernetes.submission.requestTimeout", spark.ConfUploadPath,
	"spark.submit.proxyUser.allowCustomClasspathInClusterMode",
}

// submissionOnly handles properties of the spark-submit process.
func (c *converter) submissionOnly() {
	for _, key := range slices.Sorted(maps.Keys(c.conf)) {
		if reason, ok := dropped[key]; ok {
			delete(c.conf, key)
			c.note(key, "%s", reason)
		} else if strings.HasPrefix(key, submissionPrefix) {
			delete(c.conf, key)
			c.note(key, ownConnection)
		} else if ownedLabel(key) {
			delete(c.conf, key)
			c.lost(key, "dropped: the operator sets this label")
		}
	}
	if wait, ok := c.take(confWait); ok && strings.EqualFold(wait, "true") {
		c.note(confWait, "the operator does not wait; use kubectl wait --for=condition=Succeeded sparkapplications.sparkoperator.k8s.io/%s", c.app.Name)
	}
	for _, key := range withoutEffect {
		if _, ok := c.conf[key]; ok {
			c.note(key, "ignored: only a spark-submit process reads it")
		}
	}
	if user, ok := c.machine.Env["SPARK_USER"]; ok {
		other := "use --proxy-user"
		if c.running {
			other = "write spec.proxyUser"
		}
		c.lost("SPARK_USER", "%q: the driver gets the operator's SPARK_USER; to run as another user %s", user, other)
	}
}

// ownedLabel reports whether a property sets a label that the operator uses to find its pods.
func ownedLabel(key string) bool {
	for _, prefix := range []string{spark.ConfDriverLabelPrefix, spark.ConfExecutorLabelPrefix} {
		switch label, ok := strings.CutPrefix(key, prefix); {
		case !ok:
		case label == v1beta2.LabelAppName, label == v1beta2.LabelLaunchedBy, label == v1beta2.LabelSubmissionID:
			return true
		}
	}
	return false
}

// interpreters converts the variables for Python and for scratch directories to properties.
func (c *converter) interpreters() {
	if dirs, ok := c.machine.Env[variableLocalDirs]; ok {
		c.conf[confLocalDirs] = dirs
		c.note(variableLocalDirs, "becomes the property %s", confLocalDirs)
	}
	if typeOf(c.command.Resource) != v1beta2.ApplicationTypePython {
		return
	}
	const both, driver = "spark.pyspark.python", "spark.pyspark.driver.python"
	_, hasBoth := c.conf[both]
	_, hasDriver := c.conf[driver]
	if value, ok := c.machine.Env["PYSPARK_DRIVER_PYTHON"]; ok && !hasBoth && !hasDriver {
		c.conf[driver] = value
		c.note("PYSPARK_DRIVER_PYTHON", "becomes the property %s", driver)
	}
	if value, ok := c.machine.Env["PYSPARK_PYTHON"]; ok && !hasBoth {
		c.conf[both] = value
		c.note("PYSPARK_PYTHON", "becomes the property %s", both)
	}
}
