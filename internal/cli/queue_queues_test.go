// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

var volcanoQueueKind = schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "Queue"}

// volcanoQueue is a Queue with a specification and what Volcano has allocated of it.
func volcanoQueue(name string, spec, allocated map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": map[string]any{"state": "Open", "allocated": allocated}}}
	u.SetGroupVersionKind(volcanoQueueKind)
	u.SetName(name)
	return u
}

// queuesToSee is a cluster in which applications and a cluster wait in queues of Volcano and of YuniKorn.
func queuesToSee(t *testing.T, configured bool) *apiserver.Server {
	t.Helper()
	type amounts = map[string]any
	waits := func(name, namespace, plugin, queue string, since time.Duration) *v1beta2.SparkApplication {
		o := inState(name, v1beta2.ApplicationStateSubmitted, inQueue(plugin, queue, since, "WaitingForCapacity", "waiting for capacity in queue "+queue), recorded)
		o.Namespace = namespace
		return o
	}
	a := newAPI(t, waits("first", "jobs", "volcano", "team-a", 5*time.Minute), waits("second", "jobs", "volcano", "team-a", 4*time.Minute), ofCluster("lab", twoCores, queuedCluster),
		waits("other", "etl", "volcano", "team-b", 40*time.Minute), waits("typo", "etl", "volcano", "taem-b", 30*time.Minute), waits("elsewhere", "etl", "yunikorn", "root.etl", 20*time.Minute),
		inState("placing", v1beta2.ApplicationStateSubmitted, inQueue("volcano", "team-a", time.Hour, "Unschedulable", "0/3 nodes are available"), recorded, func(o *v1beta2.SparkApplication) {
			o.Status.ExecutionAttempts, o.Status.LastSubmissionAttemptTime = 1, before(50*time.Minute)
			o.Status.Conditions = []metav1.Condition{{Type: "Submitted", Status: "True"}, {Type: "DriverReady", Status: "False", Reason: "Unschedulable", Message: "0/3 nodes are available"}}
		}))
	if configured {
		deployment, stored := operatorWith(configHead + "batchScheduler: {enabled: [kube, volcano, yunikorn], quota: {mode: Enforce}}\n")
		a.Put(deployment)
		a.Put(stored)
	}
	a.Install(volcanoQueueKind)
	for _, queue := range []*unstructured.Unstructured{
		volcanoQueue("root", amounts{"deserved": amounts{"cpu": "0", "memory": "0"}}, amounts{"cpu": "12", "memory": "18Gi"}),
		volcanoQueue("dept", amounts{"capability": amounts{"cpu": "12"}}, amounts{"cpu": "12", "memory": "18Gi"}),
		volcanoQueue("team-a", amounts{"parent": "dept", "capability": amounts{"cpu": "10", "memory": "64Gi"}, "deserved": amounts{"cpu": "6"}, "guarantee": amounts{"resource": amounts{"cpu": "2"}}}, amounts{"cpu": "8", "memory": "12884901888"}),
		volcanoQueue("team-b", amounts{"parent": "dept"}, amounts{"cpu": "4", "memory": "6Gi"}),
		volcanoQueue("idle", amounts{"capability": amounts{"cpu": "1"}}, amounts{}),
	} {
		a.Put(queue)
	}
	return a
}

func TestQueueShowsQueues(t *testing.T) {
	queuesToSee(t, true)
	for name, args := range map[string][]string{"queue-queues": {"queue", "-A"}, "queue-queues-one": {"queue", "--queue", "team-a"}} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := execute(t, "", args...)
			if code != 0 {
				t.Error(errOut)
			}
			testutil.Golden(t, "testdata/"+name+".golden", "# stdout\n"+columns.ReplaceAllString(ages.ReplaceAllString(out, "AGE"), "  ")+"# stderr\n"+errOut)
		})
	}
}

// Programs find the queues beside the lines of quotas, and learn what is missing. Who may see a part sees it.
func TestQueueReportsQueues(t *testing.T) {
	list := apiserver.Request{Verb: "list", Resource: "queues"}
	etl := map[string]string{
		"* Queue dept cpu": "1 waits 40m, 3 of 12, limit 12", "* Queue dept memory": "1 waits 40m, 4224Mi of 18Gi, no limit",
		"* Queue team-b cpu": "1 waits 40m, 3 of 4, no limit", "* Queue team-b memory": "1 waits 40m, 4224Mi of 6Gi, no limit",
	}
	cases := map[string]struct {
		reason       string
		configured   bool
		prepare      func(*apiserver.Server)
		args         []string
		want         map[string]string
		errOut, lack string
	}{
		"All":          {reason: "one of etl waits in a queue that reports numbers", configured: true, want: etl},
		"Denied":       {reason: "the queues are left out and the rest is there", configured: true, prepare: func(a *apiserver.Server) { a.Deny(list) }, errOut: "the usage of queues is unknown: ", lack: "positions"},
		"Unconfigured": {reason: "what is recorded suffices; that policies may say more is said", want: etl, errOut: "the requests in queues may differ: configuration of the operator"},
		"NotInstalled": {reason: "there are no queues", configured: true, prepare: func(a *apiserver.Server) { a.Uninstall(volcanoQueueKind) }},
		"Misconfigured": {
			reason: "the file cannot be read", configured: true, args: []string{"--config", "missing.yaml"}, errOut: "the usage of queues is unknown: ",
		},
		"Broken": {
			reason: "a queue that cannot be read is named", configured: true, errOut: "decode Queue team-b",
			prepare: func(a *apiserver.Server) {
				a.Put(volcanoQueue("team-b", map[string]any{"capability": map[string]any{"cpu": "much"}}, nil))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := queuesToSee(t, tc.configured)
			if tc.prepare != nil {
				tc.prepare(a)
			}
			out, errOut, code := execute(t, "", append([]string{"queue", "-n", "etl", "-o", "json"}, tc.args...)...)
			var report struct {
				Items, Lines []map[string]any
				Queues       []queueLine
			}
			if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || len(report.Items) != 3 || len(report.Lines) != 0 || report.Queues == nil {
				t.Fatal(err, code, errOut, out)
			}
			var got map[string]string
			for _, q := range report.Queues {
				if got == nil {
					got = map[string]string{}
				}
				limit := "no limit"
				if q.Limit != nil {
					limit = "limit " + q.Limit.String()
				}
				got[q.Namespace+" "+q.Quota+" "+q.Resource] = fmt.Sprintf("%d waits %dm, %s of %s, %s", q.Waiting, q.LongestWaitSeconds/60, &q.Asked, &q.Used, limit)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s%s", tc.reason, diff, errOut)
			}
			if (tc.errOut == "") != (errOut == "") || !strings.Contains(errOut, tc.errOut) || tc.lack != "" && strings.Contains(errOut, tc.lack) {
				t.Errorf("%s: it says %q", tc.reason, errOut)
			}
			if lists := queueLists(a); tc.want != nil && lists != 1 {
				t.Errorf("%s: queues are listed %d times", tc.reason, lists)
			}
		})
	}
}

// Most tenants may not list queues, and look often: the table leaves them out.
func TestQueueWithoutQueues(t *testing.T) {
	queuesToSee(t, true).Deny(apiserver.Request{Verb: "list", Resource: "queues"})
	out, errOut, code := execute(t, "", "queue", "-A")
	if code != 0 || errOut != "" || strings.Contains(out, "Queue ") || !strings.Contains(out, "second") {
		t.Errorf("exit code %d, %q:\n%s", code, errOut, out)
	}
}

// queueLists is how often queues were listed.
func queueLists(a *apiserver.Server) int {
	lists := 0
	for _, r := range a.Requests() {
		if r.Verb == "list" && r.Resource == "queues" {
			lists++
		}
	}
	return lists
}
