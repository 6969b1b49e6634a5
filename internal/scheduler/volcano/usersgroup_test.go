// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// Pods that the user put into a group stay there: the plugin waits for it, makes none and touches none.
func TestUsersGroup(t *testing.T) {
	mine := map[string]string{"scheduling.k8s.io/group-name": "mine"}
	theirs := scheduler.Ref{GroupVersionKind: podGroupKind, Namespace: "team-a", Name: "mine"}
	inQueue := func(name string) *unstructured.Unstructured {
		return schedulertest.Object(t, "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: mine, namespace: team-a}\nspec: {minMember: 2, queue: "+name+"}")
	}
	cases := map[string]struct {
		reason  string
		set     func(*scheduler.Attempt)
		group   *unstructured.Unstructured
		before  *unstructured.Unstructured
		verdict scheduler.Verdict
		code    scheduler.Reason
		says    string
		deletes int
	}{
		"Absent": {reason: "Volcano would leave the pods alone without a word", verdict: scheduler.Wait, code: scheduler.ReasonPodGroupNotFound, says: "PodGroup mine does not exist; create it"},
		"There":  {reason: "the group decides, whatever its phase and the queue of the application", group: inQueue("team-a"), verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, says: "the pods belong to PodGroup mine"},
		"Executors": {reason: "the driver is in none", set: func(a *scheduler.Attempt) { a.PodSets.DriverAttributes.Annotations = nil }, group: inQueue("team-a"),
			verdict: scheduler.Admit, code: scheduler.ReasonAdmitted},
		"Queue": {reason: "who may use which queue holds for a group, too", set: func(a *scheduler.Attempt) { a.UsableQueues = []string{"team-a"} }, group: inQueue("others"),
			verdict: scheduler.Reject, code: scheduler.ReasonQueueForbidden, says: `PodGroup mine is in queue "others", which may not be used from namespace "team-a"; queues you may use: team-a`},
		"Before": {reason: "the one that was made before the edit would hold room", group: inQueue("team-a"), before: podGroup(t, "Inqueue"), verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, deletes: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := schedulertest.Attempt(Name)
			a.PodSets.DriverAttributes.Annotations, a.PodSets.ExecutorAttributes.Annotations = mine, mine
			if tc.set != nil {
				tc.set(&a)
			}
			s := snapshot(a, tc.before, nil)
			s[theirs.Read()] = tc.group
			got, err := scheduler.AdmitAttempt(New(""), a, s)
			if err != nil || got.Verdict != tc.verdict || got.Reason != tc.code || !strings.Contains(got.Message, tc.says) || len(got.Apply) > 0 || len(got.Delete) != tc.deletes {
				t.Errorf("%s: %+v, %v", tc.reason, got, err)
			}
			app, err := scheduler.Decorate(New(""), a, spark.Application{})
			if err != nil || len(app.Driver.Overlay.Annotations)+len(app.Executor.Overlay.Annotations) > 0 || app.Driver.Overlay.SchedulerName == "" {
				t.Errorf("%s: marks %+v, %v", tc.reason, app, err)
			}
			runs := scheduler.PodStatuses{Driver: &scheduler.PodStatus{Phase: corev1.PodRunning, Node: "n", Started: true}}
			if o, err := scheduler.Observe(New(""), a, s, runs); err != nil || len(o.Apply) > 0 {
				t.Errorf("%s: it writes %+v, %v", tc.reason, o.Apply, err)
			}
			schedulertest.Keeps(t, New(""), a, s, runs)
		})
	}
}
