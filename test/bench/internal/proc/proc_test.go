// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	const numbers = " 0 -1 4194560 100 200 0 0 150 50 25 75 20 0 9 0 1234 5678 99 18446744073709551615"
	cases := map[string]struct {
		reason, line string
		want         Stat
		err          string
	}{
		"Usual":      {reason: "user and system time, of itself and of children", line: "42 (etcd) S 7 42 42" + numbers, want: Stat{PID: 42, Parent: 7, CPU: 3}},
		"Name":       {reason: "a name may look like fields", line: "42 (a) b (c) R 7 42 42" + numbers, want: Stat{PID: 42, Parent: 7, CPU: 3}},
		"NoName":     {reason: "another file", line: "cpu 1 2 3", err: "no name in parentheses"},
		"Short":      {reason: "a line that was cut", line: "42 (etcd) S 7 42", err: "3 fields after the name"},
		"NoNumber":   {reason: "a word in place of a time", line: "42 (etcd) S 7 42 42" + strings.Replace(numbers, " 150 ", " x ", 1), err: `field 14: "x" is not a number`},
		"NoPID":      {reason: "a word in place of the process", line: "x (etcd) S 7 42 42" + numbers, err: `field 1: "x" is not a number`},
		"NoChildren": {reason: "nothing was used", line: "1 (init) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20", want: Stat{PID: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseStat([]byte(tc.line))
			if err == nil != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseStatus(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         Memory
	}{
		"Usual":  {reason: "in kB", text: "Name:\tetcd\nVmPeak:\t  9999 kB\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t9\n", want: Memory{Now: 1 << 20, Peak: 2 << 20}},
		"Ended":  {reason: "a process that has ended has no memory", text: "Name:\tetcd\nState:\tZ (zombie)\n"},
		"Broken": {reason: "no number", text: "VmRSS:\t x kB\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ParseStatus([]byte(tc.text))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseBusy(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         float64
		err          string
	}{
		"Usual":    {reason: "idle and iowait do not count, guests are in user already", text: "cpu  100 20 30 9999 8888 1 2 47 50 60\ncpu0 1 2 3\n", want: 2},
		"Other":    {reason: "one core is not all", text: "cpu0 1 2 3 4 5 6 7 8\n", err: "must be that of all cores"},
		"Short":    {reason: "an old kernel", text: "cpu 1 2 3 4\n", err: "must be that of all cores"},
		"NoNumber": {reason: "a word", text: "cpu 1 2 3 4 5 6 x 8\n", err: `"x" is not a number`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseBusy([]byte(tc.text))
			if err == nil != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
			if got != tc.want {
				t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDescendants(t *testing.T) {
	all := []Stat{{PID: 5, Parent: 4}, {PID: 1}, {PID: 4, Parent: 2}, {PID: 2, Parent: 1}, {PID: 3, Parent: 1}}
	cases := map[string]struct {
		reason string
		root   int
		want   []int
	}{
		"Family":  {reason: "children of children, parents first", root: 2, want: []int{2, 4, 5}},
		"Alone":   {reason: "no one descends from it", root: 3, want: []int{3}},
		"Missing": {reason: "it has ended", root: 9},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, s := range Descendants(all, tc.root) {
				got = append(got, s.PID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A Meter adds up what a program used over restarts, and forgets nothing when it ends.
func TestMeter(t *testing.T) {
	var m Meter
	m.Switch(os.Getpid())
	first, memory := m.CPU(), m.Memory()
	if memory.Now <= 0 || memory.Peak < memory.Now {
		t.Errorf("memory %+v", memory)
	}
	m.Leave(func() {})
	if got := m.CPU(); got < first {
		t.Errorf("CPU time shrank from %v to %v", first, got)
	}
	m.Switch(os.Getpid())
	if got := m.CPU(); got < 2*first {
		t.Errorf("two processes used %v, the first of them %v", got, first)
	}
	if Busy() <= 0 || CPU(os.Getpid()) < first {
		t.Errorf("busy %v, CPU %v", Busy(), CPU(os.Getpid()))
	}
}
