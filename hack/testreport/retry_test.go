// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTries(t *testing.T) {
	spec := func(name string) result {
		return result{pkg: "test/e2e", name: name, failed: true, spec: true}
	}
	kill, setUp := spec("kill"), spec("BeforeSuite")
	kill.final, setUp.setUp = true, true
	ordered := []result{spec("way a"), spec("way b"), spec("way c"), spec("way d"), spec("way e")}
	for i := range ordered {
		ordered[i].ordered, ordered[i].cut = "way", i > 0
	}
	row := result{pkg: "test/docs/guide", name: "TestPages/a_(b)", failed: true}
	for name, tc := range map[string]struct {
		reason string
		failed []result
		want   string
	}{
		"Specs":      {reason: "those of a suite in one call, by their words", failed: []result{spec("a (b)"), spec("c")}, want: "./test/e2e\t-ginkgo.fail-on-empty\t-ginkgo.focus=a \\(b\\)|c\n"},
		"Test":       {reason: "a test of a package below one that waits", failed: []result{row}, want: "./test/docs/guide\t-run=^TestPages$\n"},
		"Rows":       {reason: "the whole test, once: what came after the row that failed may not have run", failed: []result{row, {pkg: "test/docs/guide", name: "TestPages/c", failed: true}}, want: "./test/docs/guide\t-run=^TestPages$\n"},
		"Both":       {reason: "one call each", failed: []result{spec("c"), row}, want: "./test/docs/guide\t-run=^TestPages$\n./test/e2e\t-ginkgo.fail-on-empty\t-ginkgo.focus=c\n"},
		"Ordered":    {reason: "those that one kept from running are no causes, and need those before", failed: ordered, want: "./test/e2e\t-ginkgo.fail-on-empty\t-ginkgo.focus=way\n"},
		"Green":      {reason: "there is nothing to try"},
		"Many":       {reason: "so many are no accident", failed: []result{spec("a"), spec("b"), spec("c"), spec("d")}},
		"Safety":     {reason: "what looks for a rare fault has found it", failed: []result{spec("a"), kill}},
		"SetUp":      {reason: "so has what judges a whole suite", failed: []result{setUp}},
		"Hostile":    {reason: "an attack that succeeds once is one too many", failed: []result{{pkg: "test/hostile", name: "TestHostile/A", failed: true}}},
		"Simulation": {reason: "a history fails each time, or the simulation is broken", failed: []result{{pkg: "test/simulation", name: "TestHistories", failed: true}}},
		"Package":    {reason: "it may have ended before its other tests ran", failed: []result{{pkg: "test/chart", failed: true}}},
		"Suite":      {reason: "its specs have not told what failed", failed: []result{{pkg: "test/e2e", name: "TestE2E", failed: true}}},
		"Unit":       {reason: "it waits for nothing", failed: []result{{pkg: "internal/text", name: "TestCut", failed: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := writeTries(&out, tc.failed); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What a suite reports of specs that did not come to their end.
func TestFinal(t *testing.T) {
	const text = `[{"SpecReports":[
{"LeafNodeType":"It","LeafNodeText":"failed","State":"failed"},
{"LeafNodeType":"It","LeafNodeText":"kill","LeafNodeLabels":["safety"],"State":"failed"},
{"LeafNodeType":"It","LeafNodeText":"panicked","State":"panicked"},
{"LeafNodeType":"It","LeafNodeText":"ended with the suite","State":"timedout"},
{"LeafNodeType":"It","LeafNodeText":"filtered","State":"skipped"},
{"LeafNodeType":"It","LeafNodeText":"after it","ContainerHierarchyTexts":["way"],"IsInOrderedContainer":true,"State":"skipped","Failure":{"Message":"Spec skipped because an earlier spec in an ordered container failed"}}]}]`
	results, err := parseSpecs("specs/e2e.json")(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, r := range failuresOf(results) {
		got[r.name] = r.mayTryAgain()
		if r.cut != (r.ordered == "way") {
			t.Errorf("%s: cut %t in the ordered container %q", r.name, r.cut, r.ordered)
		}
	}
	want := map[string]bool{"failed": true, "kill": false, "panicked": false, "ended with the suite": false, "way after it": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A package that ended before its time may have tests that did not run, whichever of them it blames.
func TestEndedEarly(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, end string
		want        bool
	}{
		"Failed":   {reason: "go test says FAIL when all tests have run", end: `{"Action":"output","Package":"test/chart","Output":"FAIL\n"}`, want: true},
		"Panicked": {reason: "a panic, os.Exit, a kill and a time-out do not let it come to that", end: `{"Action":"output","Package":"test/chart","Output":"exit status 2\n"}`},
	} {
		t.Run(name, func(t *testing.T) {
			text := `{"Action":"fail","Package":"test/chart","Test":"TestA"}` + "\n" + tc.end + "\n" + `{"Action":"fail","Package":"test/chart"}`
			results, err := parseEvents(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			failed := failuresOf(results)
			if len(failed) != 1 || failed[0].mayTryAgain() != tc.want {
				t.Errorf("%s: %+v, want %t", tc.reason, failed, tc.want)
			}
		})
	}
}

func TestSettle(t *testing.T) {
	one := func(pkg, name string, failed bool) result { return result{pkg: pkg, name: name, failed: failed} }
	failed := []result{one("test/chart", "TestA", true), one("test/chart", "TestB", true), one("test/chart", "TestC", true), one("test/hostile", "TestD", true)}
	second := []result{one("test/chart", "TestA", false), one("test/chart", "TestB", true), one("test/hostile", "TestD", false), one("test/e2e", "The rights", true)}
	failures, flakes := settle(failed, second)
	names := func(results []result) (out []string) {
		for _, r := range results {
			out = append(out, r.name)
		}
		return out
	}
	// failed twice, not tried, not to be tried, failed in the second run only
	if diff := cmp.Diff([]string{"TestB", "TestC", "TestD", "The rights"}, names(failures)); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"TestA"}, names(flakes)); diff != "" {
		t.Errorf("flakes (-want +got):\n%s", diff)
	}
}
