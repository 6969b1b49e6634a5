// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Desired returns what lifecycle.Decide needs to know of the object itself.
func Desired(o *v1beta2.SparkApplication, rec lifecycle.Record) lifecycle.Application {
	policies, _ := Policies(o)
	hash := rec.SpecHash
	if hash == "" || rec.Generation != o.Generation {
		hash = SpecHash(o)
	}
	return lifecycle.Application{
		UID: string(o.UID), Generation: o.Generation, SpecHash: hash, Suspend: ptr.Deref(o.Spec.Suspend, false),
		Policies: policies, RaisesMemory: RaisesMemory(o), Deleting: !o.DeletionTimestamp.IsZero(),
		Fields: sparkApplications.Fields,
	}
}
