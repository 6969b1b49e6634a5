// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// The contract: specification of Apache's operator, section 5.7, and its page on metrics. Names without labels, in lower case, with the suffixes of
// its exporter.
func TestApacheNames(t *testing.T) {
	a := NewApache(configured(func(c *config.Metrics) { c.Prefix = "team-" }))
	for _, c := range []lifecycle.StateChange{
		{To: "Submitted", Took: time.Second},
		{From: "Submitted", To: "DriverRequested", Took: time.Second},
		{From: "Submitted", To: "DriverRequested", Took: 3 * time.Second},
	} {
		a.StateChange(c)
	}
	now := clocktesting.NewFakePassiveClock(start)
	answers := []int{http.StatusOK, http.StatusNotFound, 0}
	transport := a.Transport(promhttp.RoundTripperFunc(func(*http.Request) (*http.Response, error) {
		now.SetTime(now.Now().Add(250 * time.Millisecond))
		code := answers[0]
		if answers = answers[1:]; code == 0 {
			return nil, errors.New("connection refused")
		}
		return &http.Response{StatusCode: code, Body: http.NoBody}, nil
	}), now)
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodGet} {
		request, err := http.NewRequestWithContext(t.Context(), method, "https://api/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := transport.RoundTrip(request); err == nil {
			_ = answer.Body.Close()
		}
	}
	want := []string{
		"team_kubernetes_client_http_request_get_total 2", "team_kubernetes_client_http_request_patch_total 1", "team_kubernetes_client_http_request_total 3",
		"team_kubernetes_client_http_response_200_total 1", "team_kubernetes_client_http_response_2xx_total 1",
		"team_kubernetes_client_http_response_404_total 1", "team_kubernetes_client_http_response_4xx_total 1",
		"team_kubernetes_client_http_response_failed_total 1", "team_kubernetes_client_http_response_latency_seconds 2: 0.5", "team_kubernetes_client_http_response_total 2",
		"team_sparkappstatusrecorder_sparkapp_latency_discover_duration_seconds 1: 1",
		"team_sparkappstatusrecorder_sparkapp_latency_from_submitted_to_driverrequested_duration_seconds 2: 4",
	}
	got := everySample(t, a)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for row, name := range documentedApache(t) {
		if !slices.ContainsFunc(got, name.MatchString) {
			t.Errorf("%s: %s is not served", documentation, row)
		}
		got = slices.DeleteFunc(got, name.MatchString)
	}
	if len(got) > 0 {
		t.Errorf("%s does not have %q", documentation, got)
	}
}

// documentedApache are the names that the documentation has of Apache's operator, each with what matches its samples.
func documentedApache(t *testing.T) map[string]*regexp.Regexp {
	t.Helper()
	_, rest, _ := strings.Cut(read(t, documentation), "## Names of Apache's operator\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	placeholder, names := regexp.MustCompile(`<\w+>`), map[string]*regexp.Regexp{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(.*?)` \\|").FindAllStringSubmatch(section, -1) {
		names[row[1]] = regexp.MustCompile("^team_" + placeholder.ReplaceAllString(row[1], "(get|patch|[0-9]{1,3}|submitted|driverrequested)") + " ")
	}
	return names
}
