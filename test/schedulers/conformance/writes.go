// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// writes are the requests of an operator that change something.
type writes struct {
	mu    sync.Mutex
	seen  []write
	asked int // about its rights
}

// write is one request, with its content.
type write struct{ request, said string }

// counted is a transport that notes them. Events and questions about rights change nothing that anyone waits for, and neither does what
// the API server refuses for now.
type counted struct {
	next   http.RoundTripper
	writes *writes
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "accessreviews") {
		answer, err := c.next.RoundTrip(r)
		c.writes.mu.Lock()
		c.writes.asked++
		c.writes.mu.Unlock()
		return answer, err
	}
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") {
		return c.next.RoundTrip(r)
	}
	sent, err := sentIn(r)
	if err != nil {
		return nil, err
	}
	answer, err := c.next.RoundTrip(r)
	if err != nil || answer.StatusCode == http.StatusConflict || answer.StatusCode == http.StatusTooManyRequests ||
		answer.StatusCode >= http.StatusInternalServerError {
		return answer, err
	}
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close() // it was read
	answer.Body = io.NopCloser(bytes.NewReader(got))
	c.writes.mu.Lock()
	defer c.writes.mu.Unlock()
	c.writes.seen = append(c.writes.seen, write{r.Method + " " + r.URL.Path, fmt.Sprint(answer.StatusCode, " ", said(r.URL.Path, sent, got))})
	return answer, nil
}

// sentIn is the body of a request, which can be sent still.
func sentIn(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	sent, err := io.ReadAll(r.Body)
	_ = r.Body.Close() // it was read
	r.Body = io.NopCloser(bytes.NewReader(sent))
	return sent, err
}

// changing matches the parts that differ between two equivalent writes.
var changing = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z|"resourceVersion":"\d+"`)

// said returns the content of a write: the resulting status, or the sent object.
func said(path string, sent, got []byte) string {
	var object struct {
		Status map[string]any `json:"status"`
	}
	if strings.HasSuffix(path, "/status") && json.Unmarshal(got, &object) == nil && object.Status != nil {
		if status, err := json.Marshal(object.Status); err == nil {
			sent = status
		}
	}
	return changing.ReplaceAllString(string(sent), "")
}

// reviews returns how often the operator has checked its rights.
func (w *writes) reviews() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// about returns those so far that concern an application or what was made for it; objects are named after it, or after
// its attempts.
func (w *writes) about(a *app) []write {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []write
	for _, one := range w.seen {
		if strings.Contains(one.request, "/"+a.Name) || strings.Contains(one.request, "podgroups") &&
			strings.Contains(one.request, spark.NewIdentity(a.UID, 1, time.Time{}).NameID) {
			found = append(found, one)
		}
	}
	return found
}
