// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// enoughLooks is the number of reconciles without a write after which an application is at rest.
const enoughLooks = 3

// reconciles counts how often an operator has looked at each object.
type reconciles struct {
	mu   sync.Mutex
	done map[client.ObjectKey]int
}

func (r *reconciles) of(a *app) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done[client.ObjectKeyFromObject(a)]
}

// listener is a log that hears of each reconcile that has ended well. It passes on what the next one wants to know.
type listener struct {
	logr.LogSink
	heard *reconciles
	about client.ObjectKey
}

// Enabled implements logr.LogSink for all levels: the listener needs verbose lines.
func (l listener) Enabled(int) bool { return true }

// Info implements logr.LogSink.
func (l listener) Info(level int, text string, values ...any) {
	if strings.HasPrefix(text, "Reconcile successful") || strings.HasPrefix(text, "Reconcile done") {
		l.heard.mu.Lock()
		l.heard.done[l.about]++
		l.heard.mu.Unlock()
	}
	if l.LogSink.Enabled(level) {
		l.LogSink.Info(level, text, values...)
	}
}

// WithValues implements logr.LogSink.
func (l listener) WithValues(values ...any) logr.LogSink {
	for i := 1; i < len(values); i += 2 {
		switch text, _ := values[i].(string); values[i-1] {
		case "namespace":
			l.about.Namespace = text
		case "name":
			l.about.Name = text
		}
	}
	l.LogSink = l.LogSink.WithValues(values...)
	return l
}

// WithName implements logr.LogSink.
func (l listener) WithName(name string) logr.LogSink {
	l.LogSink = l.LogSink.WithName(name)
	return l
}

// looks triggers the operator again and again until it has looked at the application so often.
func (w *Harness) looks(a *app, times int) {
	w.Helper()
	for n := range times {
		before := w.operator.reconciles.of(a)
		w.touch(a, fmt.Sprint(before, n))
		w.eventually("the operator looks at "+a.Name, func() error {
			if w.operator.reconciles.of(a) == before {
				return errors.New("it does not")
			}
			return nil
		})
	}
}

// quiet triggers the operator until it has reconciled the application several times, and for that long, without a write: it has
// reported everything. On a busy machine, a later write in flight is a new report.
func (w *Harness) quiet(when string, a *app, d time.Duration) {
	w.Helper()
	w.eventually("the status has the executors", func() error {
		current, err := w.get(a)
		if err == nil && current.Status.AppState.State == stateRunning && !meta.IsStatusConditionTrue(current.Status.Conditions, "ExecutorsReady") {
			err = errors.New("it does not say that they run: changes of executors alone are written now and then")
		}
		return err
	})
	said, known := map[write]bool{}, 0
	for _, one := range w.operator.writes.about(a) {
		said[one] = true
		known++
	}
	looks, since, renewed := 0, time.Now(), false
	w.eventually(when+" the operator comes to rest", func() error {
		all := w.operator.writes.about(a)
		for _, one := range all[known:] {
			renews := w.Renews != "" && strings.Contains(one.said, w.Renews)
			if said[one] && (renewed || !renews) {
				w.Fatalf("%s: the operator wrote again: %+v", when, one)
			}
			renewed = renewed || said[one]
			said[one] = true
		}
		if len(all) > known {
			known, looks, since = len(all), 0, time.Now()
		}
		if looks >= enoughLooks && time.Since(since) >= d {
			return nil
		}
		w.looks(a, 1)
		looks++
		return fmt.Errorf("it wrote %v", all)
	})
}

var amounts = regexp.MustCompile(`\d+`)

// retold counts the writes of the status that repeat an earlier message with other amounts. The first writes are known.
func retold(statuses []write, known int) int {
	said, n := map[string]bool{}, 0
	for i, one := range statuses {
		text := amounts.ReplaceAllString(one.said, "")
		if i >= known && said[text] {
			n++
		}
		said[text] = true
	}
	return n
}
