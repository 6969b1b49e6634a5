// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// waiting are the packages whose tests wait for processes of this machine, which may be too busy once.
var waiting = []string{"test/e2e", "test/integration", "test/schedulers", "test/chart", "test/docs", "test/release", "test/bench"}

// mostTries is how many failures may each be by chance; more have a cause in common.
const mostTries = 3

// mayTryAgain reports whether a busy machine may have caused the failure. Unfinished suites, packages that failed as a whole,
// and safety specs are excluded.
func (r result) mayTryAgain() bool {
	waits := slices.ContainsFunc(waiting, func(folder string) bool { return r.pkg == folder || strings.HasPrefix(r.pkg, folder+"/") })
	return waits && r.name != "" && !r.final && !r.setUp && (r.spec || suiteTests[r.pkg] == "")
}

// writeTries writes the arguments of go test that try the failures again, a line for each package's specs and for each other test, separated by
// tabs. A test is tried with all its rows, and a spec with all of its ordered container: some may not have run after the one that failed. It writes
// nothing when one of them may not be tried.
func writeTries(out io.Writer, failed []result) error {
	causes := 0
	for _, r := range failed {
		if !r.cut {
			causes++
		}
	}
	if len(failed) == 0 || causes > mostTries || slices.ContainsFunc(failed, func(r result) bool { return !r.mayTryAgain() }) {
		return nil
	}
	specs := map[string][]string{}
	var lines []string
	for _, r := range failed {
		if r.spec {
			if words := regexp.QuoteMeta(cmp.Or(r.ordered, r.name)); !slices.Contains(specs[r.pkg], words) {
				specs[r.pkg] = append(specs[r.pkg], words)
			}
			continue
		}
		test, _, _ := strings.Cut(r.name, "/")
		lines = append(lines, "./"+r.pkg+"\t-run="+runPattern(test))
	}
	for pkg, patterns := range specs {
		lines = append(lines, "./"+pkg+"\t-ginkgo.fail-on-empty\t-ginkgo.focus="+strings.Join(patterns, "|"))
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// settle takes the failures that passed when they were tried again out of those of a run. What failed in the second try only is a failure, too.
func settle(failed, second []result) (failures, flakes []result) {
	same := func(a result) func(result) bool {
		return func(b result) bool { return a.pkg == b.pkg && a.name == b.name && a.spec == b.spec }
	}
	for _, r := range failed {
		if i := slices.IndexFunc(second, same(r)); i >= 0 && !second[i].failed && r.mayTryAgain() {
			flakes = append(flakes, r)
		} else {
			failures = append(failures, r)
		}
	}
	for _, r := range failuresOf(second) {
		if !slices.ContainsFunc(failures, same(r)) {
			failures = append(failures, r)
		}
	}
	return failures, flakes
}
