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

// Log names what is read of a log: the last LogLines lines of a container, at most Limit bytes.
type Log struct {
	Namespace, Pod, Container string
	// Previous means the container that was there before the present one was started in its place.
	Previous bool
	Limit    int64
}

// Options are those of the request.
func (l Log) Options() *corev1.PodLogOptions {
	return &corev1.PodLogOptions{Container: l.Container, Previous: l.Previous, TailLines: new(int64(LogLines)), LimitBytes: &l.Limit}
}

// LogLines is how many of a log's last lines are read. An exception of Spark 4 that a query failed with, and the end of the
// driver after it, have up to 300; the cause is among the first of them. The record keeps less.
const LogLines = 500

// logLimit bounds what is read of a log, in bytes. The kubelet counts them from the first of the lines, so that less would
// cut off the end.
const logLimit = 256 << 10

// complete reads what the pod itself does not report: why its volumes are not mounted, and the end of the log of a driver whose program
// failed. Both are only shown to users, so a failed read is not an error.
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

// ansiCodes are the escape sequences by which a program colors a terminal.
var ansiCodes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// plain is a log without what only a terminal can show.
func plain(log string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) && r != '\n' && r != '\t' || r == utf8.RuneError {
			return -1
		}
		return r
	}, ansiCodes.ReplaceAllString(log, ""))
}

// said is the message about an end that may be shown. The kubelet takes that of a container that has run from the container, be it
// the end of its log; the runtime's, about one that could not be started, is its own.
func said(e lifecycle.Exit, tails lifecycle.LogTails) string {
	switch {
	case e.Code < 0, e.Reason == "StartError", e.Reason == "ContainerCannotRun":
		return e.Message
	}
	return tails.Redact(plain(e.Message))
}

// mountFailure returns the newest event that says why a volume is not mounted, if there is one.
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
	volume, details, _ := strings.Cut(newest.Message, ": ") // the kubelet first says what it does to which volume
	return lifecycle.Wait{Cause: lifecycle.Cause{Reason: lifecycle.ReasonVolume, Message: volume}, Details: details}
}

// seenAt is when an event was last seen. Recorders of events.k8s.io leave the old field empty.
func seenAt(e *corev1.Event) time.Time {
	switch {
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	}
	return e.EventTime.Time
}
