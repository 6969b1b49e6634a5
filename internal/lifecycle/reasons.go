// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Reason explains a state in one word. The list is closed and documented, except for reasons that come from a scheduler (package scheduler).
type Reason = scheduler.Reason

// Reasons of an application that waits for its driver pod.
const (
	// ReasonSuspended : spec.suspend delays or stops the application.
	ReasonSuspended Reason = "Suspended"
	// ReasonManagedByAnother : spec.managedBy names another controller.
	ReasonManagedByAnother Reason = "ManagedByAnother"
	// ReasonNameConflict : an object of another owner has the required name.
	ReasonNameConflict Reason = "NameConflict"
	// ReasonPreviousApplication : an object of a deleted application of the same name still exists.
	ReasonPreviousApplication Reason = "PreviousApplication"
	// ReasonPreviousDriver : the driver pod of an earlier attempt still exists.
	ReasonPreviousDriver Reason = "PreviousDriver"
	// ReasonQuotaExceeded : a ResourceQuota has no room for the driver pod.
	ReasonQuotaExceeded Reason = "QuotaExceeded"
	// ReasonAdmissionRefused : an admission policy or webhook refuses an object.
	ReasonAdmissionRefused Reason = "AdmissionRefused"
	// ReasonNamespaceTerminating : nothing can be created in a namespace that is being deleted.
	ReasonNamespaceTerminating Reason = "NamespaceTerminating"
	// ReasonOperatorForbidden : the operator's own RBAC forbids the request.
	ReasonOperatorForbidden Reason = "OperatorForbidden"
	// ReasonSchedulerObjects : the API server refuses the objects that the batch scheduler needs.
	ReasonSchedulerObjects Reason = "SchedulerObjectsRefused"
	// ReasonBackoff : the next attempt waits for its back-off.
	ReasonBackoff Reason = "Backoff"
	// ReasonRetryRate : the next attempt waits for the hourly limit of retries.
	ReasonRetryRate Reason = "RetryRateLimited"
	// ReasonRerun : the next attempt is being prepared.
	ReasonRerun Reason = "Rerun"
	// ReasonSpecChanged : the spec has changed, and the application runs again with the new spec.
	ReasonSpecChanged Reason = "SpecChanged"
	// ReasonRerunRequested : the user asked for another run, and the spec is the same.
	ReasonRerunRequested Reason = "RerunRequested"
	// ReasonResumed : spec.suspend became false, and the application runs again.
	ReasonResumed Reason = "Resumed"
	// ReasonWoken : a client needs a driver that was stopped as idle; the application runs again.
	ReasonWoken Reason = "Woken"
	// ReasonAwaitingAdoption : the application follows a driver of another client, and that driver has no labels yet.
	ReasonAwaitingAdoption Reason = "AwaitingAdoption"
	// ReasonNotSubmitted : there is no driver yet.
	ReasonNotSubmitted Reason = "NotSubmitted"
)

// Reasons of a driver pod that is not running yet.
const (
	// ReasonDriverPending : the driver pod passes through its normal start.
	ReasonDriverPending Reason = "DriverPending"
	// ReasonUnschedulable : no node has room for the driver pod, or a required volume claim or node does not exist.
	ReasonUnschedulable Reason = "Unschedulable"
	// ReasonSchedulingGated : a scheduling gate delays the driver pod.
	ReasonSchedulingGated Reason = "SchedulingGated"
	// ReasonImagePull : an image cannot be pulled.
	ReasonImagePull Reason = "ImagePullBackOff"
	// ReasonConfigMissing : a container refers to a ConfigMap, a Secret or a key that does not exist.
	ReasonConfigMissing Reason = "CreateContainerConfigError"
	// ReasonVolume : a volume cannot be mounted, e.g. because its ConfigMap, Secret or claim does not exist.
	ReasonVolume Reason = "FailedMount"
	// ReasonContainerStart : the kubelet cannot start a container.
	ReasonContainerStart Reason = "ContainerStartFailed"
)

// Reasons of a run and of its end.
const (
	// ReasonDriverCreated : the driver pod and its objects exist.
	ReasonDriverCreated Reason = "DriverCreated"
	// ReasonDriverRunning : the driver's container is running.
	ReasonDriverRunning Reason = "DriverRunning"
	// ReasonDriverNotReady : the driver's container is running but does not accept clients.
	ReasonDriverNotReady Reason = "DriverNotReady"
	// ReasonDraining : the spec has changed, and the driver's sessions have not ended.
	ReasonDraining Reason = "Draining"
	// ReasonIdle : the driver is stopped because it executed nothing for a while.
	ReasonIdle Reason = "Idle"
	// ReasonDriverStopping : the driver pod is being deleted.
	ReasonDriverStopping Reason = "DriverStopping"
	// ReasonDriverSucceeded : the driver's container ended with exit code 0.
	ReasonDriverSucceeded Reason = "DriverSucceeded"
	// ReasonDriverFailed : the driver's container ended with a non-zero exit code, or its pod failed.
	ReasonDriverFailed Reason = "DriverFailed"
	// ReasonDriverRestarted : the driver's container ended, and the kubelet started it again in its pod.
	ReasonDriverRestarted Reason = "DriverRestarted"
	// ReasonDriverOutOfMemory : the driver's container was killed for its memory use.
	ReasonDriverOutOfMemory Reason = "DriverOutOfMemory"
	// ReasonDriverEvicted : the cluster ended the driver pod (eviction, preemption, node shutdown).
	ReasonDriverEvicted Reason = "DriverEvicted"
	// ReasonDriverNotFound : the driver pod was deleted before its end was observed.
	ReasonDriverNotFound Reason = "DriverNotFound"
	// ReasonNodeLost : the driver pod is being deleted, and its node does not confirm the deletion.
	ReasonNodeLost Reason = "NodeLost"
	// ReasonInvalidSpec : the spec is invalid.
	ReasonInvalidSpec Reason = "InvalidSpec"
	// ReasonSubmissionRefused : the API server refused an object permanently.
	ReasonSubmissionRefused Reason = "SubmissionRefused"
	// ReasonQueueTimeout : the attempt waited longer for its driver than spec.deadlines.queued.
	ReasonQueueTimeout Reason = "QueueTimeout"
	// ReasonSchedulingTimeout : the driver pod was not scheduled within spec.deadlines.driverScheduled.
	ReasonSchedulingTimeout Reason = "DriverSchedulingTimeout"
	// ReasonReadyTimeout : the driver's container did not run within spec.deadlines.driverReady.
	ReasonReadyTimeout Reason = "DriverReadyTimeout"
	// ReasonExecutorsTimeout : no executor ran within spec.deadlines.firstExecutors.
	ReasonExecutorsTimeout Reason = "FirstExecutorsTimeout"
	// ReasonStartTimeout : the driver's container was not ready within its start timeout.
	ReasonStartTimeout Reason = "DriverStartTimeout"
	// ReasonNotReadyTimeout : the driver pod was not ready within its timeout.
	ReasonNotReadyTimeout Reason = "DriverNotReadyTimeout"
	// ReasonRunTimeout : the driver ran longer than spec.deadlines.run.
	ReasonRunTimeout Reason = "RunTimeout"
	// ReasonInProgress : the outcome is not known yet.
	ReasonInProgress Reason = "InProgress"
	// ReasonFinished : the application has finished.
	ReasonFinished Reason = "Finished"
	// ReasonAdmitted : the application may start.
	ReasonAdmitted Reason = "Admitted"
)

// Reasons of the executors as a whole.
const (
	// ReasonExecutorsRunning : all initial executors are running.
	ReasonExecutorsRunning Reason = "ExecutorsRunning"
	// ReasonExecutorsPending : fewer executors run than the application starts with.
	ReasonExecutorsPending Reason = "ExecutorsPending"
	// ReasonExecutorsRefused : the driver runs without executors, and the API server refuses their pods.
	ReasonExecutorsRefused Reason = "ExecutorsRefused"
	// ReasonNoExecutors : the application has no executors now, or needs none.
	ReasonNoExecutors Reason = "NoExecutors"
)

// Reasons of auxiliary objects that cannot be created.
const (
	// ReasonExposureInvalid : the spec or the operator's configuration is invalid.
	ReasonExposureInvalid Reason = "ExposureInvalid"
	// ReasonExposureRefused : the API server refuses an object or does not serve its kind.
	ReasonExposureRefused Reason = "ExposureRefused"
	// ReasonExposureForbidden : an operator policy forbids a requested object.
	ReasonExposureForbidden Reason = "ExposureForbidden"
)

// Class is the meaning of an API server's response for the application. Classify derives it from the error.
type Class string

const (
	// ClassDone : the write succeeded now or earlier.
	ClassDone Class = "Done"
	// ClassNameTaken : an object of another owner has the name.
	ClassNameTaken Class = "NameTaken"
	// ClassLeaving : the object with the name is being deleted, or its owner was a deleted application of the same name.
	ClassLeaving Class = "Leaving"
	// ClassQuota : a ResourceQuota has no room now.
	ClassQuota Class = "Quota"
	// ClassTerminating : the namespace is being deleted.
	ClassTerminating Class = "Terminating"
	// ClassOperatorForbidden : the operator lacks a permission that an administrator can grant.
	ClassOperatorForbidden Class = "OperatorForbidden"
	// ClassPolicy : an admission plugin, policy or webhook denies the object. A later try may succeed.
	ClassPolicy Class = "Policy"
	// ClassRefused : the object is permanently invalid.
	ClassRefused Class = "Refused"
	// ClassTransient : the same call may succeed in a moment.
	ClassTransient Class = "Transient"
)

// classReasons has the classes with one reason for any object.
var classReasons = map[Class]Reason{
	ClassNameTaken: ReasonNameConflict, ClassLeaving: ReasonPreviousApplication, ClassQuota: ReasonQuotaExceeded,
	ClassTerminating: ReasonNamespaceTerminating, ClassOperatorForbidden: ReasonOperatorForbidden,
}

// Reason returns the reason of a refused write. It returns preset for a class without a reason of its own.
func (c Class) Reason(preset Reason) Reason {
	if reason, ok := classReasons[c]; ok {
		return reason
	}
	return preset
}

// Classify classifies the error of a write. nil is Done. So are NotFound and a failed UID precondition of a delete, because the object is already deleted.
func Classify(kind ActionKind, err error) Class {
	switch {
	case err == nil:
		return ClassDone
	case (kind == DeleteApplication || kind == UpdateTemplate || kind == RemoveFinalizer) && apierrors.IsConflict(err):
		return ClassTransient
	case kind == Schedule && (apierrors.IsNotFound(err) || apierrors.IsConflict(err)):
		return ClassTransient // its API was just uninstalled, or another client changed the object
	case kind != Submit && (apierrors.IsNotFound(err) || apierrors.IsConflict(err)):
		return ClassDone
	case apierrors.IsAlreadyExists(err):
		return ClassNameTaken
	case kind == TryExecutor && aboutWebhook(err) != "":
		return aboutWebhook(err)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return ClassTerminating
	case apierrors.IsForbidden(err):
		return classifyForbidden(err.Error())
	case BySpec(err), apierrors.IsBadRequest(err), apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return ClassRefused
	}
	return ClassTransient
}

// aboutWebhook classifies errors of a dry run that come from calling an admission webhook; "" for all others.
func aboutWebhook(err error) Class {
	switch text := err.Error(); {
	case apierrors.IsInternalError(err) && strings.Contains(text, failedWebhook):
		return ClassPolicy // the webhook fails for a driver's pods, too
	case noDryRun.MatchString(text):
		return ClassDone // the webhook's answer to the driver is unknown
	}
	return ""
}

// BySpec reports whether the API server refuses an object because its content is invalid or too large. The same object would be refused again.
func BySpec(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsInternalError(err) && tooLarge.MatchString(err.Error())
}

// tooLarge matches the message of etcd or its client about an object that exceeds etcd's own limit. The API server returns it as an internal error
// (k8s.io/apiserver, endpoints/handlers: isTooLargeError).
var tooLarge = regexp.MustCompile(`request is too large|trying to send message larger than max`)

// failedWebhook is in the API server's message about an admission webhook that does not answer. noDryRun matches the message about a webhook without support
// for dry runs (k8s.io/apiserver, pkg/admission/plugin/webhook).
const failedWebhook = "failed calling webhook"

var noDryRun = regexp.MustCompile(`^admission webhook "[^"]*" does not support dry run`)

// authorizer matches the API server's refusals of a verb and of an owner reference. It matches more than "cannot", which an admission webhook may also say.
var authorizer = regexp.MustCompile(` is forbidden: (User "[^"]*" cannot [a-z]+ resource "|cannot set blockOwnerDeletion )`)

// classifyForbidden distinguishes three kinds of 403. The quota plugin and the RBAC authorizer are recognized by their messages, because they have no
// machine-readable cause. Any other 403 comes from an admission plugin or a policy.
func classifyForbidden(text string) Class {
	switch {
	case strings.Contains(text, "exceeded quota"), strings.Contains(text, "failed quota"):
		return ClassQuota
	case authorizer.MatchString(text):
		return ClassOperatorForbidden
	}
	return ClassPolicy
}
