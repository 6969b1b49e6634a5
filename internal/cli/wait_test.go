// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/inspect"
)

// patience bounds what a test waits for.
const patience = 20 * time.Second

// text is an output that a test may read while it is written.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *text) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *text) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// background is a program that runs while the test changes the cluster.
type background struct {
	t           *testing.T
	out, errOut text
	code        chan int
}

func start(t *testing.T, args ...string) *background {
	t.Helper()
	b := &background{t: t, code: make(chan int, 1)}
	go func() {
		b.code <- Run(args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &b.out, ErrOut: &b.errOut})
	}()
	return b
}

// ends waits for the exit code.
func (b *background) ends(want int) {
	b.t.Helper()
	select {
	case code := <-b.code:
		if code != want {
			b.t.Errorf("exit code %d, want %d: %s%s", code, want, &b.out, &b.errOut)
		}
	case <-time.After(patience):
		b.t.Fatalf("it does not end: %s%s", &b.out, &b.errOut)
	}
}

func states(out string) string {
	out = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  `).ReplaceAllString(out, "")
	return strings.ReplaceAll(strings.TrimSpace(out), "\n", "; ")
}

func TestWaitForSuccess(t *testing.T) {
	a := newAPI(t, inState("pi", v1beta2.ApplicationStateSubmitted, queued))
	b := start(t, "wait", "pi")
	a.AwaitWatch("sparkapplications")
	a.Put(inState("pi", v1beta2.ApplicationStateRunning))
	a.Put(inState("pi", v1beta2.ApplicationStateRunning)) // nothing new
	a.EndWatches()
	a.AwaitWatch("sparkapplications")
	a.Put(inState("pi", v1beta2.ApplicationStateCompleted))
	b.ends(0)
	if got := states(b.out.String()); got != "SUBMITTED (QuotaExceeded: exceeded quota: team); RUNNING; COMPLETED" {
		t.Errorf("states: %s", got)
	}
}

func TestWaitEnds(t *testing.T) {
	behind := func(o *v1beta2.SparkApplication) { o.Generation = 2 }
	cases := map[string]struct {
		reason string
		app    *v1beta2.SparkApplication
		args   []string
		code   int
		says   string
	}{
		"failed":        {"a failure with its message", inState("pi", v1beta2.ApplicationStateFailed, failed), nil, 1, "jobs/pi failed: driver container failed with ExitCode: 1"},
		"timeout":       {"a code of its own", inState("pi", v1beta2.ApplicationStateRunning), []string{"--timeout", "50ms"}, 2, "timed out after 50ms: jobs/pi is RUNNING"},
		"behind":        {"an old status does not count", inState("pi", v1beta2.ApplicationStateCompleted, behind), []string{"--timeout", "50ms"}, 2, "is COMPLETED"},
		"running":       {"there already", inState("pi", v1beta2.ApplicationStateRunning), []string{"--for", "running"}, 0, ""},
		"ran":           {"it has run", inState("pi", v1beta2.ApplicationStateCompleted), []string{"--for", "running"}, 0, ""},
		"submitted":     {"a driver pod", inState("pi", v1beta2.ApplicationStateSubmitted), []string{"--for", "submitted"}, 0, ""},
		"not submitted": {"SUBMITTED without one", inState("pi", v1beta2.ApplicationStateSubmitted, queued), []string{"--for", "submitted", "--timeout", "50ms"}, 2, "QuotaExceeded"},
		"condition":     {"in any case of letters", inState("pi", v1beta2.ApplicationStateRunning, condition("ExecutorsReady", "True", "ExecutorsRunning", "")), []string{"--for", "executorsready"}, 0, ""},
		"status":        {"another status than True", inState("pi", v1beta2.ApplicationStateRunning, condition("ExecutorsReady", "False", "ExecutorsPending", "")), []string{"--for", "condition=ExecutorsReady=False"}, 0, ""},
		"too late":      {"what can come no more", inState("pi", v1beta2.ApplicationStateCompleted), []string{"--for", "ExecutorsReady"}, 1, "without reaching the goal"},
		"goal":          {"a goal that is none", inState("pi", v1beta2.ApplicationStateCompleted), []string{"--for", "done"}, 1, "must be one of completed, running, submitted, Admitted"},
		"bound":         {"a bound that is none", inState("pi", v1beta2.ApplicationStateCompleted), []string{"--timeout", "0s"}, 1, "--timeout"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				newMemoryAPI(t, tc.app)
				_, errOut, code := execute(t, "", append([]string{"wait", "pi"}, tc.args...)...)
				if code != tc.code || !strings.Contains(errOut, tc.says) {
					t.Errorf("%s: exit code %d, want %d: %s", tc.reason, code, tc.code, errOut)
				}
			})
		})
	}
}

func TestWaitForTheDeleted(t *testing.T) {
	o := inState("pi", v1beta2.ApplicationStateRunning)
	a := newAPI(t, o)
	b := start(t, "wait", "pi")
	a.AwaitWatch("sparkapplications")
	a.Remove(o)
	b.ends(1)
	if !strings.Contains(b.errOut.String(), "jobs/pi was deleted") {
		t.Error(b.errOut.String())
	}
}

// flaky fails to list after the first time, n times.
type flaky struct {
	inspect.Reader
	lists, fails int
}

func (f *flaky) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	f.lists++
	if f.lists > 1 && f.lists <= f.fails+1 {
		return errors.New("etcd leader changed")
	}
	return f.Reader.List(ctx, list, opts...)
}

// Errors in between are reported and survived.
func TestChangesSurviveTrouble(t *testing.T) {
	o := inState("pi", v1beta2.ApplicationStateRunning)
	a := newAPI(t, o)
	c, err := addCluster(&cobra.Command{}).connect()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	seen := changes(ctx, &flaky{Reader: c, fails: 1}, &v1beta2.SparkApplicationList{}, client.ObjectKeyFromObject(o))
	if got := <-seen; got.object == nil {
		t.Fatalf("%+v", seen)
	}
	a.AwaitWatch("sparkapplications")
	a.EndWatches()
	if got := <-seen; !got.again || got.err == nil {
		t.Errorf("the error is not reported: %+v", seen)
	}
	if got := <-seen; got.object == nil {
		t.Errorf("it is not tried again: %+v", seen)
	}
}
