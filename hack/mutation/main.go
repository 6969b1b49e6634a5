// SPDX-License-Identifier: Apache-2.0

// Command mutation changes the code of a package in one place at a time, and reports the changes that no test finds.
//
//	mutation [-match REGEXP] FOLDER[,FOLDER]...      such as internal/schedule
//
// It changes the package in the first folder of an argument. The tests of the other folders, after a comma, count too. With -match it tries only the mutants
// whose names in the list of survivors match, and compares only the matching lines of that list: '^(ledger|line)\.go ' selects two files of a package.
//
// All mutants of a package are in one program, which is built once. An environment variable turns one of them on in each process. Only the tests that reach the
// mutant run, the quickest first. A survivor needs a line with its reason in hack/mutation/survivors/. Exit code 1: fewer than 95 % are found, a survivor has
// no reason, or a reason has no survivor.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// enough is the required share of found mutants, in percent.
const enough = 95

func main() {
	match := flag.String("match", "", "only mutants whose name in the list of survivors matches, such as '^ledger\\.go '")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, flag.Args(), *match); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folders []string, match string) error {
	if len(folders) == 0 {
		return errors.New("no package; write its folder, such as internal/schedule")
	}
	only, err := regexp.Compile(match)
	if err != nil {
		return fmt.Errorf("-match: %w", err)
	}
	var wrong []error
	var lines []string
	for _, names := range folders {
		tested := strings.Split(names, ",")
		folder := tested[0]
		r, err := try(ctx, tested, only)
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		if err := r.compare(filepath.Join("hack", "mutation", "survivors", strings.ReplaceAll(folder, "/", "-")+".txt"), only); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", folder, err))
		}
		lines = append(lines, r.String())
	}
	fmt.Println(strings.Join(lines, "\n"))
	return errors.Join(wrong...)
}

// outcome is the result of the mutants of a package.
type outcome struct {
	folder             string
	mutants, survivors []mutant
}

func (o *outcome) share() float64 {
	return 100 * float64(len(o.mutants)-len(o.survivors)) / float64(max(1, len(o.mutants)))
}

func (o *outcome) String() string {
	return fmt.Sprintf("mutation of %s: %d of %d found: %.1f %%", o.folder, len(o.mutants)-len(o.survivors), len(o.mutants), o.share())
}

// compare compares the survivors with the list. A line has a mutant and, after " -- ", the reason why no test needs to find it. It ignores lines that only does
// not match, because their mutants were not tried.
func (o *outcome) compare(list string, only *regexp.Regexp) error {
	text, err := os.ReadFile(list) //nolint:gosec // a file of the tree
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	reasons := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, reason, _ := strings.Cut(strings.TrimSpace(line), " --")
		if only.MatchString(name) {
			reasons[name] = strings.TrimSpace(reason)
		}
	}
	var wrong []string
	for _, m := range o.survivors {
		if reasons[m.key] == "" {
			wrong = append(wrong, "no test finds "+m.key)
		}
		delete(reasons, m.key)
	}
	delete(reasons, "")
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		wrong = append(wrong, "does not survive any more: "+name)
	}
	if o.share() < enough {
		wrong = append(wrong, fmt.Sprintf("%.1f %% of the mutants are found; needed are %d", o.share(), enough))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}
