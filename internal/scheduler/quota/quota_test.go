// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// attempt asks for 7 CPU and 14 GiB in namespace team-a.
func attempt() scheduler.Attempt { return schedulertest.Attempt("batch") }

// other is an attempt like it that was admitted, of which so many pods exist.
func other(namespace string, p scheduler.Progress) scheduler.Reservation {
	return scheduler.Reservation{ID: "other", Namespace: namespace, PodSets: attempt().PodSets, Progress: p}
}

// resourceQuota has limits and uses in the form "{requests.cpu: 40}".
func resourceQuota(tb testing.TB, name, hard, used, more string) *unstructured.Unstructured {
	tb.Helper()
	return schedulertest.Object(tb, fmt.Sprintf("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: %s, namespace: team-a}\nspec: {hard: %s%s}\nstatus: {used: %s}", name, hard, more, used))
}

func limitRange(tb testing.TB, defaults string) *unstructured.Unstructured {
	tb.Helper()
	return schedulertest.Object(tb, "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: team-a}\nspec: {limits: [{type: Pod, default: {cpu: 1}}, {type: Container, default: "+defaults+"}]}")
}

func requestRange(tb testing.TB, defaults string) *unstructured.Unstructured {
	tb.Helper()
	return schedulertest.Object(tb, "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: team-a}\nspec: {limits: [{type: Container, defaultRequest: "+defaults+"}]}")
}

func elasticQuota(tb testing.TB, namespace, name, limits, used string) *unstructured.Unstructured {
	tb.Helper()
	return schedulertest.Object(tb, fmt.Sprintf("apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\nmetadata: {name: %s, namespace: %s}\nspec: %s\nstatus: {used: %s}", name, namespace, limits, used))
}

func snapshot(quotas, ranges, elastic []*unstructured.Unstructured) scheduler.Snapshot {
	var own []*unstructured.Unstructured
	for _, q := range elastic {
		if q.GetNamespace() == "team-a" {
			own = append(own, q)
		}
	}
	return scheduler.Snapshot{
		{GroupVersionKind: resourceQuotaKind, Namespace: "team-a"}: scheduler.NewList(quotas...),
		{GroupVersionKind: limitRangeKind, Namespace: "team-a"}:    scheduler.NewList(ranges...),
		elasticQuotasIn("team-a"):                                  scheduler.NewList(own...),
		allElasticQuotas:                                           scheduler.NewList(elastic...),
	}
}

type objects = []*unstructured.Unstructured

func TestResourceQuota(t *testing.T) {
	quota := func(hard, used string) objects { return objects{resourceQuota(t, "compute", hard, used, "")} }
	scoped := func(scope string) objects {
		return objects{resourceQuota(t, "compute", "{requests.cpu: 1}", "{}", ", "+scope)}
	}
	classes := func(op, values string) objects {
		return scoped("scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: " + op + values + "}]}")
	}
	ahead := func(name corev1.ResourceName, h scheduler.Ahead) func(*scheduler.Attempt) {
		return func(a *scheduler.Attempt) {
			a.Quota.Ahead = map[scheduler.Line]scheduler.Ahead{{Namespace: "team-a", Quota: "ResourceQuota compute", Resource: name}: h}
		}
	}
	fully := scheduler.Progress{DriverCreated: true, ExecutorsCreated: 3}
	cases := map[string]struct {
		reason  string
		quotas  objects
		ranges  objects
		change  func(*scheduler.Attempt)
		verdict scheduler.Verdict
		code    scheduler.Reason
		message string
	}{
		"None":   {reason: "no quota"},
		"Room":   {reason: "it fits exactly", quotas: quota("{requests.cpu: 40, requests.memory: 64Gi, pods: 10}", "{requests.cpu: 33, requests.memory: 50Gi, pods: 6}")},
		"Full":   {reason: "it will pass, with numbers", quotas: quota("{requests.cpu: 40}", "{requests.cpu: 36}"), verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: requests.cpu asked 7, free 4 of 40 (ResourceQuota compute)"},
		"Short":  {reason: "cpu is another name for requests.cpu", quotas: quota("{cpu: 40}", "{cpu: 36}"), verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: cpu asked 7, free 4 of 40 (ResourceQuota compute)"},
		"Pods":   {reason: "pods are counted", quotas: quota("{pods: 10, count/pods: 10}", "{pods: 7, count/pods: 7}"), verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: count/pods asked 4, free 3 of 10; pods asked 4, free 3 of 10 (ResourceQuota compute)"},
		"Memory": {reason: "limits are counted", quotas: quota("{limits.memory: 16Gi}", "{limits.memory: 4Gi}"), verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: limits.memory asked 14Gi, free 12Gi of 16Gi (ResourceQuota compute)"},
		"TooBig": {reason: "it will not pass", quotas: quota("{requests.cpu: 6}", "{}"), verdict: scheduler.Reject, code: scheduler.ReasonExceedsQuota, message: "the request exceeds ResourceQuota compute of namespace team-a: requests.cpu asked 7, limit 6"},
		"GPU": {reason: "extended resources are counted as requests", change: func(a *scheduler.Attempt) {
			a.PodSets.Executor.Requests["nvidia.com/gpu"] = *a.PodSets.Driver.Requests.Cpu()
		}, quotas: quota("{requests.nvidia.com/gpu: 2}", "{}"), verdict: scheduler.Reject, code: scheduler.ReasonExceedsQuota, message: "the request exceeds ResourceQuota compute of namespace team-a: requests.nvidia.com/gpu asked 3, limit 2"},
		"Foreign":     {reason: "what pods do not take is not our affair", quotas: quota("{configmaps: 0, requests.storage: 0}", "{}")},
		"Worst":       {reason: "what will not pass is said before what will", quotas: objects{resourceQuota(t, "a", "{pods: 9}", "{pods: 9}", ""), resourceQuota(t, "b", "{requests.cpu: 1}", "{}", "")}, verdict: scheduler.Reject, code: scheduler.ReasonExceedsQuota, message: "the request exceeds ResourceQuota b of namespace team-a: requests.cpu asked 7, limit 1"},
		"NoLimit":     {reason: "the pods would be refused", quotas: quota("{limits.cpu: 100}", "{}"), verdict: scheduler.Reject, code: scheduler.ReasonQuotaRequiresLimits, message: "ResourceQuota compute of namespace team-a counts limits.cpu, but the driver has none and would be refused; set it (for limits.cpu: driver.coreLimit), or ask for a LimitRange with a default"},
		"Defaulted":   {reason: "a LimitRange gives them one", quotas: quota("{limits.cpu: 100}", "{}"), ranges: objects{limitRange(t, "{cpu: 2}")}},
		"DefaultUp":   {reason: "and it counts", quotas: quota("{limits.cpu: 10}", "{limits.cpu: 4}"), ranges: objects{limitRange(t, "{cpu: 2}")}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: limits.cpu asked 8, free 6 of 10 (ResourceQuota compute)"},
		"DefaultMore": {reason: "a default adds to what the pods ask for themselves, and does not replace it", quotas: quota("{requests.cpu: 7, requests.ephemeral-storage: 3Gi}", "{}"), ranges: objects{requestRange(t, "{cpu: 9, ephemeral-storage: 1Gi}")}, verdict: scheduler.Reject, code: scheduler.ReasonExceedsQuota, message: "the request exceeds ResourceQuota compute of namespace team-a: requests.ephemeral-storage asked 4Gi, limit 3Gi"},
		"DefaultPromised": {reason: "the pods of others get the same limits", change: func(a *scheduler.Attempt) {
			a.Quota.Others = []scheduler.Reservation{other("team-a", scheduler.Progress{})}
		}, quotas: quota("{limits.cpu: 10}", "{limits.cpu: 0}"), ranges: objects{limitRange(t, "{cpu: 2}")}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: limits.cpu asked 8, free 10 of 10, reserved 8 for others (ResourceQuota compute)"},
		"RequestPromised": {reason: "and the same requests", change: func(a *scheduler.Attempt) {
			a.Quota.Others = []scheduler.Reservation{other("team-a", scheduler.Progress{DriverCreated: true})}
		}, quotas: quota("{requests.ephemeral-storage: 6Gi}", "{}"), ranges: objects{requestRange(t, "{ephemeral-storage: 1Gi}")}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: requests.ephemeral-storage asked 4Gi, free 6Gi of 6Gi, reserved 3Gi for others (ResourceQuota compute)"},
		"Best":      {reason: "Spark's pods have requests", quotas: scoped("scopes: [BestEffort]")},
		"NotBest":   {reason: "Spark's pods have requests", quotas: scoped("scopes: [NotBestEffort, NotTerminating]"), verdict: scheduler.Reject, code: scheduler.ReasonExceedsQuota, message: "the request exceeds ResourceQuota compute of namespace team-a: requests.cpu asked 7, limit 1"},
		"Ending":    {reason: "its pods have no deadline", quotas: scoped("scopes: [Terminating]")},
		"Class":     {reason: "another class", quotas: classes("In", ", values: [low]")},
		"ClassIn":   {reason: "its class", change: func(a *scheduler.Attempt) { a.PriorityClass = "low" }, quotas: classes("In", ", values: [low]"), verdict: scheduler.Reject, code: scheduler.ReasonExceedsQuota, message: "the request exceeds ResourceQuota compute of namespace team-a: requests.cpu asked 7, limit 1"},
		"ClassRole": {reason: "the driver alone has it", change: func(a *scheduler.Attempt) { a.PodSets.DriverAttributes = spark.PodAttributes{PriorityClassName: "low"} }, quotas: classes("In", ", values: [low]")},
		"ClassNot":  {reason: "all but this class", quotas: classes("NotIn", ", values: [low]"), verdict: scheduler.Reject, code: scheduler.ReasonExceedsQuota, message: "the request exceeds ResourceQuota compute of namespace team-a: requests.cpu asked 7, limit 1"},
		"ClassAny":  {reason: "pods with a class", quotas: classes("Exists", "")},
		"ClassNone": {reason: "pods without a class", change: func(a *scheduler.Attempt) { a.PriorityClass = "low" }, quotas: classes("DoesNotExist", "")},
		"Promised": {reason: "what others will take is taken", change: func(a *scheduler.Attempt) {
			a.Quota.Others = []scheduler.Reservation{other("team-a", scheduler.Progress{})}
		}, quotas: quota("{requests.cpu: 10}", "{}"), verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: requests.cpu asked 7, free 10 of 10, reserved 7 for others (ResourceQuota compute)"},
		"Partly": {reason: "what exists is counted by the quota", change: func(a *scheduler.Attempt) {
			a.Quota.Others = []scheduler.Reservation{other("team-a", scheduler.Progress{DriverCreated: true, ExecutorsCreated: 1})}
		}, quotas: quota("{requests.cpu: 10}", "{requests.cpu: 3}"), verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: requests.cpu asked 7, free 7 of 10, reserved 4 for others (ResourceQuota compute)"},
		"Complete": {reason: "nothing is outstanding", change: func(a *scheduler.Attempt) { a.Quota.Others = []scheduler.Reservation{other("team-a", fully)} }, quotas: quota("{requests.cpu: 14}", "{requests.cpu: 7}")},
		"Elsewhere": {reason: "another namespace has its own quota", change: func(a *scheduler.Attempt) {
			a.Quota.Others = []scheduler.Reservation{other("team-b", scheduler.Progress{})}
		}, quotas: quota("{requests.cpu: 10}", "{}")},
		"Held":   {reason: "who was admitted needs no room any more", change: func(a *scheduler.Attempt) { a.Quota.Held = true }, quotas: quota("{requests.cpu: 10}", "{requests.cpu: 10}")},
		"Ahead":  {reason: "there is room for one of those ahead", change: ahead("requests.cpu", scheduler.Ahead{Count: 2, Least: resource.MustParse("9")}), quotas: quota("{requests.cpu: 10}", "{}"), verdict: scheduler.Wait, code: scheduler.ReasonBehindOthers, message: "waiting for quota in namespace team-a: there is room, but others come first: 2 for requests.cpu (ResourceQuota compute)"},
		"Passes": {reason: "there is no room for those ahead", change: ahead("requests.cpu", scheduler.Ahead{Count: 2, Least: resource.MustParse("11")}), quotas: quota("{requests.cpu: 10}", "{}")},
		"Fixed":  {reason: "one of those ahead may not be passed", change: ahead("requests.cpu", scheduler.Ahead{Count: 12, Fixed: 1, Least: resource.MustParse("11")}), quotas: quota("{requests.cpu: 10, pods: 10}", "{}"), verdict: scheduler.Wait, code: scheduler.ReasonBehindOthers, message: "waiting for quota in namespace team-a: there is room, but others come first: at least 10 for requests.cpu (ResourceQuota compute)"},
		"Line":   {reason: "it says for what, and how many are ahead", change: ahead("pods", scheduler.Ahead{Count: 234, Least: resource.MustParse("9")}), quotas: quota("{requests.cpu: 10, pods: 8}", "{requests.cpu: 4, pods: 5}"), verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: pods asked 4, free 3 of 8; requests.cpu asked 7, free 6 of 10 (ResourceQuota compute); ahead in line: at least 100 for pods (ResourceQuota compute)"},
		"Other":  {reason: "who waits for what it does not ask for is not ahead of it", change: ahead("requests.nvidia.com/gpu", scheduler.Ahead{Count: 2, Fixed: 2}), quotas: quota("{requests.cpu: 10, requests.nvidia.com/gpu: 1}", "{}")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			if tc.change != nil {
				tc.change(&a)
			}
			if tc.verdict == "" {
				tc.verdict, tc.code = scheduler.Admit, scheduler.ReasonAdmitted
			}
			got, err := scheduler.AdmitAttempt(New("Enforce", nil), a, snapshot(tc.quotas, tc.ranges, nil))
			if err != nil || got.Verdict != tc.verdict || got.Reason != tc.code || got.Message+got.Warning != tc.message || got.Reversible != (tc.verdict == scheduler.Reject) {
				t.Errorf("%s: %+v, %v; want %s, %s and %q", tc.reason, got, err, tc.verdict, tc.code, tc.message)
			}
			if waits := tc.verdict == scheduler.Wait; (len(got.Lines) > 0) != waits || (got.RetryAfter > 0) != waits {
				t.Errorf("%s: in the lines %+v, again after %s", tc.reason, got.Lines, got.RetryAfter)
			}
		})
	}
}

// The rules are those of CapacityScheduling: the namespace's max, and the sum of all mins.
func TestElasticQuota(t *testing.T) {
	const wide = "{min: {cpu: 100, memory: 100Gi}, max: {cpu: 100, memory: 100Gi}}"
	rich := elasticQuota(t, "team-b", "b", wide, "{}")
	borrows := elasticQuota(t, "team-b", "b", "{min: {cpu: 4, memory: 10Gi}}", "{cpu: 12, memory: 20Gi}") // with cpu from team-a's min
	cases := map[string]struct {
		reason  string
		quotas  objects
		change  func(*scheduler.Attempt)
		verdict scheduler.Verdict
		code    scheduler.Reason
		message string
	}{
		"None":    {reason: "a namespace without one is not bound", quotas: objects{elasticQuota(t, "team-b", "b", "{min: {cpu: 1}, max: {cpu: 1}}", "{}")}},
		"Room":    {reason: "it fits", quotas: objects{elasticQuota(t, "team-a", "a", wide, "{}")}},
		"Max":     {reason: "the namespace's own max", quotas: objects{elasticQuota(t, "team-a", "a", "{max: {cpu: 20, memory: 100Gi}}", "{cpu: 16}"), rich}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: cpu asked 7, free 4 of 20 (ElasticQuota a)"},
		"TooBig":  {reason: "more than its max", quotas: objects{elasticQuota(t, "team-a", "a", "{max: {cpu: 5, memory: 100Gi}}", "{}"), rich}, verdict: scheduler.Reject, code: scheduler.ReasonExceedsQuota, message: "the request exceeds ElasticQuota a of namespace team-a: cpu asked 7, limit 5"},
		"Unnamed": {reason: "what a max does not name is zero", quotas: objects{elasticQuota(t, "team-a", "a", "{max: {cpu: 20}}", "{}"), rich}, verdict: scheduler.Reject, code: scheduler.ReasonExceedsQuota, message: "the request exceeds ElasticQuota a of namespace team-a: memory asked 14Gi, limit 0"},
		"NoMax":   {reason: "no max is no limit", quotas: objects{elasticQuota(t, "team-a", "a", "{}", "{cpu: 50}"), rich}},
		"Floor":   {reason: "all together never use more than the sum of the mins", quotas: objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 4, memory: 100Gi}}", "{}"), elasticQuota(t, "team-b", "b", "{min: {cpu: 4}}", "{cpu: 3}")}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: cpu asked 7, free 5 of 8 (the min of all ElasticQuotas together)"},
		"NoFloor": {reason: "what no one has a min of, no one gets", quotas: objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 9}}", "{}")}, verdict: scheduler.Reject, code: scheduler.ReasonExceedsQuota, message: "the request exceeds the min of all ElasticQuotas together of namespace team-a: memory asked 14Gi, limit 0"},
		"Two":     {reason: "no one knows which one the scheduler uses", quotas: objects{elasticQuota(t, "team-a", "a", "{max: {cpu: 1}}", "{}"), elasticQuota(t, "team-a", "b", wide, "{}")}, message: "namespace team-a has 2 ElasticQuotas, but the scheduler uses only one: keep one"},
		"Starting": {reason: "the quota counts running pods only", change: func(a *scheduler.Attempt) {
			a.Quota.Others = []scheduler.Reservation{other("team-a", scheduler.Progress{DriverCreated: true, DriverRunning: true, ExecutorsCreated: 3, ExecutorsRunning: 1})}
		}, quotas: objects{elasticQuota(t, "team-a", "a", "{max: {cpu: 10, memory: 100Gi}}", "{cpu: 3}"), rich}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: cpu asked 7, free 7 of 10, reserved 4 for others (ElasticQuota a)"},
		"Borrower": {reason: "other bound namespaces count against the floor", change: func(a *scheduler.Attempt) {
			a.Quota.Others = []scheduler.Reservation{other("team-b", scheduler.Progress{})}
		}, quotas: objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 5, memory: 100Gi}}", "{}"), elasticQuota(t, "team-b", "b", "{min: {cpu: 5}}", "{}")}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: cpu asked 7, free 10 of 10, reserved 7 for others (the min of all ElasticQuotas together)"},
		"Free": {reason: "unbound namespaces do not", change: func(a *scheduler.Attempt) {
			a.Quota.Others = []scheduler.Reservation{other("team-c", scheduler.Progress{})}
		}, quotas: objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 8, memory: 100Gi}}", "{}")}},
		"Guaranteed": {reason: "its own min is its own: the scheduler takes it back from those who borrow it", quotas: objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 7, memory: 14Gi}}", "{}"), borrows}},
		"Promised": {reason: "what others of the namespace will use of the min is not free", change: func(a *scheduler.Attempt) {
			a.Quota.Others = []scheduler.Reservation{other("team-a", scheduler.Progress{DriverRunning: true, ExecutorsRunning: 3}), other("team-a", scheduler.Progress{DriverRunning: true, ExecutorsRunning: 2})}
		}, quotas: objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 8, memory: 100Gi}}", "{}"), borrows}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: cpu asked 7, free 0 of 12 (the min of all ElasticQuotas together)"},
		"Used":     {reason: "it would borrow, too", quotas: objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 8, memory: 100Gi}}", "{cpu: 2}"), borrows}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: cpu asked 7, free 0 of 12 (the min of all ElasticQuotas together)"},
		"InPart":   {reason: "a resource that its own min does not name is borrowed", quotas: objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 8}}", "{}"), elasticQuota(t, "team-b", "b", "{min: {memory: 20Gi}}", "{memory: 10Gi}")}, verdict: scheduler.Wait, code: scheduler.ReasonWaitingForQuota, message: "waiting for quota in namespace team-a: memory asked 14Gi, free 10Gi of 20Gi (the min of all ElasticQuotas together)"},
		"MaxOfMin": {reason: "max holds within min, too", quotas: objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 8, memory: 100Gi}, max: {cpu: 5, memory: 100Gi}}", "{}"), borrows}, verdict: scheduler.Reject, code: scheduler.ReasonExceedsQuota, message: "the request exceeds ElasticQuota a of namespace team-a: cpu asked 7, limit 5"},
		"Overtakes": {reason: "who borrows nothing does not wait behind those who want to", change: func(a *scheduler.Attempt) {
			a.Quota.Ahead = map[scheduler.Line]scheduler.Ahead{{Quota: "the min of all ElasticQuotas together", Resource: "cpu"}: {Count: 1, Fixed: 1}}
		}, quotas: objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 8, memory: 100Gi}}", "{}"), borrows}},
		"Growth":   {reason: "more than all mins together is said all the same", change: func(a *scheduler.Attempt) { a.PodSets.Max = 20 }, quotas: objects{elasticQuota(t, "team-a", "a", "{min: {cpu: 8, memory: 100Gi}}", "{}"), borrows}, message: "dynamic allocation cannot grow to 20 executors: they exceed the min of all ElasticQuotas together: cpu asked 41, limit 12"},
		"NotBound": {reason: "another scheduler ignores ElasticQuota", change: func(a *scheduler.Attempt) { a.Scheduler = "other" }, quotas: objects{elasticQuota(t, "team-a", "a", "{max: {cpu: 1}}", "{}")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			if tc.change != nil {
				tc.change(&a)
			}
			if tc.verdict == "" {
				tc.verdict, tc.code = scheduler.Admit, scheduler.ReasonAdmitted
			}
			got, err := scheduler.AdmitAttempt(New("Enforce", []string{"batch"}), a, snapshot(nil, nil, tc.quotas))
			if err != nil || got.Verdict != tc.verdict || got.Reason != tc.code || got.Message+got.Warning != tc.message || got.Reversible != (tc.verdict == scheduler.Reject) {
				t.Errorf("%s: %+v, %v; want %s, %s and %q", tc.reason, got, err, tc.verdict, tc.code, tc.message)
			}
		})
	}
}

// An operator that does not see all ElasticQuotas does not know the sum of their mins.
func TestElasticQuotaSeenInPart(t *testing.T) {
	own := elasticQuota(t, "team-a", "a", "{min: {cpu: 4, memory: 100Gi}, max: {cpu: 20, memory: 100Gi}}", "{cpu: 6}")
	cases := map[string]struct {
		reason  string
		all     *unstructured.Unstructured
		running string
		want    scheduler.Verdict
	}{
		"Part":      {reason: "a namespace that is not watched may have a min to borrow", all: scheduler.NewPartialList(own), want: scheduler.Admit},
		"Forbidden": {reason: "nor does it know what it may not read", all: &unstructured.Unstructured{}, want: scheduler.Admit},
		"Absent":    {reason: "nor what is not there", want: scheduler.Admit},
		"Full":      {reason: "the max of its own namespace it knows", all: scheduler.NewPartialList(own), running: "18", want: scheduler.Wait},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := snapshot(nil, nil, objects{own.DeepCopy()})
			s[allElasticQuotas] = tc.all
			if tc.running != "" {
				s[elasticQuotasIn("team-a")] = scheduler.NewList(elasticQuota(t, "team-a", "a", "{max: {cpu: 20, memory: 100Gi}}", "{cpu: "+tc.running+"}"))
			}
			got, err := scheduler.AdmitAttempt(New("Enforce", []string{"batch"}), attempt(), s)
			if err != nil || got.Verdict != tc.want {
				t.Errorf("%s: %+v, %v; want %s", tc.reason, got, err, tc.want)
			}
		})
	}
}

func TestSpoiltObjects(t *testing.T) {
	bad := schedulertest.Object(t, "kind: Quota\nmetadata: {name: q, namespace: team-a}\nspec: text")
	p := New("Enforce", []string{"batch"})
	for name, s := range map[string]scheduler.Snapshot{
		"ResourceQuota": snapshot(objects{bad}, nil, nil), "LimitRange": snapshot(nil, objects{bad}, nil), "ElasticQuota": snapshot(nil, nil, objects{bad}),
	} {
		if got, err := scheduler.AdmitAttempt(p, attempt(), s); err == nil || got.Verdict != scheduler.Unavailable || !strings.Contains(got.Message, "decode") {
			t.Errorf("%s: %+v, %v: an error is no verdict", name, got, err)
		}
	}
}

// Two applications race for one slot, as the engine lets them: exactly one enters, and the other has the numbers.
func TestRace(t *testing.T) {
	cluster := snapshot(objects{resourceQuota(t, "compute", "{requests.cpu: 10}", "{}", "")}, nil, nil)
	for range 100 {
		ledger := scheduler.NewLedger(scheduler.Order{})
		var lock sync.Mutex
		var group sync.WaitGroup
		answers := make(chan scheduler.Admission, 2)
		for _, id := range []string{"a", "b"} {
			group.Go(func() {
				lock.Lock()
				defer lock.Unlock()
				a := attempt()
				a.ID = id
				a.Quota = ledger.Outstanding(a, a.QueuedAt)
				plan, err := scheduler.AdmitAttempt(New("Enforce", nil), a, cluster)
				if err != nil {
					t.Error(err)
				}
				ledger.Record(a, plan, a.QueuedAt)
				answers <- plan
			})
		}
		group.Wait()
		close(answers)
		got := map[scheduler.Verdict]string{}
		for plan := range answers {
			got[plan.Verdict] = plan.Message
		}
		want := map[scheduler.Verdict]string{
			scheduler.Admit: "", scheduler.Wait: "waiting for quota in namespace team-a: requests.cpu asked 7, free 10 of 10, reserved 7 for others (ResourceQuota compute)",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("exactly one enters (-want +got):\n%s", diff)
		}
	}
}

// A ledger that was lost says the same after the attempts that have a driver were entered again.
func TestRebuild(t *testing.T) {
	cluster := snapshot(objects{resourceQuota(t, "compute", "{requests.cpu: 10}", "{requests.cpu: 3}", "")}, nil, nil)
	first := attempt()
	first.ID = "first"
	seen := scheduler.Progress{DriverCreated: true, ExecutorsCreated: 1}
	old := scheduler.NewLedger(scheduler.Order{})
	old.Record(first, scheduler.Admission{Verdict: scheduler.Admit}, first.QueuedAt)
	old.Settle("first", seen, first.QueuedAt)
	rebuilt := scheduler.NewLedger(scheduler.Order{})
	rebuilt.Reserve(first)
	rebuilt.Settle("first", seen, first.QueuedAt)
	var plans []scheduler.Admission
	for _, ledger := range []*scheduler.Ledger{old, rebuilt} {
		a := attempt()
		a.Quota = ledger.Outstanding(a, a.QueuedAt)
		plan, err := scheduler.AdmitAttempt(New("Enforce", nil), a, cluster)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, plan)
	}
	if diff := cmp.Diff(plans[0], plans[1]); diff != "" || plans[0].Verdict != scheduler.Wait {
		t.Errorf("%+v (-before +after):\n%s", plans[0], diff)
	}
}

func FuzzPlugin(f *testing.F) {
	quotas := scheduler.NewList(resourceQuota(f, "q", "{requests.cpu: 10, pods: 3}", "{requests.cpu: 3}", ""))
	gate := chained{scheduler.Chain(New("Enforce", nil), placement{})}
	schedulertest.Fuzz(f, gate, func(r scheduler.Read) *unstructured.Unstructured {
		if r.GroupVersionKind == resourceQuotaKind {
			return quotas
		}
		return nil
	})
}

// placement lets everything through; chained names the two together.
type placement struct{}

func (placement) Describe() scheduler.Descriptor                          { return scheduler.Descriptor{Name: "batch"} }
func (placement) Validate(scheduler.Attempt) field.ErrorList              { return nil }
func (placement) Reads(scheduler.Attempt) []scheduler.Read                { return nil }
func (placement) Decorate(scheduler.Attempt, *scheduler.Decoration) error { return nil }
func (placement) Admit(scheduler.Attempt, scheduler.Snapshot) (scheduler.Admission, error) {
	return scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Message: "placed"}, nil
}

type chained struct{ scheduler.Plugin }

// A namespace with 4 quotas, 50 others that start, and ElasticQuotas in 50 namespaces.
func BenchmarkAdmit(b *testing.B) {
	var quotas, elastic objects
	for i := range 4 {
		quotas = append(quotas, resourceQuota(b, fmt.Sprint("q", i), "{requests.cpu: 1000, requests.memory: 4Ti, pods: 1000}", "{requests.cpu: 3}", ""))
	}
	for i := range 50 {
		elastic = append(elastic, elasticQuota(b, fmt.Sprint("n", i), "q", "{min: {cpu: 100, memory: 400Gi}}", "{cpu: 3}"))
	}
	elastic = append(elastic, elasticQuota(b, "team-a", "q", "{min: {cpu: 100, memory: 400Gi}}", "{cpu: 3}"))
	ledger := scheduler.NewLedger(scheduler.Order{})
	for i := range 50 {
		a := attempt()
		a.ID = fmt.Sprint("other-", i)
		ledger.Reserve(a)
	}
	a := attempt()
	a.Quota = ledger.Outstanding(a, a.QueuedAt)
	schedulertest.Bench(b, New("Enforce", []string{"batch"}), a, snapshot(quotas, nil, elastic))
}
