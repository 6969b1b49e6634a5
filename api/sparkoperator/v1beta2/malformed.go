// SPDX-License-Identifier: Apache-2.0

package v1beta2

import "github.com/firesteel-dev/firesteel/api/lenient"

// UnmarshalJSON keeps one application that cannot be decoded from hiding all others: the schema leaves parts of the
// spec open (pod templates), so the API server stores text where a list belongs, and a typed list that holds one such
// object would fail as a whole. Such an object is decoded without its spec, and MalformedSpec says why. What is open also
// keeps fields that mean nothing, which UnknownFields names.
func (in *SparkApplication) UnmarshalJSON(data []byte) error {
	type plain SparkApplication
	var rest struct {
		plain
		Spec struct {
			ManagedBy *string `json:"managedBy"` // another controller's application is not ours, whatever is wrong with it
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

// UnmarshalJSON does for a schedule, whose template is as open, what SparkApplication's does.
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
