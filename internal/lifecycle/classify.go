// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Class says what an answer of the API server means for the application. It is decided here and nowhere else.
type Class string

const (
	// ClassDone : the write happened, or had happened before.
	ClassDone Class = "Done"
	// ClassNameTaken : an object that is not ours has the name.
	ClassNameTaken Class = "NameTaken"
	// ClassQuota : a ResourceQuota has no room; it may have later.
	ClassQuota Class = "Quota"
	// ClassTerminating : the namespace is being deleted.
	ClassTerminating Class = "Terminating"
	// ClassOperatorForbidden : the operator may not make the call; an admin can change that.
	ClassOperatorForbidden Class = "OperatorForbidden"
	// ClassPolicy : an admission plugin, policy or webhook denies the object; what it misses may come.
	ClassPolicy Class = "Policy"
	// ClassRefused : the object is not acceptable, now or later.
	ClassRefused Class = "Refused"
	// ClassTransient : the same call may well succeed in a moment.
	ClassTransient Class = "Transient"
)

// classReasons are the reasons of refusals that do not depend on what was refused.
var classReasons = map[Class]Reason{
	ClassNameTaken: ReasonNameConflict, ClassQuota: ReasonQuotaExceeded,
	ClassTerminating: ReasonNamespaceTerminating, ClassOperatorForbidden: ReasonOperatorForbidden,
}

// Reason is why a write was refused; preset is that of the classes that say no more.
func (c Class) Reason(preset Reason) Reason {
	if reason, ok := classReasons[c]; ok {
		return reason
	}
	return preset
}

// Classify judges the error of a write. nil is Done, and so is the NotFound or the failed UID precondition of a delete,
// which say that the object meant is gone.
func Classify(kind ActionKind, err error) Class {
	switch {
	case err == nil:
		return ClassDone
	case kind == DeleteApplication && apierrors.IsConflict(err):
		return ClassTransient
	case kind == Schedule && (apierrors.IsNotFound(err) || apierrors.IsConflict(err)):
		return ClassTransient // its API was uninstalled a moment ago, or somebody else changed the object
	case kind != Submit && (apierrors.IsNotFound(err) || apierrors.IsConflict(err)):
		return ClassDone
	case apierrors.IsAlreadyExists(err):
		return ClassNameTaken
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return ClassTerminating
	case apierrors.IsForbidden(err):
		return classifyForbidden(err.Error())
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsNotFound(err),
		apierrors.IsRequestEntityTooLargeError(err), apierrors.IsMethodNotSupported(err):
		return ClassRefused
	}
	return ClassTransient
}

// authorizer matches the API server's own refusals of a verb and of an owner reference. An admission webhook may say "cannot" too.
var authorizer = regexp.MustCompile(` is forbidden: (User "[^"]*" cannot [a-z]+ resource "|cannot set blockOwnerDeletion )`)

// classifyForbidden tells the three kinds of 403 apart by the texts of the API server's quota plugin and of its RBAC
// authorizer, which carry no machine-readable cause. Everything else is an admission plugin's or a policy's denial.
func classifyForbidden(text string) Class {
	switch {
	case strings.Contains(text, "exceeded quota"), strings.Contains(text, "failed quota"):
		return ClassQuota
	case authorizer.MatchString(text):
		return ClassOperatorForbidden
	}
	return ClassPolicy
}
