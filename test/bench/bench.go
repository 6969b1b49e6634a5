// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
	"github.com/firesteel-dev/firesteel/test/bench/internal/plan"
	"github.com/firesteel-dev/firesteel/test/bench/internal/report"
)

// bench is a run.
type bench struct {
	options
	stdout io.Writer
	made   ground.Programs
	report report.Report
}

func newBench(o options, stdout io.Writer) *bench { return &bench{options: o, stdout: stdout} }

// run runs the steps. What was measured before one fails is shown and written, too.
func (b *bench) run(ctx context.Context, steps []plan.Step) error {
	log.SetLogger(logr.Discard()) // libraries have nothing to say that an error does not
	start := time.Now()
	sub, err := b.prepare(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, step := range steps {
		section, err := b.step(ctx, step, sub)
		if section.Name != "" {
			b.report.Sections = append(b.report.Sections, section)
			if _, err := fmt.Fprintln(b.stdout, section.Text(b.limit)); err != nil {
				return fmt.Errorf("show the numbers: %w", err)
			}
		}
		if err != nil {
			failed = fmt.Errorf("%s: %w", step, err)
			break
		}
	}
	b.report.Seconds = time.Since(start).Seconds()
	return errors.Join(failed, faults(b.report.Sections), b.write())
}

// prepare builds all programs.
func (b *bench) prepare(ctx context.Context) (subject, error) {
	for _, path := range []*string{&b.root, &b.out} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return subject{}, fmt.Errorf("find %s: %w", *path, err)
		}
		*path = absolute
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return subject{}, fmt.Errorf("make the folder for results: %w", err)
	}
	var err error
	if b.made, err = b.programs(ctx); err != nil {
		return subject{}, err
	}
	b.report = report.Report{Date: time.Now().UTC().Format(time.DateOnly), Commit: b.commit(ctx), Operator: "Firesteel", CPUs: runtime.NumCPU()}
	if b.operator != "" {
		b.report.Operator = b.operator
		return otherOperator(b.operator, b.readyURL), nil
	}
	binary, err := testrun.Program(ctx, b.root, b.out, testrun.Operator)
	return thisOperator(binary, b.root), err
}

// step runs a scenario, and, if it is comparable, runs it again with the limit in the operator's place.
func (b *bench) step(ctx context.Context, step plan.Step, sub subject) (report.Section, error) {
	s := scenarios[step.Scenario]
	section, err := b.measure(ctx, s, step, step.Size, sub)
	if err != nil {
		return section, err
	}
	if b.limit && s.limitSize != nil {
		other, err := b.measure(ctx, s, step, s.limitSize(step.Size), limitOf(b.made.Self))
		if err != nil {
			return section, fmt.Errorf("limit: %w", err)
		}
		section.Against(other)
	}
	if a := goals[step.Scenario]; step.Size >= a.from {
		err = section.Judge(a.goals)
	}
	return section, err
}

func (b *bench) measure(ctx context.Context, s scenario, step plan.Step, size int, sub subject) (report.Section, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.timeout, fmt.Errorf("it took longer than --timeout=%s", b.timeout))
	defer cancel()
	start := time.Now()
	logs := filepath.Join(b.out, "logs", strings.ReplaceAll(step.String(), ":", "-")+"-"+sub.name)
	if err := os.RemoveAll(logs); err != nil {
		return report.Section{}, fmt.Errorf("remove the logs of the last run: %w", err)
	}
	w, end, err := b.newEnvironment(ctx, s, size, sub, logs)
	if err != nil {
		return report.Section{}, err
	}
	defer end()
	w.section = report.Section{Name: step.String(), Title: fmt.Sprintf(s.title, report.Number(float64(step.Size)))}
	err = s.run(ctx, w)
	w.section.Seconds = time.Since(start).Seconds()
	return w.section, err
}

// write writes all forms of the report.
func (b *bench) write() error {
	text, err := b.report.JSON()
	if err != nil {
		return err
	}
	svg, err := b.report.SVG()
	if err != nil {
		return err
	}
	files := map[string]string{filepath.Join(b.out, "bench.json"): string(text), filepath.Join(b.out, "bench.svg"): svg}
	if b.markdown != "" {
		files[b.markdown] = b.report.Markdown()
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	_, err = fmt.Fprintf(b.stdout, "%s\nThe numbers are in %s, the logs in %s.\n",
		b.report.Head(), filepath.Join(b.out, "bench.json"), filepath.Join(b.out, "logs"))
	return err
}
