/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// What was promised to an application that is deleted, or suspended, is free for others.
func TestForgottenApplicationsHoldNothing(t *testing.T) {
	m := NewSchedulers(clock.RealClock{}, nil)
	gone := scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: "gone"}, ID: "gone-1"}
	next := scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: "next"}, ID: "next-1", QueuedAt: clock.RealClock{}.Now()}
	m.enter(gone, scheduler.Progress{})
	if others := m.ledger.Outstanding(next).Others; len(others) != 1 {
		t.Fatalf("it holds nothing from the start: %+v", others)
	}
	m.forget(types.NamespacedName{Namespace: "a", Name: "gone"})
	if others := m.ledger.Outstanding(next).Others; len(others) != 0 {
		t.Errorf("it still holds %+v", others)
	}
	m.ledger.Record(gone, scheduler.Admission{Verdict: scheduler.Wait, InLine: true})
	m.entered[appOf(gone)] = gone.ID
	m.forget(appOf(gone))
	if ahead := m.ledger.Outstanding(next).Ahead; ahead != 0 {
		t.Errorf("%d are ahead of it", ahead)
	}
}
