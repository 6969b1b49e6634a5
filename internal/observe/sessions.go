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
	// sessionsTimeout bounds the time for reading a server's sessions, and sessionsLimit the read bytes of the response. The counts precede the tables.
	sessionsTimeout = 2 * time.Second
	sessionsLimit   = 1 << 20
	// streamsPath is the page of streaming queries. Until the first query starts, Spark redirects it to the page of jobs.
	streamsPath = "/StreamingQuery/"
	// sessionsQuery sorts the tables on Spark Connect's UI page by the end of requests, newest first, because only the first page of a table is read.
	sessionsQuery = "?sqlstat.sort=Finish+Time&sqlstat.desc=true&sqlstat.pageSize=20&sessionstat.pageSize=20"
)

// Sessions reads the sessions of a pod's Spark Connect server from the port of Spark's UI; 0 for no UI. started is the start time of the driver's container.
// The pod belongs to a tenant, so the response is not trusted.
//
// The UI is the only source: Spark's metrics and REST API have no sessions.
func (r Reader) Sessions(ctx context.Context, podIP string, port int32, started time.Time) lifecycle.Sessions {
	address, err := netip.ParseAddr(podIP)
	switch {
	case port <= 0:
		return lifecycle.Sessions{Problem: "only Spark's UI reports them, which is turned off (spark.ui.enabled) or has no fixed port (spark.ui.port)"}
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
		return lifecycle.Sessions{Problem: "the page /connect/ of Spark's UI cannot be parsed: " + err.Error()}
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

// page reads a page of the UI. The problem is a stable message, without addresses or texts of other programs.
func (r Reader) page(ctx context.Context, host, path, query string) (text, problem string) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path+query, http.NoBody)
	if err != nil {
		return "", "cannot be asked"
	}
	transport := &http.Transport{DialContext: r.Dial, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10} // without a proxy
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

// unreachable explains a missing response.
func unreachable(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "does not respond in time; check that no NetworkPolicy blocks the operator"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "accepts no connections"
	}
	return "does not respond as an HTTP server"
}

var (
	counted   = regexp.MustCompile(`<h4>\s*(\d{1,9})\s+session\(s\) are online,\s+running\s+(\d{1,9})\s+Request\(s\)\s*</h4>`)
	startedAt = regexp.MustCompile(`<strong>Started at: </strong>\s*(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)\s*<`)
	requests  = regexp.MustCompile(`Request Statistics \((\d{1,9})\)`)
	streams   = regexp.MustCompile(`<a>Active Streaming Queries \((\d{1,9})\)</a>`)
	timeCell  = regexp.MustCompile(`<td>\s*(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)\s*</td>`)
)

// pageTime is the page's time format. Times are in the server's time zone, which the page does not name.
const pageTime = "2006/01/02 15:04:05"

// latest returns the latest of the first n times in a part of the page; n is -1 for all times.
func latest(part string, n int) time.Time {
	last := time.Time{}
	for _, cell := range timeCell.FindAllStringSubmatch(part, n) {
		if at, err := time.Parse(pageTime, cell[1]); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}

// parseSessions parses the Spark Connect page of Spark 3.5 to 4.1. Users' texts in it are escaped. A request has three times: start, end of computation, end of
// fetching. An opened session counts, too, because its client is about to use the server. A closed session does not, because the server may have closed it
// after a timeout.
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

// parseStreams counts the active queries on the page of Spark 3.5 to 4.1. Without active queries the page has no such heading. Users' texts in it are escaped.
func parseStreams(text string) int32 {
	if found := streams.FindStringSubmatch(text); found != nil {
		return number(found[1])
	}
	return 0
}

// zone is the granularity of time zone offsets.
const zone = 15 * time.Minute

// zoneOf returns the offset of a server's wall clock from UTC. It rounds down, because Spark starts less than a quarter of an hour after its container. Outside
// UTC the offset is an hour less: the clocks may have been put back since, and a time within the last hour would look older.
func zoneOf(wall, started time.Time) time.Duration {
	if started.IsZero() {
		return 0
	}
	ahead := wall.Sub(started.UTC().Truncate(time.Second)) + time.Second
	rounded := ahead.Truncate(zone)
	if rounded > ahead {
		rounded -= zone // for a negative offset
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
