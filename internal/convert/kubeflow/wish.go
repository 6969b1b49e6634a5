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

package kubeflow

import (
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Wish returns what lifecycle.Decide needs to know of the object itself.
func Wish(o *v1beta2.SparkApplication, rec lifecycle.Record) lifecycle.Application {
	policies, _ := Policies(o)
	hash := rec.SpecHash
	if hash == "" || rec.Generation != o.Generation {
		hash = SpecHash(o)
	}
	return lifecycle.Application{
		UID: string(o.UID), Generation: o.Generation, SpecHash: hash, Suspend: ptr.Deref(o.Spec.Suspend, false),
		Policies: policies, RaisesMemory: RaisesMemory(o), Deleting: !o.DeletionTimestamp.IsZero(),
	}
}

// StateName returns the API's word for a state; it is empty for a new application.
func StateName(s lifecycle.State) string { return string(states[s]) }
