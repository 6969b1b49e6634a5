// SPDX-License-Identifier: Apache-2.0

package v1beta2

import "github.com/firesteel-dev/firesteel/api/lenient"

// UnmarshalJSON accepts an application whose spec cannot be decoded. The schema leaves parts of the spec open (pod templates), so the API server may store text
// in place of a list. One such object would make the decoding of a whole typed list fail. It is decoded without its spec, and MalformedSpec has the reason.
// UnknownFields lists unknown fields of the open parts.
func (in *SparkApplication) UnmarshalJSON(data []byte) error {
	type plain SparkApplication
	var rest struct {
		plain
		Spec struct {
			ManagedBy *string `json:"managedBy"` // another controller's application stays that controller's, even if it is malformed
		} `json:"spec"`
	}
	malformed, unknown, err := lenient.Unmarshal(data, (*plain)(in), &rest)
	if malformed != "" {
		*in = SparkApplication(rest.plain)
		in.Spec.ManagedBy = rest.Spec.ManagedBy
	}
	in.MalformedSpec, in.UnknownFields = malformed, unknown
	return err
}

// UnmarshalJSON accepts a schedule whose template cannot be decoded, in the same way as that of SparkApplication.
func (in *ScheduledSparkApplication) UnmarshalJSON(data []byte) error {
	type plain ScheduledSparkApplication
	var rest struct {
		plain
		Spec struct{} `json:"spec"`
	}
	malformed, unknown, err := lenient.Unmarshal(data, (*plain)(in), &rest)
	if malformed != "" {
		*in = ScheduledSparkApplication(rest.plain)
	}
	in.MalformedSpec, in.UnknownFields = malformed, unknown
	return err
}
