// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/firesteel-dev/firesteel/api/lenient"

// UnmarshalJSON accepts a server whose spec cannot be decoded, so that it does not hide all others.
func (in *SparkConnect) UnmarshalJSON(data []byte) error {
	type plain SparkConnect
	var rest struct {
		plain
		Spec struct{} `json:"spec"`
	}
	malformed, unknown, err := lenient.Unmarshal(data, (*plain)(in), &rest)
	if malformed != "" {
		*in = SparkConnect(rest.plain)
	}
	in.MalformedSpec, in.UnknownFields = malformed, unknown
	return err
}
