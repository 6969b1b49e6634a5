// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

const (
	// maxConnectName leaves room for the suffixes of a server's objects.
	maxConnectName = 56
	defaultDrain   = 10 * time.Minute
	// serverHealthy is the run time after which earlier failures are forgotten.
	serverHealthy    = 10 * time.Minute
	serverMaxBackoff = 5 * time.Minute
)

// connectPolicies keeps a server running: after any end another server follows, the first after a pause. No deadline and no default of a policy ends it.
func connectPolicies(o *v1alpha1.SparkConnect, pause time.Duration) lifecycle.Policies {
	again := lifecycle.RetryPolicy{Retries: math.MaxInt32, Initial: cmp.Or(pause, defaultBackoff), Max: serverMaxBackoff}
	restart := withEvictions(lifecycle.Restart{
		Type: lifecycle.Always, Failures: again, Submissions: again, ResetAfter: serverHealthy,
	}, o.Spec.BatchSchedulerOptions)
	if options := o.Spec.BatchSchedulerOptions; options == nil || options.MaxEvictions == nil && options.OnEviction != v1beta2.EvictionPolicyFail {
		restart.Evictions = again
	}
	const none = lifecycle.Unbounded
	return lifecycle.Policies{
		Restart:   restart,
		Deadlines: lifecycle.Deadlines{Queued: none, DriverScheduled: none, DriverReady: none, FirstExecutors: none, Run: none},
	}
}

// connectDurations are a server's timeouts.
type connectDurations struct{ drain, idle time.Duration }

// connectTimes returns the user's timeouts, and the fields with an invalid value, which get their defaults.
func connectTimes(s *v1alpha1.SparkConnectSpec) (connectDurations, []*spark.ConfError) {
	var r policyReader
	times := connectDurations{
		drain: r.duration("drainTimeout", s.DrainTimeout, defaultDrain), idle: r.duration("idleTimeout", s.IdleTimeout, 0),
	}
	if hidesStreams(s) {
		times.idle = 0
	}
	return times, r.problems
}

// hidesStreams reports whether the configuration prevents observing a server's streaming queries.
func hidesStreams(s *v1alpha1.SparkConnectSpec) bool {
	return strings.EqualFold(strings.TrimSpace(s.SparkConf[spark.ConfStreamingUIEnabled]), "false")
}

// connectConflicts returns contradictions in the spec, which the model cannot represent.
func connectConflicts(o *v1alpha1.SparkConnect) []*spark.ConfError {
	_, found := connectTimes(&o.Spec)
	refuse := func(at spark.Field, value, problem string) {
		found = append(found, &spark.ConfError{Field: at, Value: value, Problem: problem})
	}
	if problems := utilvalidation.IsDNS1123Label(o.Name); len(problems) > 0 {
		refuse(spark.FieldName, "", fmt.Sprintf("invalid SparkConnect name %q: %s", o.Name, strings.Join(problems, ", ")))
	} else if len(o.Name) > maxConnectName {
		refuse(spark.FieldName, "", fmt.Sprintf("invalid SparkConnect name %q: must be no more than %d characters", o.Name, maxConnectName))
	}
	if strings.TrimSpace(o.Spec.SparkVersion) == "" {
		refuse(spark.FieldSparkVersion, "", `missing; write the version of Spark in the image, such as "4.1.4"`)
	}
	if s := o.Spec.Server.Service; s != nil && s.Name != "" && len(utilvalidation.IsDNS1123Label(s.Name)) > 0 {
		refuse("services.metadata.name", s.Name, `not the name of a Service; write at most 63 lower-case letters, digits and '-', such as "notebooks"`)
	}
	return found
}

// connectWarnings returns warnings about accepted fields that have no effect or a surprising one.
func connectWarnings(o *v1alpha1.SparkConnect) []*spark.ConfError {
	s, w := &o.Spec, &warner{fields: sparkConnects.Fields}
	w.unknown(o.UnknownFields, reflect.TypeOf(o))
	w.connectRole(driverKeys, &s.Server.SparkPodSpec)
	w.connectRole(executorKeys, &s.Executor.SparkPodSpec)
	w.sparkConf(s.SparkConf)
	for _, key := range slices.Sorted(maps.Keys(s.HadoopConf)) {
		if strings.HasPrefix(key, sparkPrefix) && !strings.HasPrefix(key, hadoopPrefix) {
			w.warn("hadoopConf", key, fmt.Sprintf("becomes %s%s, which Spark does not read; write it to %s", hadoopPrefix, key, w.fields.Path(spark.FieldSparkConf)))
		}
	}
	if service := s.Server.Service; service != nil {
		if len(service.Spec.Ports) > 0 {
			w.warn("services.spec.ports", "", "has no effect: the operator sets the ports of the server")
		}
		if len(service.Spec.Selector) > 0 {
			w.warn("services.spec.selector", "", "has no effect: the operator sets the selector")
		}
	}
	if s.IdleTimeout != nil && s.IdleTimeout.Duration > 0 {
		idle := s.IdleTimeout.Duration.String()
		if strings.EqualFold(s.SparkConf[spark.ConfUIEnabled], "false") {
			w.warn("idleTimeout", idle, "has no effect without Spark's UI, which spark.ui.enabled turns off: only the UI reports executions")
		}
		if profile, err := spark.ProfileFor(s.SparkVersion); err == nil && !profile.ConnectPage {
			w.warn("idleTimeout", idle, "has no effect before Spark 3.5: older UIs do not report executions")
		}
		if hidesStreams(s) {
			w.warn("idleTimeout", idle, "has no effect without the page of streaming queries, "+
				"which spark.sql.streaming.ui.enabled turns off: a server with a streaming query would be stopped")
		}
	}
	return w.found
}

// connectRole warns about a role's template, and about resource fields that the template replaces.
func (w *warner) connectRole(k roleKeys, p *v1alpha1.SparkPodSpec) {
	w.template(k, p.Template)
	w.gpu(k.field, p.GPU)
	replaced := func(at spark.Field, value string, name corev1.ResourceName) {
		if value != "" && inTemplate(k, p, name) {
			w.warn(k.field+at, value, fmt.Sprintf("has no effect: Spark's container in %s says how much %s it gets; write it there, or remove it there",
				w.fields.Path(k.field+".template"), name))
		}
	}
	if gpu := p.GPU; gpu != nil {
		replaced(".gpu", gpu.Name, corev1.ResourceName(gpu.Name))
	}
	if k.field == driverKeys.field { // a server overwrites CPU and memory in the template of its executors
		replaced(".coreRequest", ptr.Deref(p.CoreRequest, ""), corev1.ResourceCPU)
		replaced(".coreLimit", ptr.Deref(p.CoreLimit, ""), corev1.ResourceCPU)
	}
}
