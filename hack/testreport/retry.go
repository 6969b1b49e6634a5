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

// waiting are the packages whose tests wait for processes on this machine, which may be too busy.
var waiting = []string{"test/e2e", "test/integration", "test/schedulers", "test/chart", "test/docs", "test/release", "test/bench"}

// mostTries is the maximum number of failures that are retried. More failures have a common cause.
const mostTries = 3

// mayTryAgain reports whether a busy machine may have caused the failure. It is false for unfinished suites, packages that failed as a whole, and safety specs.
func (r result) mayTryAgain() bool {
	waits := slices.ContainsFunc(waiting, func(folder string) bool { return r.pkg == folder || strings.HasPrefix(r.pkg, folder+"/") })
	return waits && r.name != "" && !r.final && !r.setUp && (r.spec || suiteTests[r.pkg] == "")
}

// writeTries writes the arguments of go test that try the failures again, separated by tabs: a line for each package's specs, and for each other test. A test
// is retried with all its rows, and a spec with its whole ordered container, because some may not have run after the failure. It writes nothing if one of the
// failures may not be retried.
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

// settle separates the failures of a run from those that passed in the second try. A test that failed only in the second try is a failure, too.
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
