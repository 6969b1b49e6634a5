// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
)

func newWatcher() *Watcher { return &Watcher{apps: map[string]*Seen{}, news: make(chan struct{})} }

func shows(name, state string) *Application {
	a := &Application{ObjectMeta: metav1.ObjectMeta{Name: name}}
	a.Status.AppState.State = state
	return a
}

func pod(role string, uid types.UID, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, Labels: map[string]string{labelApplication: "a", ground.LabelRole: role}}, Status: corev1.PodStatus{Phase: phase}}
}

func alive() error { return nil }

func TestWatcher(t *testing.T) {
	w := newWatcher()
	w.expect("a")
	for _, o := range []any{shows("a", ""), shows("a", "SUBMITTED"), shows("a", "SUBMITTED"), pod("driver", "1", corev1.PodPending), pod("executor", "2", corev1.PodRunning), pod("executor", "4", corev1.PodSucceeded), pod("driver", "1", corev1.PodRunning), pod("driver", "1", corev1.PodSucceeded), shows("a", "COMPLETED"), "nothing known"} {
		w.see(o)
	}
	a := w.Of([]string{"a"})[0]
	if a.Created.IsZero() || a.Running.IsZero() || a.Succeeded.IsZero() || len(a.Drivers) != 1 || len(a.States) != 2 || len(a.Ended) != 1 {
		t.Errorf("seen: %+v", a)
	}
	before := w.Fingerprints([]string{"a"})
	if w.see(pod("driver", "3", corev1.PodPending)); w.Fingerprints([]string{"a"})["a"] == before["a"] || len(a.Drivers) != 1 {
		t.Error("a second driver does not show, or shows in what was checked before")
	}
}

func TestWait(t *testing.T) {
	cases := map[string]struct {
		reason string
		end    bool
		failed func() error
		says   []string
	}{
		"There":       {reason: "it has come about", failed: alive},
		"Interrupted": {reason: "no one waits any more", end: true, failed: alive, says: []string{"1 of 2 applications", "so far 0", "canceled"}},
		"Failed":      {reason: "someone has ended", failed: func() error { return errors.New("etcd has ended") }, says: []string{"have ended", "etcd has ended"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWatcher()
			ctx, end := context.WithCancel(t.Context())
			defer end()
			if len(tc.says) == 0 {
				go w.see(shows("b", "COMPLETED"))
			}
			if tc.end {
				end()
			}
			err := w.Wait(ctx, "have ended", []string{"a", "b"}, 1, (*Seen).Over, tc.failed)
			if (err == nil) != (len(tc.says) == 0) {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			for _, text := range tc.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: the error does not say %q: %v", tc.reason, text, err)
				}
			}
		})
	}
}

func TestDeepCopy(t *testing.T) {
	list := &ApplicationList{Items: []Application{*shows("a", "RUNNING")}}
	copied := list.DeepCopyObject().(*ApplicationList)
	list.Items[0].Status.AppState.State = "FAILED"
	if got := copied.Items[0].Status.AppState.State; got != "RUNNING" {
		t.Errorf("the copy changed to %s", got)
	}
}
