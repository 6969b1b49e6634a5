// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ConfError is a refusal that only the author of the application can lift.
type ConfError struct {
	// Key is the Spark property at fault, "" when the fault is in a field.
	Key string
	// Value is what was given, "" when something is missing.
	Value string
	// Problem says what is wrong and what to write instead, in a lower-case phrase.
	Problem string
	// Field is the field at fault when Key is "". It is never a path: Application.PathOf says what users write.
	Field Field
	// Type is the API machinery's class of the error. "" is Invalid: a value that can never be read or run.
	// Required is something missing that may come later or from elsewhere, NotFound the name of something missing, and NotSupported what
	// another Spark or another operator takes.
	Type field.ErrorType
	// Policy is the operator's policy that refuses, and Limit what it allows; "" if no policy does.
	Policy, Limit string
}

// Error renders the property or field, the value if there is one, and the problem.
func (e *ConfError) Error() string { return e.About(cmp.Or(e.Key, string(e.Field))) }

// About renders the error with the path of the field that the user wrote.
func (e *ConfError) About(subject string) string {
	if e.Value == "" {
		return subject + ": " + e.Problem
	}
	return subject + ": " + strconv.Quote(e.Shown()) + ": " + e.detail()
}

// detail is the problem of a value. A placeholder that is left in the value comes first: it is the likely cause.
func (e *ConfError) detail() string {
	left := Placeholder(e.Value)
	if left == "" || sensitive(e.Key) || e.Policy != "" {
		return e.Problem
	}
	return "the placeholder " + shorten(left) + " is left; replace it; " + e.Problem
}

// of sets the property or the field of an error.
func (e *ConfError) of(key string, name Field) *ConfError {
	e.Key, e.Field = key, name
	return e
}

// Shown is the part of the value that may be shown.
func (e *ConfError) Shown() string {
	if sensitive(e.Key) {
		return "(redacted)"
	}
	return shorten(e.Value)
}

// Invalid converts the error to the API machinery's, with the path of the user's field.
func (e *ConfError) Invalid(subject string) *field.Error {
	var value any = field.OmitValueType{}
	switch {
	case e.Value == "":
	case sensitive(e.Key):
		value = "(redacted)"
	default:
		value = shorten(e.Value)
	}
	return &field.Error{Type: cmp.Or(e.Type, field.ErrorTypeInvalid), Field: field.NewPath(subject).String(), BadValue: value, Detail: e.detail()}
}

// credentialKey is Spark's default of spark.redaction.regex. It also matches the keys of secretReference, whose values
// are not secret: names of Secrets and of their keys, and paths.
var (
	credentialKey   = regexp.MustCompile(`(?i)secret|password|token|access[.]?key`)
	secretReference = regexp.MustCompile(`^spark\.kubernetes\..*(\.secrets\.|\.secretKeyRef\.|\.tokenSecret\.|\.image\.pullSecrets$)`)
)

// sensitive reports whether the value of a property must not be shown: messages end up in statuses, events and logs.
func sensitive(key string) bool {
	return credentialKey.MatchString(key) && !secretReference.MatchString(key)
}

// maxValueShown bounds the length of a value in a message, because messages end up in statuses and events.
const maxValueShown = 120

func shorten(value string) string {
	if len(value) <= maxValueShown {
		return value
	}
	return strings.ToValidUTF8(value[:maxValueShown], "") + "..."
}

// UnsupportedVersionError is the answer to a Spark version that has no Profile.
type UnsupportedVersionError struct {
	Version string
	// Supported are the minors that have a Profile, in order.
	Supported []string
}

// Error names the version and the minors that are supported.
func (e *UnsupportedVersionError) Error() string {
	return fmt.Sprintf("spark version %q is not supported; write one of %s, with or without a patch number",
		e.Version, strings.Join(e.Supported, ", "))
}
