// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A page quotes what the programs say. The texts of the sources are formats, or what a test expects of one.
func TestSchedulerMessages(t *testing.T) {
	const (
		core         = "internal/scheduler/"
		volcano      = core + "volcano/"
		yunikorn     = core + "yunikorn/"
		coscheduling = core + "coscheduling/"
		quota        = core + "quota/"
	)
	for page, quotes := range map[string]map[string]string{
		"volcano": {
			"waiting for Volcano to process PodGroup %s; if this lasts, check that its scheduler is running": volcano + "admit.go",
			"waiting for quota in queue %s: %s":                                                               volcano + "queues.go",
			"waiting for capacity in queue %s: %s":                                                            volcano + "admit.go",
			"; the queue has ":                                                                                volcano + "admit.go",
			"%s: queue %q does not exist; %s":                                                                 volcano + "queues.go",
			"queue %s is %s: it accepts no applications until it is opened again":                             volcano + "queues.go",
			"the request exceeds queue %s: %s":                                                                volcano + "queues.go",
			"%s: queue %q has child queues and accepts no applications; %s":                                   volcano + "queues.go",
			"queue %q may not be used from namespace %q":                                                      core + "queues.go",
			"%s: PriorityClass %q does not exist; create it or name another":                                  core + "decorate.go",
			"%s %s does not exist; create it, or remove its name from the labels and annotations of the pods": core + "usersgroup.go",
			"%s is not installed: the API server has no %s of %s %s; %s":                                      core + "readiness.go",
			"install Volcano with its CRDs":                                                                   volcano + "volcano.go",
			"dynamic allocation cannot grow to %d %s: they exceed %s: %s":                                     core + "pods.go",
			"%s asked %s, limit %s":                                                                           core + "amounts.go",
			"%s asked %s, free %s of %s":                                                                      core + "amounts.go",
			"asked cpu 7, memory 14Gi":                                                                        volcano + "volcano_test.go",
			"%d %s must exist before the first of them starts, but spark.kubernetes.allocation.maxPendingPods allows %d; raise it or turn the gang off": core + "gang.go",
		},
		"yunikorn": {
			"waiting for YuniKorn to process the %s pod; if it has no event of YuniKorn a minute after its creation, check that YuniKorn runs": yunikorn + "events.go",
			"waiting in %s for the capacity of the %s and %d %s: together they %s":                                                             yunikorn + "events.go",
			"waiting in %s for capacity or for its turn: the %s %s":                                                                            yunikorn + "events.go",
			"the %s waits for a node: ":                                                      core + "pods.go",
			"request is waiting for cluster resources become available":                      yunikorn + "events_test.go",
			"the %s pod was created for the scheduler %q, but has the scheduler name %q now": core + "core.go",
			"; YuniKorn says: ": yunikorn + "events.go",
			"Request 'p' does not fit in queue 'root.team-a' (requested map[vcore:2000], available map[vcore:0])":                                   yunikorn + "events_test.go",
			"; YuniKorn does not report what is missing: check the capacity of the queue and its maximum of running applications (maxapplications)": yunikorn + "events.go",
			"YuniKorn refused the %s; check that the queue exists, accepts applications and admits the user: ":                                      yunikorn + "observe.go",
			"queue root.spark.a cannot fit application q3":                                                                                          yunikorn + "yunikorn_test.go",
			"YuniKorn did not find capacity for the whole gang in time: ":                                                                           yunikorn + "observe.go",
			"Scheduling has timed out due to insufficient resources":                                                                                yunikorn + "yunikorn_test.go",
		},
		"coscheduling": {
			"no scheduler has processed the %s pod yet": core + "pods.go",
			"the %s waits for a node: ":                 core + "pods.go",
			"resource gap":                              coscheduling + "coscheduling_test.go",
			"%d of %d %s wait for a node":               core + "pods.go",
			"waiting for quota in namespace team-a: cpu asked 7, free 0 of 12 (the min of all ElasticQuotas together)":                                  quota + "quota_test.go",
			" cpu asked 200m, free 100m of 300m (ElasticQuota team-c)":                                                                                  "test/e2e/schedulers_test.go",
			"install the CRDs, the controller and the scheduler of kubernetes-sigs/scheduler-plugins":                                                   coscheduling + "coscheduling.go",
			"the request exceeds ElasticQuota a of namespace team-a: cpu asked 7, limit 5":                                                              quota + "quota_test.go",
			"%d %s must exist before the first of them starts, but spark.kubernetes.allocation.maxPendingPods allows %d; raise it or turn the gang off": core + "gang.go",
			"%s: PriorityClass %q does not exist; create it or name another":                                                                            core + "decorate.go",
		},
		"kube": {
			"waiting for quota in namespace team-a: requests.cpu asked 7, free 4 of 40 (ResourceQuota compute)":                                                         quota + "quota_test.go",
			"waiting for quota in namespace team-a: there is room, but others come first: 2 for requests.cpu (ResourceQuota compute)":                                   quota + "quota_test.go",
			"the request exceeds ResourceQuota compute of namespace team-a: requests.cpu asked 7, limit 6":                                                              quota + "quota_test.go",
			"ResourceQuota %s of namespace %s counts %s, but the %s has none and would be refused; set it (for limits.cpu: %s), or ask for a LimitRange with a default": quota + "resourcequota.go",
			"%s: PriorityClass %q does not exist; create it or name another":                                                                                            core + "decorate.go",
			"no scheduler has processed the driver pod; check that the scheduler named in its schedulerName is running":                                                 "internal/lifecycle/run.go",
			"0/3 nodes are available: 3 Insufficient cpu.":                                                                                                              "internal/lifecycle/testdata/stories/unschedulable.txt",
		},
	} {
		text := read(t, schedulerPages[page])
		for quote, source := range quotes {
			if !strings.Contains(joined.ReplaceAllString(read(t, source), ""), quote) {
				t.Errorf("%s does not say %q", source, quote)
			}
			if !formatted(quote).MatchString(text) {
				t.Errorf("%s does not quote %q", schedulerPages[page], quote)
			}
		}
	}
}

// joined matches the break of a text that takes two lines.
var joined = regexp.MustCompile(`" ?\+\n\s*"`)

// formatted is a pattern for what a format makes.
func formatted(format string) *regexp.Regexp {
	return regexp.MustCompile(strings.NewReplacer("%s", "[^|\n]+?", "%d", `\d+`, "%q", `"[^"\n]*"`).Replace(regexp.QuoteMeta(format)))
}

// Reasons are those of the closed list.
func TestSchedulerReasons(t *testing.T) {
	reason := regexp.MustCompile("(?m)^\\|(?: `(?:Admitted|DriverReady)` \\|)? `([A-Z][a-z]+(?:[A-Z][a-z]+)+)` \\|")
	list := read(t, "docs/conditions.md")
	for _, plugin := range slices.Sorted(maps.Keys(schedulerPages)) {
		found := reason.FindAllStringSubmatch(read(t, schedulerPages[plugin]), -1)
		if len(found) < 5 {
			t.Errorf("%s has only %d reasons", schedulerPages[plugin], len(found))
		}
		for _, m := range found {
			if !strings.Contains(list, "| `"+m[1]+"` |") {
				t.Errorf("%s: %s is no reason of docs/conditions.md", schedulerPages[plugin], m[1])
			}
		}
	}
}
