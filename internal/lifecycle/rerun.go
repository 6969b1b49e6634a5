// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strconv"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Rerun is what became of the user's requests to run again. A request is a time: a later one than the last runs the application
// again as a changed spec does, the same one never does it twice.
type Rerun struct {
	// At is the latest request that was acted on, or that the first run has fulfilled; zero for none.
	At time.Time
	// Ignored is the request as it is written now, if it is never acted on: it is not a time, or was too far in the future.
	Ignored string
}

const (
	// rerunSkew is how far the clock of whoever makes a request may be ahead.
	rerunSkew = 5 * time.Minute
	// maxRequest bounds what is stored of a request that is ignored, in bytes.
	maxRequest = 64
	// rerunMark separates the time of a request from the hash of the spec.
	rerunMark = "."
)

// WithRerun is the application with a request, "" for none, next to what is recorded of earlier ones. The request becomes a part of
// the hash of what an attempt is made from: so a request that is lost in a crash is found again as an edit is, by the driver's label.
func (a Application) WithRerun(request string, rec Record, now time.Time) Application {
	a.Rerun = Rerun{At: rec.Rerun.At}
	at, err := time.Parse(time.RFC3339, request)
	at = at.Truncate(time.Second).UTC()
	switch ignored := head(request, maxRequest); {
	case request == "":
	case ignored == rec.Rerun.Ignored, err != nil, at.After(now.Add(rerunSkew)):
		a.Rerun.Ignored = ignored // for good: it must not act later by surprise
	case at.After(a.Rerun.At):
		a.Rerun.At = at
	}
	if !a.Rerun.At.IsZero() {
		a.SpecHash = specOf(a.SpecHash) + rerunMark + strconv.FormatInt(a.Rerun.At.Unix(), 10)
	}
	return a
}

// specOf is the part of a hash that stands for the spec.
func specOf(hash string) string {
	spec, _, _ := strings.Cut(hash, rerunMark)
	return spec
}

// same reports whether nothing is to be recorded.
func (r Rerun) same(other Rerun) bool { return r.At.Equal(other.At) && r.Ignored == other.Ignored }

// problem is what users read of a request that is ignored.
func (r Rerun) problem(f spark.Fields) string {
	if r.Ignored == "" {
		return ""
	}
	return f.Text("{rerunAt}: ") + strconv.Quote(r.Ignored) +
		`: ignored, because it is not a present time in RFC 3339; write the time that it is, such as "2026-11-22T10:00:00Z"`
}

// renewal is why what runs is out of date.
func renewal(app Application, r Record) Cause {
	if specOf(r.SpecHash) == specOf(app.SpecHash) {
		return Cause{ReasonRerunRequested, app.Fields.Text("{rerunAt} has a later time than before: the application runs again")}
	}
	return specChanged
}

var specChanged = Cause{ReasonSpecChanged, "the spec has changed: the application runs again from the new one"}
