// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// serveBounded serves a handler within short bounds.
func serveBounded(t *testing.T, handler http.HandlerFunc, s *slots) *httptest.Server {
	t.Helper()
	served := httptest.NewServer(boundedHandler{handler, s})
	t.Cleanup(served.Close)
	return served
}

// post sends a body and returns the code of the answer; 0 if there is none.
func post(ctx context.Context, url string, body io.Reader) (int, string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return 0, err.Error()
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

func TestSizeOfRequests(t *testing.T) {
	read := 0
	served := serveBounded(t, func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		read = len(text)
	}, newSlots())
	cases := map[string]struct {
		reason string
		size   int
		// whole is whether the sender says how long the body is.
		whole bool
		code  int
	}{
		"Largest":   {"an object with its previous version", maxRequest, true, http.StatusOK},
		"Larger":    {"it is not read", maxRequest + 1, true, http.StatusRequestEntityTooLarge},
		"Chunks":    {"who does not say how long it is may send as much", maxRequest, false, http.StatusOK},
		"TooMany":   {"no more is read", maxRequest + 1, false, http.StatusRequestEntityTooLarge},
		"MuchLarge": {"however much would come", 40 << 20, false, http.StatusRequestEntityTooLarge},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var body io.Reader = strings.NewReader(strings.Repeat(" ", tc.size))
			if !tc.whole {
				body = io.MultiReader(body)
			}
			read = -1
			code, said := post(t.Context(), served.URL, body)
			// The server may close the connection while the rest is still being sent.
			if code != tc.code && (code != 0 || tc.code == http.StatusOK) {
				t.Errorf("%s: answered with %d %s, want %d", tc.reason, code, said, tc.code)
			}
			if want := tc.size; tc.code == http.StatusOK && read != want || tc.code != http.StatusOK && read != -1 {
				t.Errorf("%s: the handler has read %d bytes of %d", tc.reason, read, want)
			}
		})
	}
}

// One that sends slowly is cut off, and others are answered meanwhile.
func TestSlowRequests(t *testing.T) {
	s := newSlots()
	s.readTime = time.Second
	served := serveBounded(t, func(http.ResponseWriter, *http.Request) {}, s)
	var slow sync.WaitGroup
	for range maxReading - 1 {
		sender, end := io.Pipe()
		slow.Go(func() { _, _ = end.Write([]byte("{")) })
		slow.Go(func() {
			if code, said := post(t.Context(), served.URL, sender); code == http.StatusOK {
				t.Errorf("half a request is answered with %d %s", code, said)
			}
			_ = sender.Close()
		})
	}
	if code, said := post(t.Context(), served.URL, strings.NewReader("{}")); code != http.StatusOK {
		t.Errorf("beside slow ones a request is answered with %d %s", code, said)
	}
	slow.Wait() // they end by themselves
}

func TestSimultaneousRequests(t *testing.T) {
	s := newSlots()
	s.answerTime = 2 * time.Second
	var now, most atomic.Int32
	free := make(chan struct{})
	served := serveBounded(t, func(_ http.ResponseWriter, r *http.Request) {
		for n := now.Add(1); ; {
			if seen := most.Load(); n <= seen || most.CompareAndSwap(seen, n) {
				break
			}
		}
		defer now.Add(-1)
		select {
		case <-free:
		case <-r.Context().Done():
		}
	}, s)
	var waiting sync.WaitGroup
	var answered, refused atomic.Int32
	for range 3 * maxReading {
		waiting.Go(func() {
			switch code, said := post(t.Context(), served.URL, strings.NewReader("{}")); code {
			case http.StatusOK:
				answered.Add(1)
			case http.StatusServiceUnavailable:
				refused.Add(1)
			default:
				t.Errorf("answered with %d %s", code, said)
			}
		})
	}
	waiting.Wait() // nobody frees a place: who waits is told so, who is answered has a bound
	if n := most.Load(); n > maxAnswering {
		t.Errorf("%d were answered at the same time, want %d at most", n, maxAnswering)
	}
	if answered.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d answered, %d refused; want some of both", answered.Load(), refused.Load())
	}
	close(free)
	if code, said := post(t.Context(), served.URL, strings.NewReader("{}")); code != http.StatusOK {
		t.Errorf("afterwards a request is answered with %d %s", code, said)
	}
}
