/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
