// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strconv"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Rerun records the user's requests to run again. A request is a time. A later time than the last one restarts the application as an edit does; the same time
// never does so twice.
type Rerun struct {
	// At is the latest request that caused a run, or that the first run fulfilled; zero for none.
	At time.Time
	// Ignored is the present request if it is permanently ignored, because it is not a time or was too far in the future.
	Ignored string
}

const (
	// rerunSkew bounds how far a requester's clock may be ahead.
	rerunSkew = 5 * time.Minute
	// maxRequest bounds the stored text of an ignored request, in bytes.
	maxRequest = 64
	// rerunMark separates the hash of the spec from the time of the request.
	rerunMark = "."
)

// WithRerun returns the application with a request, "" for none, and with the record of earlier ones. The hash of an attempt includes the request. After a
// crash, the driver's label thus reveals a lost request, as it reveals a lost edit.
func (a Application) WithRerun(request string, rec Record, now time.Time) Application {
	a.Rerun = Rerun{At: rec.Rerun.At}
	at, err := time.Parse(time.RFC3339, request)
	at = at.Truncate(time.Second).UTC()
	switch ignored := head(request, maxRequest); {
	case request == "":
	case ignored == rec.Rerun.Ignored, err != nil, at.After(now.Add(rerunSkew)):
		a.Rerun.Ignored = ignored // permanently, because a later run would surprise the user
	case at.After(a.Rerun.At):
		a.Rerun.At = at
	}
	if !a.Rerun.At.IsZero() {
		a.SpecHash = specOf(a.SpecHash) + rerunMark + strconv.FormatInt(a.Rerun.At.Unix(), 10)
	}
	return a
}

// specOf returns the part of a hash that identifies the spec.
func specOf(hash string) string {
	spec, _, _ := strings.Cut(hash, rerunMark)
	return spec
}

// same reports whether two records are equal.
func (r Rerun) same(other Rerun) bool { return r.At.Equal(other.At) && r.Ignored == other.Ignored }

// problem returns the message about an ignored request.
func (r Rerun) problem(f spark.Fields) string {
	if r.Ignored == "" {
		return ""
	}
	return f.Text("{rerunAt}: ") + strconv.Quote(r.Ignored) +
		`: ignored: not a present time in RFC 3339; write the current time, such as "2026-11-22T10:00:00Z"`
}

// renewal returns the cause of a new run: the user's request, or an edit.
func renewal(app Application, r Record) Cause {
	if specOf(r.SpecHash) == specOf(app.SpecHash) {
		return Cause{ReasonRerunRequested, app.Fields.Text("{rerunAt} has a later time than before: the application runs again")}
	}
	return specChanged
}

var specChanged = Cause{ReasonSpecChanged, "the spec has changed: the application runs again with the new spec"}
