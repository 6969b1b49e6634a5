// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/firesteel-dev/firesteel/api/lenient"

// UnmarshalJSON keeps one application whose spec cannot be decoded from hiding all others: its schema leaves pod templates open.
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

// UnmarshalJSON keeps one cluster whose spec cannot be decoded from hiding all others, as that of applications does.
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
