// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

const (
	// sessionsTimeout bounds a look at a server's sessions, and sessionsLimit what is read of the answer, in bytes. The counts stand
	// before the tables.
	sessionsTimeout = 2 * time.Second
	sessionsLimit   = 1 << 20
	// streamsPath is the page of streaming queries. Until the first one was started, Spark redirects it to its page of jobs.
	streamsPath = "/StreamingQuery/"
	// sessionsQuery is for Spark Connect's page of the UI: the newest ends of requests first: of each table it shows one page only.
	sessionsQuery = "?sqlstat.sort=Finish+Time&sqlstat.desc=true&sqlstat.pageSize=20&sessionstat.pageSize=20"
)

// Sessions asks the Spark Connect server of a pod for its sessions, on the port of Spark's UI, which is 0 if there is none. The driver's
// container started at started. The pod is a tenant's, who can make it say anything.
//
// There is no other source: neither the metrics nor the REST API of Spark know of sessions.
func (r Reader) Sessions(ctx context.Context, podIP string, port int32, started time.Time) lifecycle.Sessions {
	address, err := netip.ParseAddr(podIP)
	switch {
	case port <= 0:
		return lifecycle.Sessions{Problem: "Spark's UI, which knows them, is turned off (spark.ui.enabled) or has no fixed port (spark.ui.port)"}
	case err != nil:
		return lifecycle.Sessions{Problem: "the driver pod has no address"}
	case !address.IsGlobalUnicast():
		return lifecycle.Sessions{Problem: "the driver pod has an invalid pod IP"}
	}
	host, ui := net.JoinHostPort(podIP, strconv.Itoa(int(port))), "Spark's UI on port "+strconv.Itoa(int(port))+" "
	text, problem := r.page(ctx, host, "/connect/", sessionsQuery)
	if problem != "" {
		return lifecycle.Sessions{Problem: ui + problem}
	}
	s, err := parseSessions(text, started)
	if err != nil {
		return lifecycle.Sessions{Problem: "the page /connect/ of Spark's UI is not understood: " + err.Error()}
	}
	if s.Executing > 0 {
		return s
	}
	if text, problem = r.page(ctx, host, streamsPath, ""); problem != "" && problem != noPage(streamsPath, http.StatusFound) {
		s.Problem = ui + problem
	}
	s.Streams = parseStreams(text)
	return s
}

// page reads a page of the UI. The problem has no address in it and no words of others: the message stays the same.
func (r Reader) page(ctx context.Context, host, path, query string) (text, problem string) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path+query, http.NoBody)
	if err != nil {
		return "", "cannot be asked"
	}
	transport := &http.Transport{DialContext: r.Dial, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10} // and no proxy
	client := http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return "", unreachable(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		return "", noPage(path, response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, sessionsLimit))
	if err != nil {
		return "", unreachable(err)
	}
	return string(body), ""
}

func noPage(path string, status int) string {
	return fmt.Sprintf("has no page %s (HTTP status %d)", path, status)
}

// unreachable says why there is no answer.
func unreachable(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "does not answer in time; does a NetworkPolicy keep the operator out?"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "takes no connections"
	}
	return "does not answer as an HTTP server does"
}

var (
	counted   = regexp.MustCompile(`<h4>\s*(\d{1,9})\s+session\(s\) are online,\s+running\s+(\d{1,9})\s+Request\(s\)\s*</h4>`)
	startedAt = regexp.MustCompile(`<strong>Started at: </strong>\s*(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)\s*<`)
	requests  = regexp.MustCompile(`Request Statistics \((\d{1,9})\)`)
	streams   = regexp.MustCompile(`<a>Active Streaming Queries \((\d{1,9})\)</a>`)
	timeCell  = regexp.MustCompile(`<td>\s*(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)\s*</td>`)
)

// pageTime is how the page writes times: those of the server's own time zone, which it does not name.
const pageTime = "2006/01/02 15:04:05"

// latest is the latest of the first n times of a part of the page; of all with -1.
func latest(part string, n int) time.Time {
	last := time.Time{}
	for _, cell := range timeCell.FindAllStringSubmatch(part, n) {
		if at, err := time.Parse(pageTime, cell[1]); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}

// parseSessions reads Spark Connect's page of Spark 3.5 to 4.1. What users write is escaped in it. The times of a request are when it
// began, was computed and was fetched. A session that is opened counts as well: a client is about to use the server. One that is
// closed, perhaps by the server after a while, does not.
func parseSessions(text string, started time.Time) (lifecycle.Sessions, error) {
	found := counted.FindStringSubmatch(text)
	if found == nil {
		return lifecycle.Sessions{}, errors.New("it does not count sessions and requests")
	}
	s := lifecycle.Sessions{Known: true, Open: number(found[1]), Executing: number(found[2])}
	began := startedAt.FindStringSubmatch(text)
	if began == nil {
		return lifecycle.Sessions{}, errors.New("it does not say when the server started")
	}
	wall, err := time.Parse(pageTime, began[1])
	if err != nil {
		return lifecycle.Sessions{}, errors.New("cannot parse the start time of the server")
	}
	sessions, executions, _ := strings.Cut(text, `id="sqlstat"`)
	last := latest(executions, -1)
	for row := range strings.SplitSeq(sessions, "<tr>") {
		if opened := latest(row, 1); opened.After(last) {
			last = opened
		}
	}
	if n := requests.FindStringSubmatch(text); last.IsZero() && (n == nil || number(n[1]) > 0) {
		return lifecycle.Sessions{}, errors.New("it does not list the requests")
	}
	if !last.IsZero() {
		s.LastExecution = last.Add(-zoneOf(wall, started))
	}
	return s, nil
}

// parseStreams counts the active queries of the page of Spark 3.5 to 4.1: it has no such heading if there are none. What users write is
// escaped in it.
func parseStreams(text string) int32 {
	if found := streams.FindStringSubmatch(text); found != nil {
		return number(found[1])
	}
	return 0
}

// zone is what time zones differ by.
const zone = 15 * time.Minute

// zoneOf is what a server's clock on the wall is ahead of UTC: Spark starts after the container, by less than a quarter of an hour. A zone
// other than UTC may have put its clocks back since, so that a time of the last hour would look older than it is: it is taken for an
// hour later.
func zoneOf(wall, started time.Time) time.Duration {
	if started.IsZero() {
		return 0
	}
	ahead := wall.Sub(started.UTC().Truncate(time.Second)) + time.Second
	rounded := ahead.Truncate(zone)
	if rounded > ahead {
		rounded -= zone // of a negative one
	}
	if rounded != 0 {
		rounded -= time.Hour
	}
	return rounded
}

func number(digits string) int32 {
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}
