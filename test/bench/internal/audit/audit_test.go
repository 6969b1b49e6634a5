// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// line is what the API server writes of a call, as far as it is read.
func line(stage, verb, ref, code string) string {
	return `{"kind":"Event","level":"Metadata","stage":"` + stage + `","requestURI":"/x","verb":"` + verb + `","user":{"username":"operator"},"objectRef":` + ref + `,"responseStatus":{"metadata":{},"code":` + code + "}}\n"
}

const (
	pods   = `{"resource":"pods","namespace":"bench","apiVersion":"v1"}`
	status = `{"resource":"sparkapplications","namespace":"bench","apiGroup":"sparkoperator.k8s.io","subresource":"status"}`
	event  = `{"resource":"events","namespace":"bench","apiGroup":"events.k8s.io"}`
	lease  = `{"resource":"leases","namespace":"bench"}`
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason, log string
		want        Calls
		left        int
		err         string
	}{
		"Nothing": {reason: "no log is no calls", want: Calls{Sent: map[Call]int{}, Done: map[Call]int{}}},
		"Answers": {
			reason: "a call that is refused was sent, too",
			log:    line("ResponseComplete", "create", pods, "201") + line("ResponseComplete", "create", pods, "409") + line("ResponseComplete", "patch", status, "200"),
			want: Calls{
				Sent: map[Call]int{{"create", "pods"}: 2, {"patch", "sparkapplications/status"}: 1},
				Done: map[Call]int{{"create", "pods"}: 1, {"patch", "sparkapplications/status"}: 1},
			},
		},
		"Watch": {
			reason: "it counts when it begins, not when it ends",
			log:    line("ResponseStarted", "watch", pods, "200") + line("ResponseComplete", "watch", pods, "200"),
			want:   Calls{Sent: map[Call]int{{"watch", "pods"}: 1}, Done: map[Call]int{{"watch", "pods"}: 1}},
		},
		"Discovery": {
			reason: "it is about no resource", log: line("ResponseComplete", "get", "null", "200"),
			want: Calls{Sent: map[Call]int{{"get", "(no resource)"}: 1}, Done: map[Call]int{{"get", "(no resource)"}: 1}},
		},
		"Half": {
			reason: "a line is being written", log: line("ResponseComplete", "get", pods, "404") + `{"stage":"Resp`, left: 14,
			want: Calls{Sent: map[Call]int{{"get", "pods"}: 1}, Done: map[Call]int{}},
		},
		"Broken": {reason: "another file", log: "hello\n", want: Calls{Sent: map[Call]int{}, Done: map[Call]int{}}, err: "hello"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, size, err := Parse([]byte(tc.log))
			if err == nil != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if left := len(tc.log) - size; left != tc.left {
				t.Errorf("%s: %d bytes left, want %d", tc.reason, left, tc.left)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	var log strings.Builder
	for _, verb := range []string{"get", "list", "list", "create", "update", "patch", "delete", "deletecollection"} {
		log.WriteString(line("ResponseComplete", verb, pods, "200"))
	}
	log.WriteString(line("ResponseStarted", "watch", pods, "200") + strings.Repeat(line("ResponseComplete", "update", lease, "200"), 3))
	log.WriteString(line("ResponseComplete", "create", event, "201") + line("ResponseComplete", "create", event, "500"))
	calls, _, err := Parse([]byte(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	got := map[Kind]int{Get: calls.Of(Get), List: calls.Of(List), Watch: calls.Of(Watch), Write: calls.Of(Write), "all": calls.All()}
	if diff := cmp.Diff(map[Kind]int{Get: 1, List: 2, Watch: 1, Write: 7, "all": 11}, got); diff != "" {
		t.Errorf("leases do not count (-want +got):\n%s", diff)
	}
	if sent, stored := calls.Events(); sent != 2 || stored != 1 {
		t.Errorf("%d events sent and %d stored, want 2 and 1", sent, stored)
	}
	if first := calls.Sorted()[:3]; !cmp.Equal(first, []Call{{"update", "leases"}, {"create", "events"}, {"list", "pods"}}) {
		t.Errorf("the most frequent calls first, then by name: %v", first)
	}
}

func TestPolicy(t *testing.T) {
	if text := Policy("somebody"); !strings.Contains(text, `users: ["somebody"]`) {
		t.Errorf("the policy names no one:\n%s", text)
	}
}

func TestTail(t *testing.T) {
	tail := &Tail{Path: filepath.Join(t.TempDir(), "audit.log")}
	next := func(reason string, want int) {
		t.Helper()
		calls, err := tail.Next()
		if err != nil || calls.All() != want {
			t.Fatalf("%s: %d calls, %v; want %d", reason, calls.All(), err, want)
		}
	}
	write := func(text string) {
		t.Helper()
		file, err := os.OpenFile(tail.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.WriteString(text)
		}
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	call := line("ResponseComplete", "get", pods, "200")
	next("there is no log yet", 0)
	write(call + call + call[:20])
	next("a line is being written", 2)
	write(call[20:])
	next("the line is complete", 1)
	next("nothing is new", 0)

	write(call)
	calls, err := tail.Quiet(t.Context(), time.Millisecond, time.Minute)
	if err != nil || calls.All() != 1 {
		t.Errorf("it is quiet after %d calls, %v; want 1", calls.All(), err)
	}
	if _, err := tail.Quiet(t.Context(), time.Hour, time.Millisecond); err == nil || !strings.Contains(err.Error(), "still writes") {
		t.Errorf("it is not quiet in time: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := tail.Quiet(ended, time.Hour, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("someone interrupts: %v", err)
	}
	write("hello\n")
	if _, err := tail.Quiet(t.Context(), time.Millisecond, time.Minute); err == nil {
		t.Error("a broken log is taken for quiet")
	}
}
