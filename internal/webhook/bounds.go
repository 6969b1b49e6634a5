// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Bounds of the cost of requests. Any client that reaches the port may send requests, and their cost arises before the client is known. The bounds keep the
// memory below the 128Mi of the container (TestMemory).
const (
	// maxRequest bounds a request, in bytes. The API server stores objects of at most 1.5 MiB, and sends at most two of them.
	maxRequest = 7 << 19
	// maxReading bounds the requests that are read concurrently. maxAnswering bounds those that are decoded and checked.
	maxReading, maxAnswering = 8, 2
	// readTime bounds the time for reading a request, which comes from a nearby server.
	readTime = 5 * time.Second
	// answerTime bounds the time for a response, including the wait for other requests. The API server waits for 10 s.
	answerTime = 10 * time.Second
)

// boundedHandler serves requests within the bounds.
type boundedHandler struct {
	http.Handler
	*slots
}

// slots limit the concurrent requests of all handlers of a server.
type slots struct {
	reading, answering *semaphore.Weighted
	// readTime and answerTime override the constants.
	readTime, answerTime time.Duration
}

func newSlots() *slots {
	return &slots{semaphore.NewWeighted(maxReading), semaphore.NewWeighted(maxAnswering), readTime, answerTime}
}

// ServeHTTP reads the request before it takes a slot for answering, so that a slow sender blocks no other request.
func (b boundedHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), b.answerTime)
	defer cancel()
	if b.reading.Acquire(ctx, 1) != nil {
		http.Error(w, "too many requests are being read; try again", http.StatusServiceUnavailable)
		return
	}
	defer b.reading.Release(1)
	deadlines := http.NewResponseController(w)
	now := time.Now()
	if err := errors.Join(deadlines.SetReadDeadline(now.Add(b.readTime)), deadlines.SetWriteDeadline(now.Add(b.readTime+b.answerTime))); err != nil {
		http.Error(w, fmt.Sprintf("set deadlines: %v", err), http.StatusInternalServerError)
		return
	}
	text, problem, code := read(http.MaxBytesReader(w, r.Body, maxRequest), r.ContentLength)
	if problem != "" {
		http.Error(w, problem, code)
		return
	}
	if b.answering.Acquire(ctx, 1) != nil {
		http.Error(w, "too many requests are being answered; try again", http.StatusServiceUnavailable)
		return
	}
	defer b.answering.Release(1)
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(text))
	b.Handler.ServeHTTP(w, r)
}

// read returns the body, or a problem with its status code. length is negative if unknown.
func read(body io.Reader, length int64) (text []byte, problem string, code int) {
	if length > maxRequest {
		return nil, tooLarge, http.StatusRequestEntityTooLarge
	}
	var all bytes.Buffer
	all.Grow(int(max(0, length)) + bytes.MinRead) // avoids copies while the buffer grows
	_, err := all.ReadFrom(body)
	var larger *http.MaxBytesError
	switch {
	case errors.As(err, &larger):
		return nil, tooLarge, http.StatusRequestEntityTooLarge
	case err != nil:
		return nil, fmt.Sprintf("read the request: %v", err), http.StatusBadRequest
	}
	return all.Bytes(), "", 0
}

var tooLarge = fmt.Sprintf("the request has more than %d bytes; an object with its previous version may have that many", maxRequest)

// Register serves a handler at a path, within the bounds.
func (s server) Register(path string, hook http.Handler) {
	s.Server.Register(path, boundedHandler{hook, s.slots})
}

var _ webhook.Server = server{}
