// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/eventrecorder"
	"github.com/firesteel-dev/firesteel/internal/metrics"
)

// lookPeriod is the interval for checking the configuration file. A kubelet updates a changed ConfigMap within a minute or two, and a watch of the ConfigMap is
// faster. Comparing a small file costs less than watching its folder.
const lookPeriod = 2 * time.Second

// reloader applies those changes of the configuration file that need no restart.
type reloader struct {
	log     logr.Logger
	started config.OperatorConfiguration // the configuration at the start
	apply   func(context.Context, config.OperatorConfiguration)
	metrics *metrics.Metrics // may be nil
	// recorder records the result of a change as an event of the operator's pod. The pod may be nil.
	recorder events.EventRecorder
	pod      *corev1.Pod
	period   time.Duration
	// live is the ConfigMap that the file is mounted from; nil if only the file is read.
	live *liveFile

	last string
	// refused is the text whose refusal was reported last.
	refused string
}

// Follow returns a runnable that follows the configuration file in another process of the operator. It applies the same sections as the controllers' process,
// and logs the result.
func Follow(log logr.Logger, started config.OperatorConfiguration, apply func(config.OperatorConfiguration)) manager.Runnable {
	return &reloader{log: log, started: started, period: lookPeriod, apply: func(_ context.Context, c config.OperatorConfiguration) { apply(c) }}
}

// Start checks the file until the context ends. It implements manager.Runnable.
func (r *reloader) Start(ctx context.Context) error {
	ticker := time.NewTicker(r.period)
	defer ticker.Stop()
	for {
		r.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-r.live.changes():
		}
	}
}

// NeedLeaderElection is false, because standby replicas also need the configuration.
func (r *reloader) NeedLeaderElection() bool { return false }

// look reads the ConfigMap if the kubelet has not updated the file yet, otherwise the file. It reports an invalid text once, and keeps the previous
// configuration.
func (r *reloader) look(ctx context.Context) {
	text, err := os.ReadFile(r.started.File)
	live, known := r.live.read()
	ahead := known && live != string(text)
	if ahead {
		text, err = []byte(live), nil
	}
	now := string(text)
	if err != nil {
		now = fmt.Sprintf("%T", err)
	}
	if now == r.last || ahead && now == r.refused {
		return
	}
	var c config.OperatorConfiguration
	if err == nil {
		c, err = config.Parse(text)
	}
	if err != nil {
		r.refuse(now, ahead, err)
		return
	}
	r.take(ctx, now, c)
}

// refuse reports an invalid text. Only an invalid text in the file counts as refused, because an upgrade of the operator writes the ConfigMap of the next
// release before this process ends.
func (r *reloader) refuse(text string, ahead bool, err error) {
	told := text == r.refused
	r.refused = text
	if !ahead {
		r.last = text
		r.metrics.Reloaded(false)
	}
	if told {
		return
	}
	r.log.Error(err, "the changed configuration is not applied; the previous one stays in force", "file", r.started.File)
	r.record(true, "ConfigurationRefused", fmt.Sprintf("the changed configuration is not applied, the previous one stays in force: %v", err))
}

// take applies the configuration of a text.
func (r *reloader) take(ctx context.Context, text string, c config.OperatorConfiguration) {
	first := r.last == ""
	r.last, r.refused = text, ""
	sections := r.started.NeedsRestart(c)
	r.metrics.RestartNeeded(len(sections) > 0)
	if len(sections) > 0 {
		r.log.Info("the configuration has changed in sections that need a restart of the operator", "sections", sections, "file", r.started.File)
		r.record(true, "ConfigurationNeedsRestart", "the configuration has changes that need a restart of the operator: "+strings.Join(sections, ", "))
	}
	if first && len(sections) == 0 && r.started.SameTenancy(c) {
		return // unchanged since the start
	}
	r.metrics.Reloaded(true)
	r.log.Info("applied the namespaces and policies of the changed configuration",
		"namespaces", c.Namespaces, "namespaceSelector", c.NamespaceSelector, "policies", len(c.Policies))
	r.apply(ctx, c)
	r.record(false, "ConfigurationReloaded", "namespaces and policies of the changed configuration are in force: "+tenancyOf(c))
}

// tenancyOf describes the sections that take effect without a restart.
func tenancyOf(c config.OperatorConfiguration) string {
	where := "namespaces: " + strings.Join(c.Namespaces, ", ")
	switch {
	case c.NamespaceSelector != "" && len(c.Namespaces) > 0:
		where += "; namespaceSelector: " + c.NamespaceSelector
	case c.NamespaceSelector != "":
		where = "namespaceSelector: " + c.NamespaceSelector
	case len(c.Namespaces) == 0:
		where = "all namespaces"
	}
	return fmt.Sprintf("policies: %d; %s", len(c.Policies), where)
}

// maxNote is the API server's limit for the text of an event, in bytes.
const maxNote = 1024

// record reports a result to the administrator who edited the ConfigMap, as an event of the operator's pod.
func (r *reloader) record(warning bool, reason, note string) {
	if r.pod == nil {
		return
	}
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote-len("...")], "") + "..."
	}
	r.recorder.Eventf(r.pod, nil, eventrecorder.EventType(warning), reason, "Reload", "%s", note)
}

// ownPod returns the pod of this process, from its environment; nil if unknown.
func ownPod(environment func(string) string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: environment("POD_NAMESPACE"), Name: environment("POD_NAME"), UID: types.UID(environment("POD_UID")),
	}}
	if pod.Namespace == "" || pod.Name == "" || pod.UID == "" {
		return nil
	}
	return pod
}
