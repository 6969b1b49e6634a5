// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"k8s.io/apimachinery/pkg/util/json"
)

// UnmarshalJSON keeps one application that cannot be decoded from hiding all others: the schema leaves parts of the
// spec open (pod templates), so the API server stores text where a list belongs, and a typed list that holds one such
// object would fail as a whole. Such an object is decoded without its spec, and MalformedSpec says why.
func (in *SparkApplication) UnmarshalJSON(data []byte) error {
	type plain SparkApplication
	err := json.Unmarshal(data, (*plain)(in))
	if err == nil {
		return nil
	}
	var rest struct {
		plain
		Spec struct{} `json:"spec"`
	}
	if json.Unmarshal(data, &rest) != nil {
		return err // not the spec's fault
	}
	*in = SparkApplication(rest.plain)
	in.Spec = SparkApplicationSpec{}
	in.MalformedSpec = err.Error()
	return nil
}
