// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// AnnotationDefaulted lists the fields of the spec that Default has filled in, separated by commas. Without it, a default and an equal value of the user
// would look alike.
const AnnotationDefaulted = "firesteel.dev/defaulted"

// Default writes the defaults of unset fields into the spec, and lists these fields. The values equal the values that the webhook of the Kubeflow operator
// sets, so they change neither the run nor the SpecHash. Default removes an earlier default that sparkConf now overrides, and leaves malformed objects
// unchanged.
func Default(o *v1beta2.SparkApplication) {
	if o.MalformedSpec != "" {
		return
	}
	clearDefaults(o)
	filled := fill(&o.Spec)
	if len(filled) == 0 {
		delete(o.Annotations, AnnotationDefaulted)
		return
	}
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	o.Annotations[AnnotationDefaulted] = strings.Join(filled, ",")
}

// clearDefaults removes the defaults that Default has written.
func clearDefaults(o *v1beta2.SparkApplication) {
	before := strings.Split(o.Annotations[AnnotationDefaulted], ",")
	for _, p := range presets {
		if slices.Contains(before, p.field) && p.holds(&o.Spec) {
			p.clear(&o.Spec)
		}
	}
}

// withoutDefaults returns the application as the user wrote it. Written defaults must not count as the user's values: they would override an installation's
// policies, and a webhook would change what runs.
func withoutDefaults(o *v1beta2.SparkApplication) *v1beta2.SparkApplication {
	if o.Annotations[AnnotationDefaulted] == "" || o.MalformedSpec != "" {
		return o
	}
	said := *o
	said.Spec = *o.Spec.DeepCopy()
	clearDefaults(&said)
	return &said
}

// fill sets the applicable defaults, and returns their fields.
func fill(s *v1beta2.SparkApplicationSpec) []string {
	var filled []string
	for _, p := range presets {
		if p.applies(s) {
			p.set(s)
			filled = append(filled, p.field)
		}
	}
	return filled
}

// preset is the default of one field.
type preset struct {
	field string
	// applies reports whether the field is unset and should get the default.
	applies func(*v1beta2.SparkApplicationSpec) bool
	// holds reports whether the field has the value of the default.
	holds      func(*v1beta2.SparkApplicationSpec) bool
	set, clear func(*v1beta2.SparkApplicationSpec)
}

// presets lists all defaults. Several defaults of one field exclude each other. A later default sees the values of earlier ones.
var presets = []preset{
	language(v1beta2.ApplicationTypePython),
	language(v1beta2.ApplicationTypeR),
	language(v1beta2.ApplicationTypeScala),
	word("mode", func(s *v1beta2.SparkApplicationSpec) *v1beta2.DeployMode { return &s.Mode }, v1beta2.DeployModeCluster, always),
	word("restartPolicy.type", restartType, v1beta2.RestartPolicyOnFailure, hasRestartRules),
	word("restartPolicy.type", restartType, v1beta2.RestartPolicyNever, always),
	value("restartPolicy.onFailureRetryInterval",
		func(s *v1beta2.SparkApplicationSpec) **int64 { return &s.RestartPolicy.OnFailureRetryInterval }, retryInterval, restarts),
	value("restartPolicy.onSubmissionFailureRetryInterval", func(s *v1beta2.SparkApplicationSpec) **int64 {
		return &s.RestartPolicy.OnSubmissionFailureRetryInterval
	}, retryInterval, restarts),
	value("driver.cores", func(s *v1beta2.SparkApplicationSpec) **int32 { return &s.Driver.Cores }, 1, notInConf(spark.ConfDriverCores)),
	value("driver.memory", func(s *v1beta2.SparkApplicationSpec) **string { return &s.Driver.Memory }, "1g", notInConf(spark.ConfDriverMemory)),
	value("executor.cores", func(s *v1beta2.SparkApplicationSpec) **int32 { return &s.Executor.Cores }, 1, notInConf(spark.ConfExecutorCores)),
	value("executor.memory", func(s *v1beta2.SparkApplicationSpec) **string { return &s.Executor.Memory }, "1g", notInConf(spark.ConfExecutorMemory)),
	value("executor.instances", func(s *v1beta2.SparkApplicationSpec) **int32 { return &s.Executor.Instances }, 1, func(s *v1beta2.SparkApplicationSpec) bool {
		return notInConf(spark.ConfExecutorInstances)(s) && !allocatesDynamically(s)
	}),
	value("dynamicAllocation.shuffleTrackingEnabled", func(s *v1beta2.SparkApplicationSpec) **bool {
		if s.DynamicAllocation == nil || !s.DynamicAllocation.Enabled {
			return nil
		}
		return &s.DynamicAllocation.ShuffleTrackingEnabled
	}, true, always),
}

// retryInterval is defaultInterval in the API's unit, seconds.
const retryInterval = int64(5)

// language returns the default of the type for programs that Spark runs in this language.
func language(preferred v1beta2.ApplicationType) preset {
	return word("type", func(s *v1beta2.SparkApplicationSpec) *v1beta2.ApplicationType { return &s.Type }, preferred,
		func(s *v1beta2.SparkApplicationSpec) bool { return languages(s)[0] == preferred })
}

// word returns the default of a text field in which an empty value means unset.
func word[T ~string](field string, at func(*v1beta2.SparkApplicationSpec) *T, preferred T, wanted func(*v1beta2.SparkApplicationSpec) bool) preset {
	return preset{
		field:   field,
		applies: func(s *v1beta2.SparkApplicationSpec) bool { return *at(s) == "" && wanted(s) },
		holds:   func(s *v1beta2.SparkApplicationSpec) bool { return *at(s) == preferred },
		set:     func(s *v1beta2.SparkApplicationSpec) { *at(s) = preferred },
		clear:   func(s *v1beta2.SparkApplicationSpec) { *at(s) = "" },
	}
}

// value returns the default of an optional field. It does not apply if at returns nil.
func value[T comparable](field string, at func(*v1beta2.SparkApplicationSpec) **T, preferred T, wanted func(*v1beta2.SparkApplicationSpec) bool) preset {
	return preset{
		field: field,
		applies: func(s *v1beta2.SparkApplicationSpec) bool {
			p := at(s)
			return p != nil && *p == nil && wanted(s)
		},
		holds: func(s *v1beta2.SparkApplicationSpec) bool {
			p := at(s)
			return p != nil && *p != nil && **p == preferred
		},
		set:   func(s *v1beta2.SparkApplicationSpec) { *at(s) = ptr.To(preferred) },
		clear: func(s *v1beta2.SparkApplicationSpec) { *at(s) = nil },
	}
}

func always(*v1beta2.SparkApplicationSpec) bool { return true }

func notInConf(key string) func(*v1beta2.SparkApplicationSpec) bool {
	return func(s *v1beta2.SparkApplicationSpec) bool {
		_, set := s.SparkConf[key]
		return !set
	}
}

func restartType(s *v1beta2.SparkApplicationSpec) *v1beta2.RestartPolicyType {
	return &s.RestartPolicy.Type
}

// hasRestartRules reports whether an empty type of the restart policy means OnFailure.
func hasRestartRules(s *v1beta2.SparkApplicationSpec) bool {
	p := s.RestartPolicy
	return p.Infrastructure != nil || p.Submission != nil || p.OutOfMemory != nil || p.Application != nil
}

func restarts(s *v1beta2.SparkApplicationSpec) bool {
	return s.RestartPolicy.Type != v1beta2.RestartPolicyNever
}

// allocatesDynamically reports whether Spark chooses the number of executors.
func allocatesDynamically(s *v1beta2.SparkApplicationSpec) bool {
	if d := s.DynamicAllocation; d != nil && d.Enabled {
		return true
	}
	return strings.EqualFold(s.SparkConf[spark.ConfDynamicAllocation], "true")
}
