// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func init() {
	stories["name-taken-by-another-family"] = func(s *script) {
		s.withJob()
		s.app(nil)
		s.work()
		s.other.apply()
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
		s.withJob()
		s.other.apply()
		s.app(nil)
		s.other.operateFirst(s)
		s.pass(15 * time.Second)
		s.runs()
		s.crash()
		s.exits(0)
		s.pass(15 * time.Second)
		s.other.deleteJob()
		s.cleanUp()
		s.pass(10 * time.Second)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	}
}

// withJob makes room for a job of the second family in a story.
func (s *script) withJob() { s.other = &second{h: s.history, jobs: map[types.UID]*jobWish{}} }

// operateFirst lets the second family's controller create its driver before the first family's does anything.
func (*second) operateFirst(s *script) {
	for o := s.operators[0]; s.store.pod(appName+"-driver") == nil; s.arrive(o) {
		o.jobs.step()
	}
}
