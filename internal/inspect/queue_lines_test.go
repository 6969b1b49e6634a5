// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/quota"
)

// restricted is a cluster in which a user sees some namespaces only.
type restricted struct{ client.Reader }

func (restricted) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, key.Name, nil)
}

func (restricted) List(_ context.Context, o client.ObjectList, options ...client.ListOption) error {
	if (&client.ListOptions{}).ApplyOptions(options).Namespace == "" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "any"}, "", nil)
	}
	return nil
}

// What a user may not see makes positions unknown, not wrong.
func TestStandingsOfWhatIsHidden(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		class, plugin string
		hidden        bool
		says          string
	}{
		"Own":      {reason: "all that matters is in the namespace", plugin: "kube"},
		"Shared":   {reason: "quotas of other namespaces matter", plugin: "coscheduling", hidden: true},
		"Priority": {reason: "a priority that is not known may be the highest", plugin: "kube", class: "high", says: "PriorityClass high of jobs/a: you may not read it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &standings{plugin: quota.New("Enforce", []string{"coscheduling"}), reader: observe.Reader{Live: restricted{}}, seen: scheduler.Snapshot{}}
			w := contender{Attempt: scheduler.Attempt{App: scheduler.App{Namespace: "jobs", Name: "a"}, PriorityClass: tc.class, Choice: scheduler.Choice{Scheduler: tc.plugin}}}
			err := s.look(t.Context(), &w)
			if s.hidden != tc.hidden || (tc.says == "") != (err == nil) || err != nil && err.Error() != tc.says {
				t.Errorf("%s: hidden %v, %v", tc.reason, s.hidden, err)
			}
		})
	}
}
