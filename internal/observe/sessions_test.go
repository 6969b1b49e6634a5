// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"archive/zip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// pages are those of real servers; their README says how they were made.
func pages(tb testing.TB) map[string]string {
	tb.Helper()
	return archived(tb, "testdata/connect-pages.zip")
}

func archived(tb testing.TB, path string) map[string]string {
	tb.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = archive.Close() }() // it was only read
	all := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			tb.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		all[strings.TrimSuffix(f.Name, ".html")] = string(text)
	}
	return all
}

// launched is when the recorded servers were started.
var launched = map[string]time.Time{
	"3.5.9": time.Date(2026, 11, 22, 22, 17, 24, 0, time.UTC),
	"4.0.5": time.Date(2026, 11, 22, 22, 18, 35, 0, time.UTC),
	"4.1.4": time.Date(2026, 11, 22, 22, 16, 28, 0, time.UTC),
}

func known(open, executing int32, last string) lifecycle.Sessions {
	s := lifecycle.Sessions{Known: true, Open: open, Executing: executing}
	if last != "" {
		at, err := time.Parse(time.TimeOnly, last)
		if err != nil {
			panic(err)
		}
		s.LastExecution = at.AddDate(2026, 10, 21)
	}
	return s
}

func TestRecordedPages(t *testing.T) {
	cases := map[string]struct {
		reason string
		want   lifecycle.Sessions
	}{
		"3.5.9-never":                      {"nobody has connected", known(0, 0, "")},
		"3.5.9-open-no-query":              {"somebody has, and is about to use it", known(1, 0, "22:17:35")},
		"3.5.9-running":                    {"a query runs", known(1, 1, "22:17:37")},
		"3.5.9-after-query":                {"it has ended", known(1, 0, "22:17:48")},
		"3.5.9-after-failed-and-half-read": {"a query that failed, and one whose rows nobody fetches", known(1, 0, "22:17:50")},
		"3.5.9-after-stop":                 {"clients of Spark 3.5 do not release their session", known(1, 0, "22:17:50")},
		"3.5.9-channel-closed":             {"a client that is gone has its session for an hour", known(2, 0, "22:17:53")},
		"3.5.9-many":                       {"many sessions", known(27, 0, "22:17:57")},
		"3.5.9-twenty-stopped":             {"clients of Spark 3.5 do not release their session", known(27, 0, "22:17:57")},
		"3.5.9-after-many-stopped":         {"clients of Spark 3.5 do not release their session", known(27, 0, "22:17:57")},
		"4.0.5-never":                      {"nobody has connected", known(0, 0, "")},
		"4.0.5-open-no-query":              {"somebody has, and is about to use it", known(1, 0, "22:18:46")},
		"4.0.5-running":                    {"a query runs", known(1, 1, "22:18:47")},
		"4.0.5-after-query":                {"it has ended", known(1, 0, "22:18:58")},
		"4.0.5-after-failed-and-half-read": {"a query whose rows are being fetched runs", known(1, 1, "22:19:00")},
		"4.0.5-after-stop":                 {"the session is released", known(0, 0, "22:19:00")},
		"4.0.5-channel-closed":             {"a client that is gone has its session for an hour", known(1, 0, "22:19:02")},
		"4.0.5-many":                       {"many sessions", known(26, 0, "22:19:07")},
		"4.0.5-twenty-stopped":             {"most of them released", known(6, 0, "22:19:07")},
		"4.0.5-after-many-stopped":         {"a released session is no use of the server", known(1, 0, "22:19:07")},
		"4.1.4-never":                      {"nobody has connected", known(0, 0, "")},
		"4.1.4-open-no-query":              {"somebody has, and is about to use it", known(1, 0, "22:16:47")},
		"4.1.4-running":                    {"a query runs", known(1, 1, "22:16:48")},
		"4.1.4-after-query":                {"it has ended", known(1, 0, "22:17:02")},
		"4.1.4-after-failed-and-half-read": {"a query that failed, and one whose rows nobody fetches", known(1, 0, "22:17:07")},
		"4.1.4-after-stop":                 {"the session is released", known(0, 0, "22:17:07")},
		"4.1.4-channel-closed":             {"a client that is gone has its session for an hour", known(1, 0, "22:17:10")},
		"4.1.4-many":                       {"many sessions", known(26, 0, "22:17:16")},
		"4.1.4-twenty-stopped":             {"most of them released", known(6, 0, "22:17:16")},
		"4.1.4-after-many-stopped":         {"a released session is no use of the server", known(1, 0, "22:17:16")},
	}
	recorded := pages(t)
	if len(cases) != len(recorded)-1 { // and its README
		t.Errorf("%d pages are recorded, and %d are told of", len(recorded)-1, len(cases))
	}
	for name, tc := range cases {
		version, _, _ := strings.Cut(name, "-")
		got, err := parseSessions(recorded[name], launched[version])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// Pages of streaming queries as real servers show them.
func TestRecordedStreams(t *testing.T) {
	recorded := archived(t, "testdata/streaming-pages.zip")
	cases := map[string]struct {
		reason string
		want   int32
	}{
		"stream":  {"one runs, between two of its batches", 1},
		"waiting": {"one waits for data, another was stopped", 1},
		"stopped": {"both were stopped", 0},
		"failed":  {"one has failed, with what looks like a heading in its name", 0},
		"many":    {"more than a page has", 25},
	}
	for name, tc := range cases {
		for _, version := range []string{"3.5.9", "4.1.4"} {
			page, has := recorded[version+"-"+name]
			if got := parseStreams(page); !has || got != tc.want {
				t.Errorf("%s of Spark %s: %d, want %d: %s", name, version, got, tc.want, tc.reason)
			}
		}
	}
}

// A page says times in the server's own zone, and does not name it.
func TestZonesOfPages(t *testing.T) {
	page, at := pages(t)["4.1.4-after-query"], known(0, 0, "22:17:02").LastExecution
	cases := map[string]struct {
		reason  string
		started time.Time
		want    time.Time
	}{
		"UTC":       {"as almost all containers", launched["4.1.4"], at},
		"Slow":      {"Spark starts minutes after the container", launched["4.1.4"].Add(-14 * time.Minute), at},
		"AtOnce":    {"clocks tell seconds only", launched["4.1.4"].Add(9 * time.Second), at},
		"Unknown":   {"a pod that does not say when its container started", time.Time{}, at},
		"Ahead":     {"the clock on the wall may have been put back since", launched["4.1.4"].Add(-2 * time.Hour), at.Add(-time.Hour)},
		"Behind":    {"the clock on the wall may have been put back since", launched["4.1.4"].Add(5 * time.Hour), at.Add(6 * time.Hour)},
		"Kathmandu": {"zones are of quarters of an hour", launched["4.1.4"].Add(-5*time.Hour - 45*time.Minute), at.Add(-4*time.Hour - 45*time.Minute)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, err := parseSessions(page, tc.started); err != nil || !got.LastExecution.Equal(tc.want) {
				t.Errorf("%s: %s, %v, want %s", tc.reason, got.LastExecution, err, tc.want)
			}
		})
	}
}

func TestPagesThatSayNothing(t *testing.T) {
	page := pages(t)["4.1.4-after-query"]
	cases := map[string]struct {
		reason, text, want string
	}{
		"Empty":      {"no page", "", "does not count sessions"},
		"Other":      {"another page of the UI", "<html><h4>Completed Jobs (1)</h4></html>", "does not count sessions"},
		"NoStart":    {"no start", strings.ReplaceAll(page, "Started at", "Begun at"), "does not say when the server started"},
		"WrongStart": {"a date that there is not", strings.Replace(page, "2026/11/22 22:16:37", "2026/13/45 99:99:99", 1), "cannot parse the start time"},
		"NoRows":     {"it counts requests and lists none", strings.ReplaceAll(page, "2026/11/22 22:1", "yesterday"), "started"},
		"Huge":       {"a number that is none", strings.Replace(page, "1\n          session(s)", "99999999999999999999\n          session(s)", 1), "does not count sessions"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if s, err := parseSessions(tc.text, time.Time{}); err == nil || !strings.Contains(err.Error(), tc.want) || s.Known {
				t.Errorf("%s: %+v, %v, want %q", tc.reason, s, err, tc.want)
			}
		})
	}
}

// What a pod answers, and what is made of it. It may be a tenant's own program.
func TestSessions(t *testing.T) {
	page, quiet, stream := pages(t)["4.1.4-running"], pages(t)["4.1.4-after-query"], archived(t, "testdata/streaming-pages.zip")["4.1.4-stream"]
	two := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/StreamingQuery/" {
				_, _ = io.WriteString(w, quiet)
				return
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	streaming, unsure := known(1, 0, "22:17:02"), known(1, 0, "22:17:02")
	streaming.Streams, unsure.Problem = 1, "Spark's UI on port 4040 has no page /StreamingQuery/ (HTTP status 500)"
	answer := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://169.254.169.254/")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text) // the reader may have gone
		}
	}
	cases := map[string]struct {
		reason  string
		handler http.HandlerFunc
		ip      string
		port    int32
		want    lifecycle.Sessions
	}{
		"Page":     {reason: "what is there", handler: answer(200, page), want: known(1, 1, "22:16:48")},
		"Streams":  {reason: "finding 2: nothing is executed, and a streaming query runs", handler: two(200, stream), want: streaming},
		"NoStream": {reason: "none was ever started: Spark shows its jobs instead", handler: two(302, ""), want: known(1, 0, "22:17:02")},
		"Unsure":   {reason: "there may be one", handler: two(500, ""), want: unsure},
		"Endless":  {reason: "the counts are at its beginning", handler: answer(200, page+strings.Repeat(" ", 4*sessionsLimit)), want: known(1, 1, "22:16:48")},
		"NoTab":    {reason: "the UI is up before Spark Connect is", handler: answer(404, ""), want: lifecycle.Sessions{Problem: "Spark's UI on port 4040 has no page /connect/ (HTTP status 404)"}},
		"Redirect": {reason: "nobody is followed", handler: answer(302, ""), want: lifecycle.Sessions{Problem: "Spark's UI on port 4040 has no page /connect/ (HTTP status 302)"}},
		"Silent": {
			reason: "it does not answer", handler: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			want: lifecycle.Sessions{Problem: "Spark's UI on port 4040 does not respond in time; check that no NetworkPolicy blocks the operator"},
		},
		"Broken": {
			reason: "not HTTP", handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			want: lifecycle.Sessions{Problem: "Spark's UI on port 4040 does not respond as an HTTP server"},
		},
		"NoUI":      {reason: "spark.ui.enabled=false", port: -1, want: lifecycle.Sessions{Problem: "only Spark's UI reports them, which is turned off (spark.ui.enabled) or has no fixed port (spark.ui.port)"}},
		"NoAddress": {reason: "the pod has none yet", ip: "none", want: lifecycle.Sessions{Problem: "the driver pod has no address"}},
		"Metadata":  {reason: "somebody may have written the pod's status", ip: "169.254.169.254", want: lifecycle.Sessions{Problem: "the driver pod has an invalid pod IP"}},
		"Loopback":  {reason: "the operator's own ports", ip: "::1", want: lifecycle.Sessions{Problem: "the driver pod has an invalid pod IP"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
			var r Reader
			if tc.handler != nil {
				server := httptest.NewServer(tc.handler)
				defer server.Close()
				r.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if address != "10.0.0.9:4040" {
						t.Errorf("it connects to %s", address)
					}
					var d net.Dialer
					return d.DialContext(ctx, network, server.Listener.Addr().String())
				}
			}
			if tc.ip == "" {
				tc.ip = "10.0.0.9"
			}
			if tc.port == 0 {
				tc.port = 4040
			}
			if diff := cmp.Diff(tc.want, r.Sessions(t.Context(), tc.ip, tc.port, launched["4.1.4"])); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func FuzzParseSessions(f *testing.F) {
	for _, page := range pages(f) {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, text string) {
		defer heaptest.Bound(t, 8*len(text))()
		s, err := parseSessions(text, launched["4.1.4"])
		if s.Known != (err == nil) || s.Open < 0 || s.Executing < 0 || s.Problem != "" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
