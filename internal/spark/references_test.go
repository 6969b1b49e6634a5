// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

func TestExpandIsShort(t *testing.T) {
	full := strings.Repeat("a", MaxExpanded)
	cases := map[string]struct {
		reason  string
		values  map[string]string
		want    int
		problem string
	}{
		"Full":      {"just as long as it may be", map[string]string{"spark.x": "${spark.a}", "spark.a": full}, MaxExpanded, ""},
		"OneMore":   {"a byte too long", map[string]string{"spark.x": "${spark.a}b", "spark.a": full}, 0, errTooLong.Error()},
		"Before":    {"a byte too long at its beginning", map[string]string{"spark.x": "b${spark.a}", "spark.a": full}, 0, errTooLong.Error()},
		"Unknown":   {"what cannot be resolved stays, and counts", map[string]string{"spark.x": full + "${spark.none}"}, 0, errTooLong.Error()},
		"Variable":  {"a variable of the submitter", map[string]string{"spark.x": "${env:BIG}${env:BIG}"}, 0, errTooLong.Error()},
		"Plain":     {"without references there is nothing to multiply", map[string]string{"spark.x": full + full}, 2 * MaxExpanded, ""},
		"Shrinking": {"names may be longer than what they stand for", map[string]string{"spark.x": strings.Repeat("${spark."+full[:900]+"}", 100), "spark." + full[:900]: "b"}, 100, ""},
		"Read": {
			"nor may what vanishes again be read without end",
			map[string]string{"spark.x": strings.Repeat("${spark.y}", 900), "spark.y": "${spark." + full[:60_000] + "}", "spark." + full[:60_000]: ""}, 0, errTooMuch.Error(),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			defer heaptest.Bound(t, 0)()
			c := newConf(tc.values, map[string]string{"BIG": full[1:]})
			got, _ := c.text("spark.x")
			if len(got) != tc.want {
				t.Errorf("%s: %d bytes, want %d", tc.reason, len(got), tc.want)
			}
			refused, _ := errors.AsType[*ConfError](c.err)
			if (refused != nil) != (tc.problem != "") || refused != nil && (refused.Key != "spark.x" || refused.Problem != tc.problem) {
				t.Errorf("%s: %.300v, want %q", tc.reason, c.err, tc.problem)
			}
		})
	}
}

// One property may be as long as it may; all of them together may not, and the same one is refused whenever it is tried.
func TestExpandIsBoundedInAll(t *testing.T) {
	values := map[string]string{"spark.a": strings.Repeat("a", MaxExpanded-1)}
	for i := range 20 {
		values[fmt.Sprintf("spark.x%02d", i)] = "${spark.a}"
	}
	c := newConf(values, nil)
	for _, key := range c.under("spark.x") {
		for range 3 {
			c.text(key) // what was read before costs nothing
		}
	}
	want := &ConfError{Key: "spark.x15", Value: "${spark.a}", Problem: errTooMuch.Error()}
	if refused, ok := errors.AsType[*ConfError](c.err); !ok || *refused != *want {
		t.Errorf("refused with %v, want %v", c.err, want)
	}
	held := 0
	for _, text := range c.expanded {
		held += len(text)
	}
	if held > maxSpent {
		t.Errorf("%d bytes are kept", held)
	}
}

// Whoever looks at an application refuses it for the same property, and none of them takes its size.
func TestBombsAreRefused(t *testing.T) {
	profile := profileOf(t, "4.1.0")
	looks := map[string]func(Application) error{
		"Build": func(app Application) error { _, err := Build(app, testIdentity(), profile); return err },
		"InitialExecutors": func(app Application) error {
			app.Conf[ConfExecutorInstances] = app.Conf[heaptest.Trigger]
			if got, least := InitialExecutors(app); got != 0 || least != 0 {
				return fmt.Errorf("%d executors", got)
			}
			return nil
		},
		"DriverMemory": func(app Application) error {
			app.Conf[ConfDriverMemory] = app.Conf[heaptest.Trigger]
			if heap, overhead := DriverMemory(app); heap != 0 || overhead != 0 {
				return fmt.Errorf("heap %d, overhead %d", heap, overhead)
			}
			return nil
		},
		"UIPort": func(app Application) error {
			app.Conf[ConfUIPort], app.Conf[ConfEventLog] = app.Conf[heaptest.Trigger], app.Conf[heaptest.Trigger]
			if got := UIPort(app); got != 0 || LogsEvents(app) {
				return fmt.Errorf("port %d", got)
			}
			return nil
		},
	}
	for bomb, conf := range heaptest.Bombs() {
		for look, at := range looks {
			t.Run(bomb+"/"+look, func(t *testing.T) {
				defer heaptest.Bound(t, 0)()
				app := sparkPi()
				maps.Copy(app.Conf, conf)
				err := at(app)
				// Only the look at executors reads the overhead.
				if look != "Build" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				refused, ok := errors.AsType[*ConfError](err)
				if !ok || refused.Key != heaptest.Trigger || !strings.Contains(refused.Problem, "refer to") || len(refused.Error()) > 500 {
					t.Errorf("refused with %.300v", err)
				}
			})
		}
	}
}

// A reference with a long name is not repeated in full.
func TestLongCycleIsShown(t *testing.T) {
	key := "spark." + strings.Repeat("a", 100_000)
	c := newConf(map[string]string{"spark.x": "${spark.y}", "spark.y": "${" + key + "}", key: "${" + key + "}"}, nil)
	if c.text("spark.x"); c.err == nil || len(c.err.Error()) > 500 {
		t.Errorf("%.300v", c.err)
	}
}
