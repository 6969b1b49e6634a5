// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/go/packages"
)

//go:embed runtime.txt
var helpers string

const (
	// instant is the maximum CPU time of the tests that run first. They find most mutants.
	instant = 200 * time.Millisecond
	// quick is the maximum CPU time of a test that runs in one process with others.
	quick = time.Second
	// slow is the maximum time of any test.
	slow = 30 * time.Second
)

// test is a test with the mutants that it reaches. The load of the machine changes its duration, and not its CPU time.
type test struct {
	folder, name string
	took, cpu    time.Duration
	reach        map[int]bool
}

// trial is a package with its mutants, and the test programs of some folders.
type trial struct {
	folder, work string
	folders      []string
	mutants      []mutant
	tests        []test
}

// try finds out which mutants of the package in the first folder are found by the tests in all folders.
func try(ctx context.Context, folders []string, only *regexp.Regexp) (*outcome, error) {
	work, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work) //nolint:errcheck // it is temporary
	t := &trial{folder: folders[0], folders: folders, work: work}
	if err := t.build(ctx); err != nil {
		return nil, err
	}
	for _, folder := range folders {
		if err := t.trace(ctx, folder); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(t.tests, func(a, b test) int { return cmp.Compare(a.cpu, b.cpu) })
	t.mutants = slices.DeleteFunc(t.mutants, func(m mutant) bool { return !only.MatchString(m.key) })
	o := &outcome{folder: t.folder, mutants: t.mutants}
	found, err := t.all(ctx)
	for i, m := range t.mutants {
		if !found[i] {
			o.survivors = append(o.survivors, m)
		}
	}
	return o, err
}

// program returns the path of a folder's test program.
func (t *trial) program(folder string) string {
	return filepath.Join(t.work, strings.ReplaceAll(folder, "/", "-")+".test")
}

// build builds the programs, without the mutants that do not compile.
func (t *trial) build(ctx context.Context) error {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
	}, "./"+t.folder)
	if err != nil {
		return err
	}
	if len(loaded) != 1 {
		return fmt.Errorf("it has %d packages; write the folder of one, such as internal/schedule", len(loaded))
	}
	if problems := loaded[0].Errors; len(problems) > 0 {
		return problems[0]
	}
	banned := map[string]map[int]bool{}
	for range 20 {
		overlay, err := t.instrument(loaded[0], banned)
		if err != nil {
			return err
		}
		said, err := t.compile(ctx, overlay)
		if err == nil {
			return nil
		}
		if !ban(banned, said) {
			return fmt.Errorf("%w: %s", err, said)
		}
	}
	return errors.New("the mutants do not compile")
}

func (t *trial) compile(ctx context.Context, overlay string) (said string, err error) {
	for _, folder := range t.folders {
		build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", overlay,
			"-o", t.program(folder), "./"+folder) //nolint:gosec // of the tree
		if said, err := build.CombinedOutput(); err != nil {
			return string(said), err
		}
	}
	return "", nil
}

var complaint = regexp.MustCompile(`(?m)^(?:.*/)?([a-z0-9_]+\.go):(\d+):\d+: `)

// ban adds the lines of the compiler's errors; false if all are known.
func ban(banned map[string]map[int]bool, said string) bool {
	any := false
	for _, m := range complaint.FindAllStringSubmatch(said, -1) {
		line, _ := strconv.Atoi(m[2])
		if banned[m[1]] == nil {
			banned[m[1]] = map[int]bool{}
		}
		any = any || !banned[m[1]][line]
		banned[m[1]][line] = true
	}
	return any
}

// instrument writes the files with their mutants. It returns the path of the overlay that replaces the original files.
func (t *trial) instrument(p *packages.Package, banned map[string]map[int]bool) (string, error) {
	t.mutants = nil
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	put := func(path, text string) error {
		copied := filepath.Join(t.work, filepath.Base(path))
		overlay.Replace[path] = copied
		return os.WriteFile(copied, []byte(text), 0o600)
	}
	count := 0
	for i, path := range p.CompiledGoFiles {
		if ast.IsGenerated(p.Syntax[i]) {
			continue
		}
		text, err := os.ReadFile(path) //nolint:gosec // of the tree
		if err != nil {
			return "", err
		}
		s := &source{
			name: filepath.Base(path), text: text, file: p.Syntax[i], set: p.Fset, info: p.TypesInfo, banned: banned[filepath.Base(path)],
			next: func() int { count++; return count },
		}
		if err := put(path, s.instrument()); err != nil {
			return "", err
		}
		t.mutants = append(t.mutants, s.mutants...)
	}
	if err := put(filepath.Join(filepath.Dir(p.CompiledGoFiles[0]), "zz_mutants.go"), strings.Replace(helpers, "PACKAGE", p.Name, 1)); err != nil {
		return "", err
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path := filepath.Join(t.work, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// trace runs each test alone, with all mutants turned off, and records the mutants that it reaches. It omits slow tests, because each survivor would run them.
func (t *trial) trace(ctx context.Context, folder string) error {
	list, err := t.command(ctx, folder, "-test.list=.").Output()
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(string(list)) {
		if !strings.HasPrefix(name, "Test") || name == "TestMain" {
			continue
		}
		one := test{folder: folder, name: name}
		began := time.Now()
		said, err := t.reach(ctx, &one)
		switch one.took = time.Since(began); {
		case one.took > slow:
			fmt.Fprintf(os.Stderr, "%s: %s takes more than %s: it is left out\n", folder, name, slow)
		case err != nil:
			return fmt.Errorf("%s fails without a mutant: %w: %s", name, err, said)
		default:
			t.tests = append(t.tests, one)
		}
	}
	return nil
}

// reach runs a test until it is slow.
func (t *trial) reach(ctx context.Context, one *test) (said []byte, err error) {
	ctx, stop := context.WithTimeout(ctx, slow+time.Second)
	defer stop()
	path := t.program(one.folder) + "." + one.name
	command := t.command(ctx, one.folder, "-test.run=^"+one.name+"$")
	command.Env = append(command.Env, "FIRESTEEL_MUTANT_TRACE="+path)
	if said, err := command.CombinedOutput(); err != nil {
		return said, err
	}
	one.cpu = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	text, err := os.ReadFile(path) //nolint:gosec // of our own
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	one.reach = map[int]bool{}
	for _, id := range strings.Fields(string(text)) {
		number, err := strconv.Atoi(id)
		if err != nil {
			return nil, err
		}
		one.reach[number] = true
	}
	return nil, nil
}

func (t *trial) command(ctx context.Context, folder string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, t.program(folder), args...) //nolint:gosec // of our own
	command.Dir = folder
	command.Env = append(os.Environ(), "FIRESTEEL_TESTS=check", "FIRESTEEL_NUMBERS=", "FIRESTEEL_SEED=1")
	return command
}

// all returns for each mutant whether a test finds it. It prints survivors immediately, so that an interrupted run shows them, too.
func (t *trial) all(ctx context.Context) ([]bool, error) {
	found := make([]bool, len(t.mutants))
	work := make(chan int)
	var workers sync.WaitGroup
	var mu sync.Mutex
	done, left := 0, 0
	for range runtime.NumCPU() {
		workers.Go(func() {
			for i := range work {
				found[i] = t.finds(ctx, t.mutants[i])
				mu.Lock()
				if !found[i] {
					left++
					fmt.Fprintln(os.Stderr, "no test finds", t.mutants[i].key)
				}
				if done++; done%100 == 0 {
					fmt.Fprintf(os.Stderr, "%s: %d of %d mutants, %d are not found\n", t.folder, done, len(t.mutants), left)
				}
				mu.Unlock()
			}
		})
	}
	for i := range t.mutants {
		work <- i
	}
	close(work)
	workers.Wait()
	return found, ctx.Err()
}

// finds runs the tests that reach a mutant until one fails or times out.
func (t *trial) finds(ctx context.Context, m mutant) bool {
	if t.together(ctx, m, 0, instant) || t.together(ctx, m, instant, quick) {
		return true
	}
	return slices.ContainsFunc(t.tests, func(one test) bool {
		return one.reach[m.id] && one.cpu >= quick && t.fails(ctx, m, 5*one.took+10*time.Second, one.folder, one.name)
	})
}

// together runs the tests with a CPU time between two bounds, in one process for each folder.
func (t *trial) together(ctx context.Context, m mutant, from, to time.Duration) bool {
	return slices.ContainsFunc(t.folders, func(folder string) bool {
		var names []string
		for _, one := range t.tests {
			if one.folder == folder && one.reach[m.id] && one.cpu >= from && one.cpu < to {
				names = append(names, one.name)
			}
		}
		return len(names) > 0 && t.fails(ctx, m, time.Minute, folder, names...)
	})
}

func (t *trial) fails(ctx context.Context, m mutant, within time.Duration, folder string, names ...string) bool {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	command := t.command(ctx, folder, "-test.failfast", "-test.run=^("+strings.Join(names, "|")+")$")
	command.Env = append(command.Env, "FIRESTEEL_MUTANT="+strconv.Itoa(m.id), "GOMEMLIMIT=4GiB")
	return command.Run() != nil
}
