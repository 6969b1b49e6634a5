// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"maps"
	"math"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Defaults of the policies. defaultInterval is the default of the Kubeflow operator.
const (
	defaultInterval       = 5 * time.Second
	maxInterval           = time.Hour
	century               = 100 * 365 * 24 * time.Hour
	defaultBackoff        = 10 * time.Second
	defaultMaxBackoff     = 10 * time.Minute
	defaultEvictions      = 3
	restartField          = "restartPolicy"
	outOfMemoryField      = restartField + ".outOfMemory"
	applicationField      = restartField + ".application"
	durationHint          = `must not be negative; write e.g. "30m"`
	maxRetryableExit      = 255
	minimalMemoryFactor   = 1.0
	excessiveMemoryFactor = 10.0
)

// Policies returns the user's restart, deadline and retention settings, and the fields with an invalid value, which get their defaults.
func Policies(o *v1beta2.SparkApplication) (lifecycle.Policies, []*spark.ConfError) {
	var r policyReader
	p := lifecycle.Policies{Restart: r.restart(&o.Spec.RestartPolicy), Deadlines: r.deadlines(o.Spec.Deadlines)}
	p.Retention = r.retention(&o.Spec)
	p.Restart = withEvictions(p.Restart, o.Spec.BatchSchedulerOptions)
	return p, r.problems
}

// policyReader collects the errors of the fields that it reads.
type policyReader struct{ problems []*spark.ConfError }

func (r *policyReader) fail(field spark.Field, value, problem string) {
	r.problems = append(r.problems, &spark.ConfError{Field: field, Value: value, Problem: problem})
}

// duration reads an optional duration.
func (r *policyReader) duration(field spark.Field, d *metav1.Duration, preset time.Duration) time.Duration {
	switch {
	case d == nil:
		return preset
	case d.Duration < 0:
		r.fail(field, d.Duration.String(), durationHint)
		return preset
	}
	return d.Duration
}

func (r *policyReader) restart(p *v1beta2.RestartPolicy) lifecycle.Restart {
	out := lifecycle.Restart{
		Type:        lifecycle.RestartType(p.Type),
		Failures:    linear(p.OnFailureRetries, p.OnFailureRetryInterval),
		Submissions: linear(p.OnSubmissionFailureRetries, p.OnSubmissionFailureRetryInterval),
		Classes:     map[lifecycle.FailureClass]lifecycle.RetryPolicy{},
		ResetAfter:  r.duration(restartField+".resetAfter", p.ResetAfter, 0),
	}
	add := func(class lifecycle.FailureClass, field spark.Field, rule *v1beta2.RetryRule) {
		out.Classes[class] = r.rule(restartField+"."+field, rule)
		if p.Type == v1beta2.RestartPolicyNever && class != lifecycle.Infrastructure {
			r.fail(restartField+"."+field, "", `has no effect with restartPolicy.type "Never"; write OnFailure, or take the rule away`)
		}
	}
	if p.Infrastructure != nil {
		add(lifecycle.Infrastructure, "infrastructure", p.Infrastructure)
	}
	if p.Submission != nil {
		add(lifecycle.Submission, "submission", p.Submission)
	}
	if p.OutOfMemory != nil {
		add(lifecycle.OutOfMemory, "outOfMemory", &p.OutOfMemory.RetryRule)
		r.memory(p.OutOfMemory)
	}
	if a := p.Application; a != nil {
		add(lifecycle.ApplicationExit, "application", &a.RetryRule)
		out.RetryExitCodes = r.exitCodes("retryExitCodes", a.RetryExitCodes)
		out.FailExitCodes = r.exitCodes("failExitCodes", a.FailExitCodes)
	}
	if out.Type == "" {
		out.Type = lifecycle.Never
		if len(out.Classes) > 0 {
			out.Type = lifecycle.OnFailure
		}
	}
	return out
}

// linear returns a retry rule of the Kubeflow operator: the wait is the interval times the number of consecutive failures.
func linear(retries *int32, interval *int64) lifecycle.RetryPolicy {
	wait := defaultInterval
	if interval != nil {
		wait = secondsOf(*interval)
	}
	return lifecycle.RetryPolicy{Retries: ptr.Deref(retries, 0), Initial: wait, Max: maxInterval, Linear: true}
}

// withEvictions adds the rule for drivers that their scheduler evicts. With the type Never, evicted drivers that had started are restarted only if the user
// has a rule for evictions or for infrastructure failures.
func withEvictions(out lifecycle.Restart, o *v1beta2.BatchSchedulerConfiguration) lifecycle.Restart {
	out.Evictions = lifecycle.RetryPolicy{Retries: defaultEvictions, Initial: defaultBackoff, Max: defaultMaxBackoff}
	rule, asked := out.Classes[lifecycle.Infrastructure]
	switch {
	case o != nil && o.OnEviction == v1beta2.EvictionPolicyFail:
		out.Evictions.Retries = 0
	case o != nil && o.MaxEvictions != nil:
		out.Evictions.Retries, out.RestartsEvicted = *o.MaxEvictions, true
	case o != nil && o.OnEviction != "":
		out.RestartsEvicted = true
	case out.Type == lifecycle.Never && asked && rule.Retries > 0:
		out.Evictions, out.RestartsEvicted = rule, true
	}
	return out
}

// secondsOf converts seconds to a duration, without overflow: a huge number must not become 0.
func secondsOf(n int64) time.Duration {
	return time.Duration(min(max(0, n), int64(century/time.Second))) * time.Second
}

func (r *policyReader) rule(field spark.Field, rule *v1beta2.RetryRule) lifecycle.RetryPolicy {
	out := lifecycle.RetryPolicy{Retries: rule.Retries, Initial: defaultBackoff, Max: defaultMaxBackoff}
	if b := rule.Backoff; b != nil {
		out.Initial = r.duration(field+".backoff.initial", b.Initial, defaultBackoff)
		out.Max = r.duration(field+".backoff.max", b.Max, max(defaultMaxBackoff, out.Initial))
		if out.Max < out.Initial {
			r.fail(field+".backoff.max", out.Max.String(), "must not be smaller than backoff.initial, "+out.Initial.String())
		}
	}
	return out
}

func (r *policyReader) exitCodes(field spark.Field, codes []int32) []int32 {
	for _, code := range codes {
		if code < 1 || code > maxRetryableExit {
			r.fail(applicationField+"."+field, strconv.Itoa(int(code)), "is not a failure exit code; those are 1 to 255")
		}
	}
	return codes
}

// memory checks the rule that raises the driver's memory.
func (r *policyReader) memory(rule *v1beta2.OutOfMemoryRule) {
	if rule.MemoryFactor == nil {
		if rule.MaxMemory != nil {
			r.fail(outOfMemoryField+".maxMemory", *rule.MaxMemory, "has no effect without memoryFactor")
		}
		return
	}
	factor, err := strconv.ParseFloat(*rule.MemoryFactor, 64)
	if err != nil || !(factor > minimalMemoryFactor && factor <= excessiveMemoryFactor) {
		r.fail(outOfMemoryField+".memoryFactor", *rule.MemoryFactor, `must be a number above 1 and not above 10, such as "1.5"`)
	}
	if rule.MaxMemory == nil {
		return
	}
	if _, ok := spark.ParseSize(*rule.MaxMemory, 1<<20); !ok {
		r.fail(outOfMemoryField+".maxMemory", *rule.MaxMemory, `must be an amount of memory in Spark's units, such as "16g"`)
	}
}

func (r *policyReader) deadlines(d *v1beta2.Deadlines) lifecycle.Deadlines {
	if d == nil {
		d = &v1beta2.Deadlines{}
	}
	const field = "deadlines."
	return lifecycle.Deadlines{
		Queued:          r.deadline(field+"queued", d.Queued),
		DriverScheduled: r.deadline(field+"driverScheduled", d.DriverScheduled),
		DriverReady:     r.deadline(field+"driverReady", d.DriverReady),
		FirstExecutors:  r.deadline(field+"firstExecutors", d.FirstExecutors),
		Run:             r.deadline(field+"run", d.Run),
	}
}

// deadline reads a deadline. With "0s" the user chooses no deadline, and no policy replaces this choice.
func (r *policyReader) deadline(field spark.Field, d *metav1.Duration) time.Duration {
	if d != nil && d.Duration == 0 {
		return lifecycle.Unbounded
	}
	return r.duration(field, d, 0)
}

func (r *policyReader) retention(s *v1beta2.SparkApplicationSpec) lifecycle.Retention {
	var ttl *time.Duration
	if s.TimeToLiveSeconds != nil {
		ttl = ptr.To(secondsOf(*s.TimeToLiveSeconds))
	}
	out := lifecycle.Retention{OnSuccess: lifecycle.TTLs{Application: ttl}, OnFailure: lifecycle.TTLs{Application: ttl}}
	if s.Retention != nil {
		out.OnSuccess = r.keep("retention.onSuccess.", s.Retention.OnSuccess, ttl)
		out.OnFailure = r.keep("retention.onFailure.", s.Retention.OnFailure, ttl)
	}
	return out
}

func (r *policyReader) keep(field spark.Field, t *v1beta2.RetentionTimes, ttl *time.Duration) lifecycle.TTLs {
	if t == nil {
		return lifecycle.TTLs{Application: ttl}
	}
	read := func(name spark.Field, d *metav1.Duration, preset *time.Duration) *time.Duration {
		if d == nil {
			return preset
		}
		return ptr.To(r.duration(field+name, d, 0))
	}
	return lifecycle.TTLs{
		DriverPod: read("driverPod", t.DriverPod, nil), Resources: read("resources", t.Resources, nil),
		Application: read("application", t.Application, ttl),
	}
}

const (
	mebibyte = 1 << 20
	// defaultDriverMemory is Spark's default of spark.driver.memory, in MiB.
	defaultDriverMemory = 1024
)

// RaisesMemory reports whether an attempt gets more memory after an attempt that ran out of memory.
func RaisesMemory(o *v1beta2.SparkApplication) bool {
	rule := o.Spec.RestartPolicy.OutOfMemory
	return rule != nil && rule.MemoryFactor != nil
}

// WithRaisedMemory returns the application with more driver memory for each attempt that ran out of memory, up to the user's bound. If the user has set the
// overhead, the overhead grows, too.
func WithRaisedMemory(app spark.Application, o *v1beta2.SparkApplication, raises int32) spark.Application {
	if raises == 0 || !RaisesMemory(o) {
		return app
	}
	rule := o.Spec.RestartPolicy.OutOfMemory
	factor, err := strconv.ParseFloat(*rule.MemoryFactor, 64)
	if err != nil || !(factor > minimalMemoryFactor && factor <= excessiveMemoryFactor) {
		return app
	}
	ceiling, bounded := spark.ParseSize(ptr.Deref(rule.MaxMemory, ""), mebibyte)
	factor = math.Pow(factor, float64(raises))
	app.Conf = maps.Clone(app.Conf)
	raise := func(key string, preset int64) {
		now, ok := spark.ParseSize(app.Conf[key], mebibyte)
		if !ok {
			now = preset
		}
		if now == 0 {
			return
		}
		more := int64(math.Min(float64(now)*factor, math.MaxInt32))
		if bounded && key == spark.ConfDriverMemory {
			more = max(now, min(more, ceiling))
		}
		app.Conf[key] = strconv.FormatInt(more, 10) + "m"
	}
	raise(spark.ConfDriverMemory, defaultDriverMemory)
	raise(spark.ConfDriverMemoryOverhead, 0)
	return app
}
