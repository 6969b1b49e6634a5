// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/firesteel-dev/firesteel/api/lenient"

// UnmarshalJSON accepts an application whose spec cannot be decoded. Its schema leaves pod templates open, and one such application would hide all others.
func (in *SparkApplication) UnmarshalJSON(data []byte) error {
	type plain SparkApplication
	var rest struct {
		plain
		Spec struct{} `json:"spec"`
	}
	malformed, unknown, err := lenient.Unmarshal(data, (*plain)(in), &rest)
	if malformed != "" {
		*in = SparkApplication(rest.plain)
	}
	in.MalformedSpec, in.UnknownFields = malformed, unknown
	return err
}

// UnmarshalJSON accepts a cluster whose spec cannot be decoded, so that it does not hide all others.
func (in *SparkCluster) UnmarshalJSON(data []byte) error {
	type plain SparkCluster
	var rest struct {
		plain
		Spec struct{} `json:"spec"`
	}
	malformed, unknown, err := lenient.Unmarshal(data, (*plain)(in), &rest)
	if malformed != "" {
		*in = SparkCluster(rest.plain)
	}
	in.MalformedSpec, in.UnknownFields = malformed, unknown
	return err
}
