// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
)

func init() {
	stories["name-taken-by-another-family"] = func(s *script) {
		s.withSecond()
		s.app(nil)
		s.work()
		s.other.simple()
		s.pass(15 * time.Second)
		s.runs()
		s.exits(0)
		s.pass(15 * time.Second)
		s.deleteNow()
		s.cleanUp()
		s.pass(10 * time.Second)
		s.runs()
		s.crash()
		s.exits(0)
		s.pass(time.Minute)
	}
	stories["name-taken-from-another-family"] = func(s *script) {
		s.withSecond()
		s.other.simple()
		s.app(nil)
		s.other.operateFirst(s)
		s.pass(15 * time.Second)
		s.runs()
		s.crash()
		s.exits(0)
		s.pass(15 * time.Second)
		s.other.deleteApp()
		s.cleanUp()
		s.pass(10 * time.Second)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	}
}

// withSecond makes room for an application of the second family in a story.
func (s *script) withSecond() { s.other = newSecond(s.history) }

// simple applies an application without another try.
func (s *second) simple() {
	o := s.application()
	o.Spec.ApplicationTolerations = &sparkv1.ApplicationTolerations{RestartConfig: &sparkv1.RestartConfig{RestartPolicy: sparkv1.RestartNever, MaxRestartAttempts: new(int64(0))}}
	s.applied(o)
}

// operateFirst lets the second family's controller create its driver before the first family's does anything.
func (*second) operateFirst(s *script) {
	for o := s.operators[0]; s.store.pod(appName+"-driver") == nil; s.arrive(o) {
		o.second.step()
	}
}
