// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// maxTimeToLive keeps seconds from overflowing a time.Duration.
const maxTimeToLive = 100 * 365 * 24 * 60 * 60

// Apply fills in the defaults of the policies. The set must contain the policies of the application's namespace. The operator's own settings still override
// the result.
func (s Set) Apply(app spark.Application) spark.Application {
	if len(s) == 0 {
		return app
	}
	app.Conf, app.Origins = maps.Clone(app.Conf), maps.Clone(app.Origins)
	if app.Conf == nil {
		app.Conf = map[string]string{}
	}
	if app.Origins == nil {
		app.Origins = map[string]spark.Origin{}
	}
	for i := range s {
		f := filler{app: &app, policy: s[i].Name}
		f.fill(s[i].Defaults)
		f.reserve(s[i].Limits.Group)
	}
	return app
}

// reserve allows the resources of a group for which the policy has a limit.
func (f filler) reserve(l RoleLimits) {
	scheduling := &f.app.Scheduling
	for name := range scheduling.Resources {
		if _, limited := l.of(name); limited && !slices.Contains(scheduling.Reservable, name) {
			scheduling.Reservable = append(slices.Clip(scheduling.Reservable), name)
		}
	}
}

// filler fills in the defaults of one policy.
type filler struct {
	app    *spark.Application
	policy string
}

func (f filler) set(key, value string, field spark.Field) {
	if _, taken := f.app.Conf[key]; taken || value == "" {
		return
	}
	f.app.Conf[key] = value
	f.app.Origins[key] = spark.Origin{Field: field, Policy: f.policy}
}

// origin returns the name of a policy's field in messages.
func (f filler) origin(field spark.Field) string {
	return spark.Origin{Field: field, Policy: f.policy}.Path(nil)
}

func (f filler) fill(d Defaults) {
	f.set(spark.ConfImage, d.Image, "image")
	f.set(spark.ConfImagePullPolicy, d.ImagePullPolicy, "imagePullPolicy")
	if t := f.app.Driver.Template; t == nil || cmp.Or(t.Spec.ServiceAccountName, t.Spec.DeprecatedServiceAccount) == "" {
		f.set(spark.ConfDriverServiceAccount, d.ServiceAccount, "serviceAccount")
	}
	f.size(d.Driver, "driver", spark.ConfDriverCores, spark.ConfDriverLimitCores, spark.ConfDriverMemory)
	f.size(d.Executor, "executor", spark.ConfExecutorCores, spark.ConfExecutorLimitCores, spark.ConfExecutorMemory)
	for key, value := range d.SparkConf {
		f.set(key, value, "sparkConf")
	}
	for name, value := range d.Labels {
		f.label(f.app.Driver, spark.ConfDriverLabelPrefix, name, value)
		f.label(f.app.Executor, spark.ConfExecutorLabelPrefix, name, value)
	}
	f.scheduling(d)
}

func (f filler) size(d RoleDefaults, role spark.Field, cores, limit, memory string) {
	if d.Cores != nil {
		f.set(cores, strconv.Itoa(int(*d.Cores)), role+".cores")
	}
	f.set(limit, string(d.CoreLimit), role+".coreLimit")
	f.set(memory, d.Memory, role+".memory")
}

func (f filler) label(r spark.Role, prefix, name, value string) {
	if r.Template != nil {
		if _, taken := r.Template.Labels[name]; taken {
			return
		}
	}
	if _, taken := r.Overlay.Labels[name]; !taken {
		f.set(prefix+name, value, "labels")
	}
}

// scheduling sets scheduler and queue. If the policy names a scheduler, its default queue applies to that scheduler only.
func (f filler) scheduling(d Defaults) {
	s := &f.app.Scheduling
	if s.Scheduler == "" && d.BatchScheduler != "" {
		s.Scheduler, s.SchedulerFrom = d.BatchScheduler, f.origin("batchScheduler")
	}
	if s.Queue == "" && d.Queue != "" && (d.BatchScheduler == "" || d.BatchScheduler == s.Scheduler) {
		s.Queue, s.QueueFrom = d.Queue, f.origin("queue")
	}
}

// Retention returns how long an ended application is kept. Its own setting precedes the policies' default; the policies' limit bounds both.
func (s Set) Retention(r lifecycle.Retention) lifecycle.Retention {
	for _, keep := range []*lifecycle.TTLs{&r.OnSuccess, &r.OnFailure} {
		for i := range s {
			if d := s[i].Defaults.TimeToLiveSeconds; keep.Application == nil && d != nil {
				keep.Application = seconds(*d)
			}
		}
		for i := range s {
			if l := s[i].Limits.TimeToLiveSeconds; l != nil && (keep.Application == nil || *keep.Application > *seconds(*l)) {
				keep.Application = seconds(*l)
			}
		}
	}
	return r
}

// Deadlines returns the application's deadlines. The policies' defaults fill in missing ones.
func (s Set) Deadlines(d lifecycle.Deadlines) lifecycle.Deadlines {
	for i := range s {
		preset := s[i].Defaults.Deadlines
		d.Queued = cmp.Or(d.Queued, preset.Queued.duration())
		d.DriverScheduled = cmp.Or(d.DriverScheduled, preset.DriverScheduled.duration())
		d.DriverReady = cmp.Or(d.DriverReady, preset.DriverReady.duration())
		d.FirstExecutors = cmp.Or(d.FirstExecutors, preset.FirstExecutors.duration())
		d.Run = cmp.Or(d.Run, preset.Run.duration())
	}
	return d
}

func seconds(n int64) *time.Duration {
	d := time.Duration(min(n, maxTimeToLive)) * time.Second
	return &d
}
