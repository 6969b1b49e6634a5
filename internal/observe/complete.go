// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Log identifies the last LogLines lines of a container's log, at most Limit bytes of them.
type Log struct {
	Namespace, Pod, Container string
	// Previous selects the container before the last restart.
	Previous bool
	Limit    int64
}

// Options returns the options of the request.
func (l Log) Options() *corev1.PodLogOptions {
	return &corev1.PodLogOptions{Container: l.Container, Previous: l.Previous, TailLines: new(int64(LogLines)), LimitBytes: &l.Limit}
}

// LogLines is the number of last lines to read. In Spark 4, the exception of a failed query and the lines up to the driver's end are up to 300 lines, and the
// cause is among the first. The record keeps fewer lines.
const LogLines = 500

// logLimit bounds the read bytes of a log. The kubelet counts them from the first line, so a lower limit would lose the end.
const logLimit = 256 << 10

// complete reads details that the pod lacks: the error of a volume mount, and the end of a failed driver's log. A failed read is no error, because the details
// are only shown and no decision depends on them.
func (r Reader) complete(ctx context.Context, d *lifecycle.Driver, pod *Pod, t Target, rec lifecycle.Record) {
	d.Exit.Message = said(d.Exit, t.LogTails)
	if d.Ownership == lifecycle.NotOwned || !rec.State.HasDriver() {
		return
	}
	switch {
	case (d.Phase == lifecycle.DriverFailed || d.Restarted) && r.Logs != nil && !t.LogTails.Hidden:
		if text, err := r.Logs(ctx, Log{pod.Namespace, pod.Name, pod.container, d.Restarted, logLimit}); err == nil {
			d.LogTail = t.LogTails.Redact(plain(text))
		}
	case d.Phase == lifecycle.DriverPending && d.Waiting.Reason == "" && !d.ScheduledAt.IsZero() && t.Now.Sub(d.ScheduledAt) >= mountTime:
		d.Waiting = r.mountFailure(ctx, pod)
	}
}

// ansiCodes matches a terminal's color codes.
var ansiCodes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// plain removes terminal codes from a log.
func plain(log string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) && r != '\n' && r != '\t' || r == utf8.RuneError {
			return -1
		}
		return r
	}, ansiCodes.ReplaceAllString(log, ""))
}

// said returns the message of an exit, as far as it may be shown. If the container ran, the message comes from the container, possibly from its log. If it
// failed to start, the message is the container runtime's.
func said(e lifecycle.Exit, tails lifecycle.LogTails) string {
	switch {
	case e.Code < 0, e.Reason == "StartError", e.Reason == "ContainerCannotRun":
		return e.Message
	}
	return tails.Redact(plain(e.Message))
}

// mountFailure returns the newest event about a failed volume mount; empty for none.
func (r Reader) mountFailure(ctx context.Context, pod *Pod) lifecycle.Wait {
	var events corev1.EventList
	about := client.MatchingFields{"involvedObject.name": pod.Name, "involvedObject.uid": string(pod.UID), "type": corev1.EventTypeWarning}
	if err := r.Live.List(ctx, &events, client.InNamespace(pod.Namespace), about); err != nil {
		return lifecycle.Wait{}
	}
	var newest *corev1.Event
	for i := range events.Items {
		e := &events.Items[i]
		if e.Reason != "FailedMount" && e.Reason != "FailedAttachVolume" {
			continue
		}
		if newest == nil || seenAt(newest).Before(seenAt(e)) {
			newest = e
		}
	}
	if newest == nil {
		return lifecycle.Wait{}
	}
	volume, details, _ := strings.Cut(newest.Message, ": ") // the kubelet's message begins with the operation and the volume
	return lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonVolume, Message: volume}, Details: details}
}

// seenAt returns the last time of an event. Recorders of events.k8s.io leave the field LastTimestamp empty.
func seenAt(e *corev1.Event) time.Time {
	switch {
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	}
	return e.EventTime.Time
}
