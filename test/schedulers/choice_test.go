// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
	"github.com/firesteel-dev/firesteel/test/schedulers/conformance"
)

// titles are the subjects, in the order of the report's columns.
var titles = []string{"kube", "quota", "coscheduling", "elasticquota", "volcano", "yunikorn"}

// recent is how many commits back a change counts: a clean clone does not say where a branch began.
const recent = 30

// paths are what the tests of real schedulers are about. Plugins have unit tests of their own, which change nothing for a scheduler.
var paths = []string{
	":(top)internal/scheduler", ":(top)cmd/plugins", ":(top)test/schedulers", ":(top)hack/tools/kubernetes", ":(top)hack/tools/kwok", ":(top)hack/tools/scheduler-plugins",
	":(top)hack/tools/volcano", ":(top)hack/tools/yunikorn", ":(top,exclude,glob)internal/scheduler/**/*_test.go",
}

// parts are those of the paths that are about some subjects only; all else is about every one, quotas among it: they are asked before each plugin.
var parts = map[string][]string{
	"internal/scheduler/kube/":         {"kube", "quota"},
	"internal/scheduler/coscheduling/": {"coscheduling", "elasticquota"},
	"internal/scheduler/volcano/":      {"volcano"},
	"internal/scheduler/yunikorn/":     {"yunikorn"},
	"hack/tools/scheduler-plugins/":    {"coscheduling", "elasticquota"},
	"hack/tools/volcano/":              {"volcano"},
	"hack/tools/yunikorn/":             {"yunikorn"},
}

// aboutOf are the subjects that a file is about.
func aboutOf(file string) []string {
	for prefix, about := range parts {
		if strings.HasPrefix(file, prefix) {
			return about
		}
	}
	return titles
}

// choice are the subjects that a run puts to the test, as "volcano-2" for Volcano's real scheduler, and why it is these.
type choice struct {
	subjects []string
	why      string
}

func (c choice) has(title string, tier conformance.Tier) bool {
	return slices.Contains(c.subjects, subjectName(title, tier))
}

func subjectName(title string, tier conformance.Tier) string {
	return fmt.Sprintf("%s-%d", title, tier)
}

// chosen is the choice of this run.
func chosen(ctx context.Context) (choice, error) {
	if only := os.Getenv("CONFORMANCE_SUBJECTS"); only != "" {
		c := choice{strings.Split(only, ","), "only CONFORMANCE_SUBJECTS=" + only}
		all := append(choose(titles, "", 0).subjects, kueueTitle)
		for _, s := range c.subjects {
			if !slices.Contains(all, s) {
				return c, fmt.Errorf("CONFORMANCE_SUBJECTS: %q: no subject; write some of %s", s, strings.Join(all, ","))
			}
		}
		return c, nil
	}
	if all := testrun.Pick("", "", "all real schedulers, since FIRESTEEL_TESTS="+os.Getenv("FIRESTEEL_TESTS")); all != "" {
		return choose(titles, all, 0), nil
	}
	about, why := changed(ctx, root)
	return choose(about, why, testrun.Seed()), nil
}

// choose takes all subjects with stand-ins, and with the real schedulers those for which there is a reason, and one in turn.
func choose(reasoned []string, why string, seed uint64) choice {
	var c choice
	inTurn := titles[seed%uint64(len(titles))]
	for _, title := range titles {
		c.subjects = append(c.subjects, subjectName(title, conformance.StandIn))
	}
	var left []string
	for _, title := range titles {
		if title == inTurn || slices.Contains(reasoned, title) {
			c.subjects = append(c.subjects, subjectName(title, conformance.Real))
		} else {
			left = append(left, title)
		}
	}
	if len(left) == 0 {
		c.why = why
		return c
	}
	c.why = fmt.Sprintf("the real scheduler of %s, chosen by FIRESTEEL_SEED=%d", inTurn, seed)
	if len(reasoned) > 0 {
		c.why += fmt.Sprintf(", and of %s: %s", strings.Join(reasoned, ", "), why)
	}
	c.why += fmt.Sprintf("; those of %s are left to other runs", strings.Join(left, ", "))
	return c
}

// changed are the subjects of which the tests may find another thing than in the commits before the recent ones, and why. Where that cannot be known, it
// may be all.
func changed(ctx context.Context, folder string) (about []string, why string) {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...)
		cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GIT_") }) // a hook's are of another repository
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	before := fmt.Sprintf("HEAD~%d", recent)
	differ, err := git(append([]string{"diff", "--name-only", before, "--"}, paths...)...)
	if err != nil {
		return titles, fmt.Sprintf("git does not tell what has changed since %s: %v", before, describe(err))
	}
	fresh, err := git(append([]string{"ls-files", "--others", "--full-name", "--exclude-standard", "--"}, paths...)...)
	if err != nil {
		return titles, fmt.Sprintf("git does not tell which files are new: %v", describe(err))
	}
	files := strings.Fields(differ + "\n" + fresh)
	for _, file := range files {
		for _, title := range aboutOf(file) {
			if !slices.Contains(about, title) {
				about = append(about, title)
				why = fmt.Sprintf("%s is not what it was in %s (%d files)", file, before, len(files))
			}
		}
	}
	slices.Sort(about)
	return about, why
}

// describe adds what a program said.
func describe(err error) string {
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return strings.TrimSpace(err.Error() + ": " + string(failed.Stderr))
	}
	return err.Error()
}

// Six landings with seeds that follow each other put each real scheduler to the test, and each of them every stand-in.
func TestChoice(t *testing.T) {
	times := map[string]int{}
	for seed := range uint64(len(titles)) {
		c := choose(nil, "", seed)
		for _, subject := range c.subjects {
			times[subject]++
		}
		if len(c.subjects) != len(titles)+1 {
			t.Errorf("seed %d: %q", seed, c.subjects)
		}
	}
	for _, title := range titles {
		if stand, live := times[subjectName(title, conformance.StandIn)], times[subjectName(title, conformance.Real)]; stand != len(titles) || live != 1 {
			t.Errorf("%s: %d times with a stand-in and %d times with the real scheduler, want %d and 1", title, stand, live, len(titles))
		}
	}
	if c := choose(titles, "everything", 0); len(c.subjects) != 2*len(titles) || c.why != "everything" {
		t.Errorf("%+v", c)
	}
	both := choose([]string{"volcano"}, "it is another", 0) // the first in turn is kube
	want := []string{"kube-2", "volcano-2"}
	if diff := cmp.Diff(want, both.subjects[len(titles):]); diff != "" || !strings.Contains(both.why, "and of volcano: it is another") {
		t.Errorf("%s (-want +got):\n%s", both.why, diff)
	}
	var known []string
	for _, subjects := range lanes {
		for _, s := range subjects {
			known = append(known, s.title)
		}
	}
	slices.Sort(known)
	if want := slices.Sorted(slices.Values(titles)); !slices.Equal(known, want) {
		t.Errorf("the lanes have %q, and the report %q", known, want)
	}
}

// A change of schedulers counts as long as it is recent or nobody has committed it, and a history that does not go back that far counts as a change.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"}, args...)
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GIT_") }), "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when, want string, about ...string) {
		t.Helper()
		subjects, got := changed(t.Context(), dir)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
		if diff := cmp.Diff(about, subjects, cmpopts.SortSlices(strings.Compare), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	commits := func() {
		t.Helper()
		for range recent {
			git("commit", "--quiet", "--allow-empty", "--message=other")
		}
	}
	const file = "internal/scheduler/kube.go"
	expect("no repository", "git does not tell", titles...)
	git("init", "--quiet")
	write(file, "one")
	git("add", ".")
	git("commit", "--quiet", "--message=one")
	expect("a short history", "git does not tell", titles...)
	commits()
	expect("long ago", "")
	write(file, "two")
	expect("not committed", file, titles...)
	git("commit", "--quiet", "--all", "--message=two")
	expect("committed", file, titles...)
	commits()
	expect("long ago again", "")
	write("docs/kube.md", "new")
	write("internal/scheduler/kube_test.go", "new")
	write("internal/scheduler/volcano/volcano_test.go", "new")
	expect("something else", "")
	write("internal/scheduler/coscheduling/coscheduling.go", "new")
	write("hack/tools/volcano/go.mod", "new")
	expect("some plugins", "coscheduling.go", "coscheduling", "elasticquota", "volcano")
	write("test/schedulers/new_test.go", "new")
	expect("a new file", "test/schedulers/new_test.go", titles...)
}
