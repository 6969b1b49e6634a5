// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// MaxObjects bounds the objects of an attempt, not counting its pods: those created before its driver, those that expose it, and the volume claims of its
// driver and of one executor.
const MaxObjects = 100

// checkCount bounds the objects of an attempt: the operator creates them one after another, and its status names them.
func checkCount(app spark.Application, s spark.Submission) []*spark.ConfError {
	exposing := 2 + 2*len(app.Exposure.Ports) + len(app.Exposure.Services) // a Service and an Ingress each; 2 for the UI
	claims := claimsOfExecutor(app)
	volumes := ephemeral(s.Driver) + ephemeral(s.Executor)
	all := len(s.Resources) + exposing + claims + volumes
	if all <= MaxObjects {
		return nil
	}
	field := spark.FieldSparkConf
	switch most := max(exposing, volumes); {
	case most <= len(s.Resources)+claims:
	case most == exposing:
		field = "ports"
	default:
		field = "driver.volumes"
	}
	return []*spark.ConfError{{
		Field: field, Problem: fmt.Sprintf(
			"an attempt would have %d objects: %d for its driver, %d that expose it, %d claims of each executor, %d ephemeral volumes; ask for at most %d together",
			all, len(s.Resources), exposing, claims, volumes, MaxObjects),
	}}
}

// claimsOfExecutor counts the volume claims that Spark makes for each executor.
func claimsOfExecutor(app spark.Application) int {
	const claims, option = spark.ConfExecutorVolumesPrefix + "persistentVolumeClaim.", ".options.storageClass"
	n := 0
	for _, key := range keysUnder(app, claims) {
		if strings.HasSuffix(key, option) {
			n++
		}
	}
	return n
}

// ephemeral counts the volumes for which Kubernetes makes a claim with the pod.
func ephemeral(pod *corev1.Pod) int {
	n := 0
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Ephemeral != nil {
			n++
		}
	}
	return n
}
