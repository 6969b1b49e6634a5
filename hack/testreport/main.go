// SPDX-License-Identifier: Apache-2.0

// Command testreport reads what a run of hack/test.sh has left in a folder and prints where the time went; of a red run, what failed and how to repeat it.
//
//	testreport FOLDER
//
// The folder has times.txt (seconds, CPU seconds and name of each stage and package, separated by tabs), go-*.json (events of go test -json) and
// specs/NAME.json (Ginkgo's report of the suite test/NAME). The exit code is 1 when a test failed.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: testreport FOLDER")
		os.Exit(2)
	}
	failed, err := run(os.Args[1], os.Stdout)
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
			return false, err
		}
		for _, file := range files {
			more, err := read(file, source.parse(file))
			if err != nil {
				return false, err
			}
			results = append(results, more...)
		}
	}
	failures := failures(results)
	var text strings.Builder
	writeTimes(&text, used)
	writeSlowest(&text, results)
	writeFailures(&text, failures, os.Getenv("FIRESTEEL_SEED"))
	if len(results) == 0 {
		text.WriteString("FAILED: no test ran: PACKAGES, RUN or FOCUS may name none\n")
	}
	_, err = io.WriteString(out, text.String())
	return len(failures) > 0 || len(results) == 0, err
}

// read parses a file. One that is not there is empty: a run may have ended before it was written.
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
