// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
)

// mapper answers what is installed, once for each look and the last answer from then on: nil for a definition that is there.
type mapper struct {
	meta.RESTMapper
	answers []error
	looks   int
}

func (m *mapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	m.looks++
	return &meta.RESTMapping{}, m.answers[min(m.looks, len(m.answers))-1]
}

// waitingManager keeps what is added to it.
type waitingManager struct {
	ctrl.Manager
	mapper *mapper
	added  []manager.Runnable
}

func (m *waitingManager) GetRESTMapper() meta.RESTMapper { return m.mapper }
func (m *waitingManager) GetLogger() logr.Logger         { return logr.Discard() }
func (m *waitingManager) Add(r manager.Runnable) error {
	m.added = append(m.added, r)
	return nil
}

func TestWhenInstalled(t *testing.T) {
	kind := kubeflow.SparkApplications{}.Family().GroupVersionKind()
	missing, down, broken := error(&meta.NoKindMatchError{GroupKind: kind.GroupKind()}), errors.New("connection refused"), errors.New("broken")
	cases := map[string]struct {
		reason  string
		answers []error
		setup   error // what adding the controller says
		now     bool  // it is added at once
		err     error
		after   time.Duration // or so long after the start
	}{
		"Installed":      {reason: "nothing to wait for", answers: []error{nil}, now: true},
		"Broken":         {reason: "a controller that cannot be made ends the operator", answers: []error{nil}, setup: broken, now: true, err: broken},
		"Down":           {reason: "at the start the API server has to answer", answers: []error{down}, err: down},
		"Late":           {reason: "added once it is there", answers: []error{missing, missing, nil}, after: 2 * installedPeriod},
		"LateAndDown":    {reason: "an API server that does not answer is asked again", answers: []error{missing, down, down, nil}, after: 3 * installedPeriod},
		"LateAndBroken":  {reason: "what goes wrong then ends the operator, too", answers: []error{missing, nil}, setup: broken, after: installedPeriod, err: broken},
		"NeverInstalled": {reason: "it costs nothing else", answers: []error{missing}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mgr := &waitingManager{mapper: &mapper{answers: tc.answers}}
				added := 0
				err := (&Shared{Manager: mgr}).WhenInstalled(kind, func() error {
					added++
					return tc.setup
				})
				if len(mgr.added) == 0 {
					if !errors.Is(err, tc.err) || added == 1 != tc.now {
						t.Errorf("%s: added %d times, %v", tc.reason, added, err)
					}
					return
				}
				late := mgr.added[0].(manager.LeaderElectionRunnable)
				if err != nil || added > 0 || late.NeedLeaderElection() {
					t.Fatalf("%s: added %d times, %v; a standby waits, too: %t", tc.reason, added, err, !late.NeedLeaderElection())
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				err = mgr.added[0].Start(ctx)
				if tc.after == 0 {
					if added > 0 || err != nil || ctx.Err() == nil {
						t.Errorf("%s: added %d times, %v", tc.reason, added, err)
					}
				} else if waited := time.Since(began); added != 1 || !errors.Is(err, tc.err) || waited != tc.after {
					t.Errorf("%s: added %d times after %s, want once after %s; %v", tc.reason, added, waited, tc.after, err)
				}
			})
		})
	}
}
