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

// Log identifies a part of a log: the last LogLines lines of a container, at most Limit bytes.
type Log struct {
	Namespace, Pod, Container string
	// Previous selects the container that ran before a restart.
	Previous bool
	Limit    int64
}

// Options returns the options of the request.
func (l Log) Options() *corev1.PodLogOptions {
	return &corev1.PodLogOptions{Container: l.Container, Previous: l.Previous, TailLines: new(int64(LogLines)), LimitBytes: &l.Limit}
}

// LogLines is the number of last lines to read. An exception of a failed query in Spark 4 and the driver's end after it have up
// to 300 lines; the cause is among the first of them. The record keeps fewer.
const LogLines = 500

// logLimit bounds the read part of a log, in bytes. The kubelet counts from the first of the lines, so a lower limit would cut
// off the end.
const logLimit = 256 << 10

// complete reads details that the pod lacks: the error of a volume mount, and the end of a failed driver's log. Users see both
// and no decision depends on them, so a failed read is no error.
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

// said returns the message of an end if it may be shown. For a container that ran, the kubelet takes it from the container,
// possibly from its log; for one that failed to start, it is the runtime's own.
func said(e lifecycle.Exit, tails lifecycle.LogTails) string {
	switch {
	case e.Code < 0, e.Reason == "StartError", e.Reason == "ContainerCannotRun":
		return e.Message
	}
	return tails.Redact(plain(e.Message))
}

// mountFailure returns the newest event about a failed volume mount, if there is one.
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

// seenAt returns the last time of an event. Recorders of events.k8s.io leave the old field empty.
func seenAt(e *corev1.Event) time.Time {
	switch {
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	}
	return e.EventTime.Time
}
