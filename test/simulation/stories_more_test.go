// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"time"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func init() { maps.Copy(stories, lives) }

// lives are stories of applications in which nobody fails but the application, its cluster and its user.
var lives = map[string]func(*script){
	"suspended-before-the-first-run": func(s *script) {
		s.app(func(spec *v1beta2.SparkApplicationSpec) { spec.Suspend = new(true) })
		s.pass(time.Minute)
		s.suspend(false)
		s.completes()
	},
	"suspended-when-it-is-over": func(s *script) {
		s.app(nil)
		s.completes()
		s.suspend(true)
		s.pass(time.Minute)
		s.suspend(false)
		s.pass(time.Minute)
	},
	"killed-after-exposing-the-driver": func(s *script) {
		s.exposed = true
		o := s.app(nil)
		s.until(o, "create Service "+uiService.name)
		s.crash()
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"service-of-the-ui-deleted-by-hand": func(s *script) {
		s.exposed = true
		s.app(nil)
		s.work()
		s.runs()
		s.tell("user", "deletes %s", uiService)
		s.store.remove(uiService)
		s.pass(time.Second)
		s.completes()
	},
	"service-of-the-ui-refused": func(s *script) {
		s.exposed, s.sealed = true, refusal(uiService)
		s.app(nil)
		s.work()
		s.runs()
		s.pass(time.Minute)
		s.tell("weather", "the Service is allowed")
		s.sealed = nil
		s.pass(time.Minute)
		s.completes()
	},
	"driver-deleted-by-hand": func(s *script) {
		s.app(onFailure(1))
		s.work()
		s.runs()
		s.removePod(s.driver(), "user")
		s.work()
		s.vanishes()
		s.pass(20 * time.Second)
		s.completes()
	},
	"out-of-memory-then-more": func(s *script) {
		s.app(func(spec *v1beta2.SparkApplicationSpec) {
			spec.RestartPolicy = v1beta2.RestartPolicy{OutOfMemory: &v1beta2.OutOfMemoryRule{
				RetryRule: v1beta2.RetryRule{Retries: 1}, MemoryFactor: new("1.5"),
			}}
		})
		s.work()
		s.memory()
		s.runs()
		s.finish(s.driver(), 137, "OOMKilled", "")
		s.pass(20 * time.Second)
		s.memory()
		s.completes()
	},
	"always-runs-again": func(s *script) {
		s.app(func(spec *v1beta2.SparkApplicationSpec) { spec.RestartPolicy.Type = v1beta2.RestartPolicyAlways })
		s.work()
		s.runs()
		s.exits(0)
		s.pass(20 * time.Second)
		s.runs()
		s.exits(1)
		s.pass(20 * time.Second)
		s.runs()
		s.edit("restart policy Never", func(spec *v1beta2.SparkApplicationSpec) { spec.RestartPolicy.Type = v1beta2.RestartPolicyNever })
		s.exits(0)
		s.pass(time.Minute)
	},
	"runs-too-long": func(s *script) {
		s.app(func(spec *v1beta2.SparkApplicationSpec) {
			spec.Deadlines = &v1beta2.Deadlines{Run: duration(time.Minute)}
		})
		s.work()
		s.runs()
		s.pass(2 * time.Minute)
		s.exits(143)
		s.vanishes()
		s.pass(time.Minute)
	},
	"image-never-comes": func(s *script) {
		s.app(func(spec *v1beta2.SparkApplicationSpec) {
			spec.Deadlines = &v1beta2.Deadlines{DriverReady: duration(time.Minute)}
		})
		s.work()
		s.schedule(s.driver())
		s.backOff(s.driver())
		s.pass(90 * time.Second)
		s.vanishes()
		s.pass(time.Minute)
	},
	"retention": func(s *script) {
		s.app(func(spec *v1beta2.SparkApplicationSpec) {
			spec.Retention = &v1beta2.Retention{OnSuccess: &v1beta2.RetentionTimes{
				DriverPod: duration(time.Minute), Resources: duration(10 * time.Second), Application: duration(time.Hour),
			}}
		})
		s.completes()
		s.pass(2 * time.Hour)
	},
	"spec-wrong-then-right": func(s *script) {
		s.app(func(spec *v1beta2.SparkApplicationSpec) { spec.SparkVersion = unknownVersion })
		s.pass(time.Minute)
		s.edit("Spark version", func(spec *v1beta2.SparkApplicationSpec) { spec.SparkVersion = testutil.SparkVersion })
		s.completes()
	},
	"spec-changed-when-it-is-over": func(s *script) {
		s.app(nil)
		s.completes()
		s.edit("arguments", func(spec *v1beta2.SparkApplicationSpec) { spec.Arguments = []string{"1000"} })
		s.pass(10 * time.Second)
		s.completes()
	},
	"sidecar-lives-on": func(s *script) {
		s.app(nil)
		s.work()
		s.runs()
		s.sidecar = true
		s.exits(0)
		s.pass(time.Minute)
	},
	"driver-renamed-during-a-crash": func(s *script) {
		o := s.app(nil)
		s.until(o, createDriver)
		s.kill(0)
		s.edit("name of the driver pod", func(spec *v1beta2.SparkApplicationSpec) { spec.Driver.PodName = new("another-driver") })
		s.start()
		s.pass(10 * time.Second)
	},
}

// completes brings a driver to a good end.
func (s *script) completes() {
	s.t.Helper()
	s.work()
	s.runs()
	s.exits(0)
	s.pass(time.Minute)
}

// memory tells what the driver asks for.
func (s *script) memory() {
	s.tell("scheduler", "the driver asks for %s", s.driver().Spec.Containers[0].Resources.Requests.Memory())
}
