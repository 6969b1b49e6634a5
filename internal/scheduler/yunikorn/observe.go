// SPDX-License-Identifier: Apache-2.0

package yunikorn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/yunikorn-k8shim/pkg/common/constants"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// eventFailed is the reason of YuniKorn's event about an application that it failed. The event's text has more detail than the pod.
const eventFailed = "ApplicationFailed"

// ObserveReads returns the read of the events about a driver that YuniKorn failed. If a pod of the attempt waits, it returns the read of the events about the
// namespace's pods.
func (Plugin) ObserveReads(a scheduler.Attempt, f scheduler.PodStatuses) []scheduler.Read {
	switch {
	case givenUp(f.Driver):
		return []scheduler.Read{driverEvents(a, f.Driver)}
	case f.Driver.Waits(), slices.ContainsFunc(f.Executors, func(e scheduler.PodStatus) bool { return e.Waits() }):
		return []scheduler.Read{podEvents(a)}
	}
	return nil
}

func driverEvents(a scheduler.Attempt, driver *scheduler.PodStatus) scheduler.Read {
	return scheduler.Read{
		GroupVersionKind: eventKind, Namespace: a.App.Namespace,
		Fields: "involvedObject.kind=Pod,involvedObject.name=" + driver.Name,
	}
}

// Observe detects refusals first, because YuniKorn fails the pods of a refused application, which looks like a failure of Spark. A deleted or missing driver
// counts as evicted, because YuniKorn does not mark evicted pods.
func (Plugin) Observe(a scheduler.Attempt, s scheduler.Snapshot, f scheduler.PodStatuses) (scheduler.Observation, error) {
	if givenUp(f.Driver) {
		return refused(a, f.Driver, s.List(driverEvents(a, f.Driver))), nil
	}
	o := scheduler.Pods(a, f)
	if o.Stage == scheduler.StageQueued {
		return waiting(a, o, s, f), nil
	}
	if o.Stage == scheduler.StageShort {
		return short(a, s, f), nil
	}
	if o.Stage == scheduler.StageGone {
		o.Eviction = &scheduler.Eviction{Reason: scheduler.ReasonPreempted}
		o.Message += "; YuniKorn does not report whether it was preempted"
	}
	return o, nil
}

// givenUp reports whether YuniKorn failed the driver: it failed before any container started, with one of YuniKorn's two reasons.
func givenUp(driver *scheduler.PodStatus) bool {
	return driver != nil && driver.Phase == corev1.PodFailed && !driver.Started &&
		(driver.Reason == constants.ApplicationRejectedFailure || driver.Reason == constants.ApplicationInsufficientResourcesFailure)
}

// refused classifies a driver that YuniKorn failed. A gang that found no room in time may find room later; any other refusal is permanent.
func refused(a scheduler.Attempt, driver *scheduler.PodStatus, events []*unstructured.Unstructured) scheduler.Observation {
	if driver.Reason == constants.ApplicationInsufficientResourcesFailure {
		return scheduler.Observation{
			Stage: scheduler.StageEvicted, Reason: scheduler.ReasonPodsReadyTimeout,
			Message:  "YuniKorn did not find capacity for the whole gang in time: " + strings.TrimSpace(driver.Message),
			Eviction: &scheduler.Eviction{Reason: scheduler.ReasonPodsReadyTimeout, By: "YuniKorn"},
		}
	}
	why := strings.TrimSpace(driver.Message)
	for _, event := range events {
		if reason, _, _ := unstructured.NestedString(event.Object, "reason"); reason == eventFailed {
			if text, _, _ := unstructured.NestedString(event.Object, "message"); text != "" {
				why = text
			}
		}
	}
	return scheduler.Observation{
		Stage: scheduler.StageRefused, Reason: scheduler.ReasonSchedulerRefused,
		Message: fmt.Sprintf("YuniKorn refused the %s; check that the queue exists, accepts applications and admits the user: %s",
			a.Word(spark.WordApplication), why),
	}
}
