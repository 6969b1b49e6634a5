// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

const module = "github.com/firesteel-dev/firesteel/"

// usage is the time and memory of a stage or a package.
type usage struct {
	name    string
	seconds int
	// cpu is the CPU time of the process and of the children that it waited for, in seconds.
	cpu float64
}

// result is the result of a test or of a spec.
type result struct {
	// pkg is the folder of the package. name is the test's name or the spec's text; "" for a package that failed as a whole.
	pkg, name string
	took      time.Duration
	failed    bool
	// spec is set for a Ginkgo spec, whose order depends on the suite's seed. setUp is set for a set-up node of a suite, which has no text to focus on.
	spec, setUp bool
	seed        int64
	// ordered is the text of the container whose specs depend on each other. cut is set if an earlier failure in the container prevented the spec.
	ordered string
	cut     bool
	// where is the location of a spec's failure: file:line.
	where string
	// final is set for a failure that is not retried, because of the spec's label or because its suite or package did not finish.
	final bool
}

// safety is the label of specs that search for rare failures. They are never retried.
const safety = "safety"

func parseTimes(r io.Reader) ([]usage, error) {
	var out []usage
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), "\t", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%q: not seconds, CPU seconds and a name", lines.Text())
		}
		seconds, err := strconv.Atoi(fields[0])
		cpu, err2 := strconv.ParseFloat(fields[1], 64)
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		out = append(out, usage{fields[2], seconds, cpu})
	}
	return out, lines.Err()
}

// event is a line of `go test -json`: https://pkg.go.dev/cmd/test2json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// parseEvents returns the tests that ended. For a failed test with subtests it returns only the failed subtests, and for a failed package only the failed
// tests. Failures are final if the package did not finish, because some tests may not have run.
func parseEvents(r io.Reader) ([]result, error) {
	var out []result
	blamed, ended := map[string]bool{}, map[string]bool{}
	decoder := json.NewDecoder(r)
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		pkg := strings.TrimPrefix(strings.TrimPrefix(e.Package, module), "./") // go test names a missing package by its argument, such as ./x
		ended[pkg] = ended[pkg] || e.Test == "" && e.Output == "FAIL\n"        // missing after a panic, os.Exit, a kill or a timeout
		if e.Action != "pass" && e.Action != "fail" || e.Action == "pass" && e.Test == "" {
			continue
		}
		if e.Test == "" && !ended[pkg] {
			for i := range out {
				out[i].final = out[i].final || out[i].pkg == pkg
			}
		}
		failed := e.Action == "fail" && !blamed[pkg+" "+e.Test]
		if failed { // go test reports subtests before their tests, and the package last
			blamed[pkg+" "] = true
			for i, c := range e.Test {
				if c == '/' {
					blamed[pkg+" "+e.Test[:i]] = true
				}
			}
		}
		if e.Test != "" || failed {
			out = append(out, result{pkg: pkg, name: e.Test, took: time.Duration(e.Elapsed * float64(time.Second)), failed: failed})
		}
	}
}

// parseSpecs returns the specs of a suite. The report has the name of the suite's folder in test/.
func parseSpecs(file string) func(io.Reader) ([]result, error) {
	pkg := "test/" + strings.TrimSuffix(filepath.Base(file), ".json")
	return func(r io.Reader) ([]result, error) {
		var reports []types.Report
		if err := json.NewDecoder(r).Decode(&reports); err != nil {
			return nil, err
		}
		var out []result
		for _, report := range reports {
			for _, s := range report.SpecReports {
				// an earlier spec of the container failed, so this spec did not run
				cut := s.State.Is(types.SpecStateSkipped) && strings.Contains(s.Failure.Message, "an earlier spec in an ordered container failed")
				failed := s.State.Is(types.SpecStateFailureStates) || cut
				if s.State != types.SpecStatePassed && !failed || s.FullText() == "" && !failed {
					continue
				}
				one := result{pkg: pkg, name: cmp.Or(s.FullText(), s.LeafNodeType.String()), took: s.RunTime, failed: failed, spec: true,
					setUp: s.LeafNodeType != types.NodeTypeIt, cut: cut, seed: report.SuiteConfig.RandomSeed}
				if s.IsInOrderedContainer && len(s.ContainerHierarchyTexts) > 0 {
					one.ordered = s.ContainerHierarchyTexts[0]
				}
				if failed {
					one.where = fmt.Sprintf("%s:%d", filepath.Base(s.FailureLocation().FileName), s.FailureLocation().LineNumber)
					one.final = !cut && s.State != types.SpecStateFailed || slices.Contains(s.Labels(), safety)
				}
				out = append(out, one)
			}
		}
		return out, nil
	}
}

// suiteTests are the Go tests that run the specs of a package.
var suiteTests = map[string]string{"test/e2e": "TestE2E", "test/integration": "TestIntegration"}

// failuresOf returns the failed results. It omits the Go test of a suite if failed specs explain its failure.
func failuresOf(results []result) []result {
	told := map[string]bool{}
	for _, r := range results {
		told[r.pkg] = told[r.pkg] || r.spec && r.failed
	}
	return slices.DeleteFunc(slices.Clone(results), func(r result) bool {
		return !r.failed || told[r.pkg] && !r.spec && !r.final && r.name == suiteTests[r.pkg]
	})
}

func clock(seconds int) string { return fmt.Sprintf("%d:%02d", seconds/60, seconds%60) }

// short is the shortest duration to report, in seconds.
const short = 5

func writeTimes(out *strings.Builder, used []usage) {
	fmt.Fprintln(out, "== minutes and CPU seconds of each stage, and of each package while others ran beside it:")
	slices.SortStableFunc(used, func(a, b usage) int { return cmp.Compare(b.cpu, a.cpu) })
	for _, u := range used {
		if u.seconds >= short || u.cpu >= short {
			fmt.Fprintf(out, "%6s %6.0f  %s\n", clock(u.seconds), u.cpu, u.name)
		}
	}
}

// shown bounds the number of slowest tests in the report.
const shown = 12

// writeSlowest names the slowest specs, and the slowest tests that are no suites.
func writeSlowest(out *strings.Builder, results []result) {
	suites, parents := map[string]bool{}, map[string]bool{}
	for _, r := range results {
		suites[r.pkg] = suites[r.pkg] || r.spec
		if parent, _, is := strings.Cut(r.name, "/"); is && !r.spec {
			parents[r.pkg+" "+parent] = true
		}
	}
	slow := slices.DeleteFunc(slices.Clone(results), func(r result) bool {
		return !r.spec && (suites[r.pkg] || parents[r.pkg+" "+r.name] || strings.Count(r.name, "/") > 1) || r.took < short*time.Second
	})
	slices.SortStableFunc(slow, func(a, b result) int { return cmp.Compare(b.took, a.took) })
	if len(slow) > 0 {
		fmt.Fprintln(out, "== the slowest tests and specs:")
	}
	for _, r := range slow[:min(len(slow), shown)] {
		fmt.Fprintf(out, "%6s  %s: %s\n", clock(int(r.took.Seconds())), r.pkg, cut(r.name))
	}
}

// cut shortens the text of a spec.
func cut(s string) string {
	if runes := []rune(s); len(runes) > 150 {
		return string(runes[:147]) + "..."
	}
	return s
}

// writeFlakes names the tests that failed only once, so that a successful run does not hide them.
func writeFlakes(out *strings.Builder, flakes []result, seed string) {
	for _, r := range flakes {
		what := cut(r.name)
		if r.spec {
			what += fmt.Sprintf(" (%s, Ginkgo's seed %d)", r.where, r.seed)
		}
		fmt.Fprintf(out, "FLAKE %s: %s: it failed, and passed when it was tried again alone\n  again: %s\n", r.pkg, what, again(r, seed))
	}
}

// writeFailures writes the failures and how to repeat them. They are at the end, within the last ten lines.
func writeFailures(out *strings.Builder, failed []result, seed string) {
	const most = 4
	for i, r := range failed {
		if i == most {
			fmt.Fprintf(out, "... and %d more\n", len(failed)-most)
			break
		}
		what := cmp.Or(cut(r.name), "the package as a whole: it does not build, or ended before its tests did")
		if r.spec {
			what += fmt.Sprintf(" (%s, Ginkgo's seed %d)", r.where, r.seed)
		}
		fmt.Fprintf(out, "FAILED %s: %s\n  again: %s\n", r.pkg, what, again(r, seed))
	}
}

// targets are the make targets of packages that need more than Go, by folder. The longest matching folder counts.
var targets = map[string]string{
	"test/simulation": "test-simulation", "test/hostile": "test-hostile", "test/schedulers": "test-schedulers", "test/e2e": "test-e2e",
	"test/integration": "test-integration", "test/chart": "test-integration", "test/release": "test-integration",
	"test/docs": "test-integration", "test/bench": "test-integration",
	"test/bench/internal": "test-unit",
}

// again returns the command that repeats a failure.
func again(r result, seed string) string {
	target, longest := "test-unit", ""
	for folder, t := range targets {
		if (r.pkg == folder || strings.HasPrefix(r.pkg, folder+"/")) && len(folder) > len(longest) {
			target, longest = t, folder
		}
	}
	command := "make " + target + " PACKAGES=./" + r.pkg
	switch {
	case r.setUp:
	case r.spec:
		command += " FOCUS=" + quote(regexp.QuoteMeta(r.name))
	case r.name != "":
		command += " RUN=" + quote(runPattern(r.name))
	}
	if seed != "" {
		command += " FIRESTEEL_SEED=" + seed
	}
	return command
}

// runPattern returns the argument of go test -run for one test.
func runPattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// quote quotes a word for a shell that make starts. It doubles dollar signs.
func quote(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", `'\''`), "$", "$$") + "'"
}
