// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Ignored are the options of an application that mean nothing to the scheduler of that name. They stop nothing.
func (r *Registry) Ignored(scheduler string, asked spark.Scheduling, fields spark.Fields) field.ErrorList {
	if r == nil || r.plugins[scheduler].plugin == nil {
		return nil
	}
	return ignored(r.plugins[scheduler].own, asked, fields)
}

func ignored(d Descriptor, asked spark.Scheduling, fields spark.Fields) field.ErrorList {
	var all field.ErrorList
	add := func(name spark.Field, why string) {
		all = append(all, &field.Error{
			Type: field.ErrorTypeInvalid, Field: fields.Path(name), BadValue: field.OmitValueType{},
			Detail: "has no effect: the scheduler " + strconv.Quote(d.Name) + " " + why,
		})
	}
	if asked.Queue != "" && asked.QueueFrom == "" && !d.Supports.Queues {
		add(FieldQueue, "has no queues")
	}
	if len(asked.Resources) > 0 && !d.Supports.Resources {
		add(FieldResources, "takes what the pods ask for")
	}
	return all
}
