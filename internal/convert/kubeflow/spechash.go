// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// SpecHash identifies what of the spec a running application is made from: if it changes, the application has to run
// again. It leaves out what acts on a running application as it is and what has no effect, and spells out the defaults
// of the Kubeflow operator's webhook, so that a manifest without them means the same as one with them. It is made from
// the user's words and not from what is built of them: a newer operator must not restart what runs.
func SpecHash(o *v1beta2.SparkApplication) string {
	s := withoutDefaults(o).Spec.DeepCopy()
	fill(s)
	if _, set := s.SparkConf[spark.ConfExecutorInstances]; s.Executor.Instances == nil && !set && (s.DynamicAllocation == nil || !s.DynamicAllocation.Enabled) {
		s.Executor.Instances = ptr.To(int32(1)) // their webhook overlooks dynamic allocation in sparkConf
	}
	s.Suspend, s.TimeToLiveSeconds, s.Retention, s.Deadlines = nil, nil, nil, nil
	s.RestartPolicy = v1beta2.RestartPolicy{}
	s.Type, s.FailureRetries, s.RetryInterval, s.Executor.MemoryLimit = "", nil, nil, nil // see Ignored
	s.DriverPodDisruptionBudget = nil
	s.SparkUIOptions, s.DriverIngressOptions = nil, nil
	if options := s.BatchSchedulerOptions; options != nil {
		options.OnEviction, options.MaxEvictions = "", nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		text = fmt.Appendf(nil, "%+v", s) // only a quantity that cannot be written down gets here
	}
	h := fnv.New64a()
	_, _ = h.Write(text) // a hash never fails
	_, _ = h.Write([]byte(o.MalformedSpec))
	return fmt.Sprintf("%016x", h.Sum64())
}
