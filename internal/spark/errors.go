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

// ConfError is an error that the author of the application has to correct.
type ConfError struct {
	// Key is the invalid Spark property; "" if the error is in a field.
	Key string
	// Value is the invalid value; "" if a value is missing.
	Value string
	// Problem is a lower-case phrase that says what is wrong and what to write instead.
	Problem string
	// Field is the invalid field if Key is "". Application.PathOf converts it to the path that users write.
	Field Field
	// Type is the API machinery's class of the error. "" means Invalid: a value that can never be read or run. Required is for a missing value that may come
	// later or from elsewhere. NotFound is for the name of a missing object. NotSupported is for a value that another Spark or another operator accepts.
	Type field.ErrorType
	// Policy is the operator's policy that refuses the value, and Limit its limit; "" if no policy does.
	Policy, Limit string
}

// Error returns the property or field, the value if there is one, and the problem.
func (e *ConfError) Error() string { return e.About(cmp.Or(e.Key, string(e.Field))) }

// About returns the error with the given path in place of the field.
func (e *ConfError) About(subject string) string {
	if e.Value == "" {
		return subject + ": " + e.Problem
	}
	return subject + ": " + strconv.Quote(e.Shown()) + ": " + e.detail()
}

// detail returns the problem of a value. It begins with a placeholder that is left in the value, because that is the likely cause.
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

// Shown returns the part of the value that may be shown.
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

// credentialKey is Spark's default of spark.redaction.regex. It also matches the keys in secretReference, whose values are not secret: names of Secrets and of
// their keys, and paths.
var (
	credentialKey   = regexp.MustCompile(`(?i)secret|password|token|access[.]?key`)
	secretReference = regexp.MustCompile(`^spark\.kubernetes\..*(\.secrets\.|\.secretKeyRef\.|\.tokenSecret\.|\.image\.pullSecrets$)`)
)

// sensitive reports whether the value of a property must not be shown. Messages appear in statuses, events and logs.
func sensitive(key string) bool {
	return credentialKey.MatchString(key) && !secretReference.MatchString(key)
}

// maxValueShown bounds a value in a message, in bytes. Messages appear in statuses and events.
const maxValueShown = 120

func shorten(value string) string {
	if len(value) <= maxValueShown {
		return value
	}
	return strings.ToValidUTF8(value[:maxValueShown], "") + "..."
}

// UnsupportedVersionError is the error for a Spark version without a Profile.
type UnsupportedVersionError struct {
	Version string
	// Supported are the minor versions with a Profile, in order.
	Supported []string
}

// Error names the version and the supported minor versions.
func (e *UnsupportedVersionError) Error() string {
	return fmt.Sprintf("spark version %q is not supported; write one of %s, with or without a patch number",
		e.Version, strings.Join(e.Supported, ", "))
}
