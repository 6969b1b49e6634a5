// SPDX-License-Identifier: Apache-2.0

// Command testreport reads the results of hack/test.sh in a folder, and prints where the time went. If tests failed, it prints the failures and how to repeat
// them.
//
//	testreport FOLDER
//	testreport tries FOLDER
//
// The folder has times.txt (seconds, CPU seconds and name of each stage and package, separated by tabs), go-*.json (events of go test -json) and
// specs/NAME.json (Ginkgo's report of the suite test/NAME). Its folder again has the same files of second tries. The exit code is 1 if a test failed and did
// not pass in the second try.
//
// tries prints the arguments of go test that try failed tests again, a line for each call. It prints nothing if a failure is final.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	var failed bool
	var err error
	switch arguments := os.Args[1:]; {
	case len(arguments) == 1:
		failed, err = run(arguments[0], os.Stdout)
	case len(arguments) == 2 && arguments[0] == "tries":
		err = tries(arguments[1], os.Stdout)
	default:
		err = errors.New("usage: testreport [tries] FOLDER")
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	case failed:
		os.Exit(1)
	}
}

func run(folder string, out io.Writer) (failed bool, err error) {
	used, err := read(filepath.Join(folder, "times.txt"), parseTimes)
	if err != nil {
		return false, err
	}
	first, err := resultsOf(folder)
	if err != nil {
		return false, err
	}
	second, err := resultsOf(filepath.Join(folder, "again"))
	if err != nil {
		return false, err
	}
	failures, flakes := settle(failuresOf(first), second)
	var text strings.Builder
	writeTimes(&text, used)
	writeSlowest(&text, first)
	writeFlakes(&text, flakes, os.Getenv("FIRESTEEL_SEED"))
	writeFailures(&text, failures, os.Getenv("FIRESTEEL_SEED"))
	if len(first) == 0 {
		text.WriteString("FAILED: no test ran: PACKAGES, RUN or FOCUS may name none\n")
	}
	_, err = io.WriteString(out, text.String())
	return len(failures) > 0 || len(first) == 0, err
}

func tries(folder string, out io.Writer) error {
	results, err := resultsOf(folder)
	if err != nil {
		return err
	}
	return writeTries(out, failuresOf(results))
}

// resultsOf reads the results of the tests of a run.
func resultsOf(folder string) ([]result, error) {
	var results []result
	for _, source := range []struct {
		pattern string
		parse   func(name string) func(io.Reader) ([]result, error)
	}{
		{"go-*.json", func(string) func(io.Reader) ([]result, error) { return parseEvents }},
		{"specs/*.json", parseSpecs},
	} {
		files, err := filepath.Glob(filepath.Join(folder, source.pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			more, err := read(file, source.parse(file))
			if err != nil {
				return nil, err
			}
			results = append(results, more...)
		}
	}
	return results, nil
}

// read parses a file. A missing file counts as empty, because a run may have ended before it was written.
func read[T any](path string, parse func(io.Reader) ([]T, error)) ([]T, error) {
	file, err := os.Open(path) //nolint:gosec // whoever runs the tests names the folder
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	out, err := parse(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return slices.Clip(out), nil
}
