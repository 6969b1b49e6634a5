// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const configHead = "apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\n"

// look is a reloader over a file that tests change.
type look struct {
	t       *testing.T
	r       *reloader
	log     strings.Builder
	applied []config.OperatorConfiguration
	events  *events.FakeRecorder
	metrics *metrics.Metrics
}

func newLook(t *testing.T, sections string) *look {
	t.Helper()
	l := &look{t: t, events: events.NewFakeRecorder(10), metrics: metrics.New(config.Metrics{MaxLabelValues: 1})}
	path := filepath.Join(t.TempDir(), "config.yaml")
	l.r = &reloader{
		log: funcr.New(func(_, args string) { l.log.WriteString(args + "\n") }, funcr.Options{}),
		apply: func(_ context.Context, c config.OperatorConfiguration) {
			l.applied = append(l.applied, c)
		},
		metrics: l.metrics, recorder: l.events, pod: &corev1.Pod{},
	}
	l.r.started.File = path
	l.write(sections)
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	l.r.started = c
	return l
}

func (l *look) write(sections string) {
	l.t.Helper()
	if err := os.WriteFile(l.r.started.File, []byte(configHead+sections), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// after returns how often something was applied and what was logged since.
func (l *look) after() (applied int, log string) {
	l.t.Helper()
	before, written := len(l.applied), l.log.Len()
	l.r.look(l.t.Context())
	return len(l.applied) - before, l.log.String()[written:]
}

// recorded returns the events since it was called last.
func (l *look) recorded() []string {
	var all []string
	for {
		select {
		case e := <-l.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

// An administrator sees on the operator's pod what happened to an edit, and Prometheus counts it.
func TestReloadIsTold(t *testing.T) {
	l := newLook(t, "namespaces: [a]")
	many := "namespaces: [B" + strings.Repeat(", \u00fc", 400) + "]"
	const reloads, needed = "spark_operator_configuration_reloads_total ", "spark_operator_configuration_restart_needed"
	steps := []struct {
		reason, file string
		want         []string
		count        map[string]float64
	}{
		{reason: "as it was at the start", file: "namespaces: [a]", count: map[string]float64{}},
		{
			reason: "a policy", file: "namespaces: [a, b]\npolicies: [{name: x, namespaces: [a]}]",
			want:  []string{"Normal ConfigurationReloaded namespaces and policies of the changed configuration are in force: policies: 1; namespaces: a, b"},
			count: map[string]float64{reloads + "applied": 1},
		},
		{
			reason: "wrong", file: "namespaces: [a]\npolicies: [{name: x}]",
			want:  []string{`Warning ConfigurationRefused the changed configuration is not applied, the previous one stays in force: policies[0].namespaces: "": name at least one; "*" matches all`},
			count: map[string]float64{reloads + "applied": 1, reloads + "refused": 1},
		},
		{
			reason: "wrong in another way, with more to say than an event holds", file: many,
			want:  []string{"Warning ConfigurationRefused the changed configuration is not applied, the previous one stays in force: "},
			count: map[string]float64{reloads + "applied": 1, reloads + "refused": 2},
		},
		{
			reason: "a section that is read at the start", file: "namespaceSelector: x=y\nworkers: 3",
			want: []string{
				"Warning ConfigurationNeedsRestart the configuration has changes that need a restart of the operator: workers",
				"Normal ConfigurationReloaded namespaces and policies of the changed configuration are in force: policies: 0; namespaceSelector: x=y",
			},
			count: map[string]float64{reloads + "applied": 2, reloads + "refused": 2, needed: 1},
		},
		{
			reason: "no restart is needed any more", file: "namespaces: [c]\nnamespaceSelector: x=y",
			want:  []string{"Normal ConfigurationReloaded namespaces and policies of the changed configuration are in force: policies: 0; namespaces: c; namespaceSelector: x=y"},
			count: map[string]float64{reloads + "applied": 3, reloads + "refused": 2},
		},
		{
			reason: "everywhere", file: "{}",
			want:  []string{"Normal ConfigurationReloaded namespaces and policies of the changed configuration are in force: policies: 0; all namespaces"},
			count: map[string]float64{reloads + "applied": 4, reloads + "refused": 2},
		},
	}
	for _, step := range steps {
		l.write(strings.TrimPrefix(step.file, "{}"))
		l.after()
		l.after()
		got := l.recorded()
		for i := range got {
			if kind, note, _ := strings.Cut(got[i], ": "); len(note) > maxNote {
				t.Errorf("%s: %s has %d bytes", step.reason, kind, len(note))
			}
			if step.file == many {
				got[i], _, _ = strings.Cut(got[i], "decode")
				got[i], _, _ = strings.Cut(got[i], "namespaces[")
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", step.reason, diff)
		}
		if diff := cmp.Diff(step.count, testutil.Scrape(t, l.metrics)); diff != "" {
			t.Errorf("%s: metrics (-want +got):\n%s", step.reason, diff)
		}
	}
	l.r.pod, l.r.recorder = nil, nil
	l.write("namespaces: [d]")
	if n, _ := l.after(); n != 1 {
		t.Error("a process outside of a cluster does not reload")
	}
}

func TestReload(t *testing.T) {
	l := newLook(t, "namespaces: [a]")
	step := func(reason string, applied int, says ...string) {
		t.Helper()
		n, log := l.after()
		if n != applied {
			t.Errorf("%s: applied %d times, want %d", reason, n, applied)
		}
		for _, text := range says {
			if !strings.Contains(log, text) {
				t.Errorf("%s: the log does not say %q: %s", reason, text, log)
			}
		}
		if len(says) == 0 && log != "" {
			t.Errorf("%s: logged %s", reason, log)
		}
	}
	step("as it was at the start", 0)
	step("nothing has changed", 0)
	l.write("namespaces: [a, b]")
	step("another list", 1, `"namespaces"=["a" "b"]`)
	step("nothing has changed since", 0)
	l.write("namespaces: [a, B]")
	step("a wrong file", 0, "stays in force", "namespaces[1]")
	step("it is recorded once", 0)
	l.write("namespaces: [a, b]\nworkers: 3")
	step("a section that is read at the start", 1, "need a restart", "workers")
	l.write("namespaces: [a]")
	step("as it was at the start, but not what is in force", 1, `"namespaces"=["a"]`)
	if err := os.Remove(l.r.started.File); err != nil {
		t.Fatal(err)
	}
	step("a file that is gone", 0, "stays in force")
	step("it is recorded once", 0)
	l.write("namespaces: [a]")
	step("it is back", 1, "applied the namespaces")
}

// A file that changed between the start and the first look is taken over.
func TestReloadAtOnce(t *testing.T) {
	l := newLook(t, "namespaces: [a]")
	l.write("namespaces: [b]")
	if n, log := l.after(); n != 1 {
		t.Errorf("applied %d times: %s", n, log)
	}
}

// The ConfigMap is ahead of the file: what it says is in force at once, and a stale file changes nothing.
func TestReloadFromConfigMap(t *testing.T) {
	l := newLook(t, "namespaces: [a]")
	l.r.live = &liveFile{changed: make(chan struct{}, 1)}
	const refused = "spark_operator_configuration_reloads_total refused"
	steps := []struct {
		reason, live, file string // live "-": without a right to the ConfigMap
		applied            int
		told               string // how the one event begins
		refused            float64
	}{
		{reason: "as it was at the start", live: "namespaces: [a]", file: "namespaces: [a]"},
		{reason: "the kubelet is behind", live: "namespaces: [a, b]", file: "namespaces: [a]", applied: 1, told: "Normal ConfigurationReloaded"},
		{reason: "the kubelet brings it", live: "namespaces: [a, b]", file: "namespaces: [a, b]"},
		{reason: "two edits in a row", live: "namespaces: [c]", file: "namespaces: [a, b]", applied: 1, told: "Normal ConfigurationReloaded"},
		{reason: "the kubelet brings the first", live: "namespaces: [c]", file: "namespaces: [a]"},
		{reason: "wrong, or of a newer operator", live: "colors: 3", file: "namespaces: [c]", told: "Warning ConfigurationRefused"},
		{reason: "it is the file now, which the next start reads", live: "colors: 3", file: "colors: 3", refused: 1},
		{reason: "corrected", live: "namespaces: [c]", file: "colors: 3", applied: 1, told: "Normal ConfigurationReloaded", refused: 1},
		{reason: "the right is gone, and the file has what is in force", live: "-", file: "namespaces: [c]", refused: 1},
		{reason: "the file alone", live: "-", file: "namespaces: [d]", applied: 1, told: "Normal ConfigurationReloaded", refused: 1},
	}
	for _, step := range steps {
		l.r.live.set(configHead+step.live, step.live != "-")
		l.write(step.file)
		n, _ := l.after()
		again, _ := l.after()
		if n != step.applied || again != 0 {
			t.Errorf("%s: applied %d times, and %d times more, want %d", step.reason, n, again, step.applied)
		}
		if told := l.recorded(); len(told) > 1 || !strings.HasPrefix(strings.Join(told, ""), step.told) || step.told == "" && len(told) > 0 {
			t.Errorf("%s: events %q, want %q", step.reason, told, step.told)
		}
		if got := testutil.Scrape(t, l.metrics)[refused]; got != step.refused {
			t.Errorf("%s: counted %v refusals, want %v", step.reason, got, step.refused)
		}
	}
}

func TestOwnPod(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    map[string]string
		want   bool
	}{
		"Pod":     {"the Deployment says who it is", map[string]string{"POD_NAMESPACE": "a", "POD_NAME": "b", "POD_UID": "c"}, true},
		"Machine": {"a process outside of a cluster", nil, false},
		"Half":    {"no one would find the event", map[string]string{"POD_NAMESPACE": "a", "POD_NAME": "b"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pod := ownPod(func(key string) string { return tc.env[key] })
			if (pod != nil) != tc.want || pod != nil && (pod.Namespace != "a" || pod.Name != "b" || pod.UID != "c") {
				t.Errorf("%s: %+v", tc.reason, pod)
			}
		})
	}
}
