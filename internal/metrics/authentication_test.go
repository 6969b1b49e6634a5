// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/firesteel-dev/firesteel/internal/config"
)

// reviewer is an API server that knows the tokens reader and tenant, and lets reader get /metrics.
type reviewer struct {
	reviews, running, most atomic.Int32
	hold                   chan struct{} // each review waits for it, unless it is nil
}

func (a *reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.reviews.Add(1)
	if now := a.running.Add(1); now > a.most.Load() {
		a.most.Store(now)
	}
	defer a.running.Add(-1)
	if a.hold != nil {
		<-a.hold
	}
	var answer any
	if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
		var review authenticationv1.TokenReview
		if json.NewDecoder(r.Body).Decode(&review) != nil || review.Spec.Token == "broken" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		review.Status.Authenticated = review.Spec.Token == "reader" || review.Spec.Token == "tenant"
		review.Status.User = authenticationv1.UserInfo{Username: review.Spec.Token, Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"e": {"x"}}}
		answer = review
	} else {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s := review.Spec
		review.Status.Allowed = fmt.Sprintf("%s %v %v %s %s", s.User, s.Groups, s.Extra, s.NonResourceAttributes.Verb, s.NonResourceAttributes.Path) == "reader [g] map[e:[x]] get /metrics"
		answer = review
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// guarded is what is served with this API server.
func guarded(t *testing.T, api http.Handler) http.Handler {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	options, err := ServerOptions(config.Metrics{Endpoint: config.Endpoint{BindAddress: ":0"}, TLS: config.MetricsTLS{Enabled: true}, Authentication: true})
	if err != nil {
		t.Fatal(err)
	}
	// as a client of the operator: it does not speak protobuf with this one, and has no limit of its own
	filter, err := options.FilterProvider(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	handler, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func ask(t *testing.T, handler http.Handler, method, path, authorization string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code
}

func TestGuard(t *testing.T) {
	cases := map[string]struct {
		reason, method, path, authorization string
		want                                int
		reviews                             int32 // for two requests
	}{
		"Nobody":  {reason: "nothing is asked for nothing", want: http.StatusUnauthorized},
		"Empty":   {reason: "no token", authorization: "Bearer ", want: http.StatusUnauthorized},
		"Basic":   {reason: "another scheme", authorization: "Basic reader", want: http.StatusUnauthorized},
		"Unknown": {reason: "a refusal is remembered, too", authorization: "Bearer made-up", want: http.StatusUnauthorized, reviews: 1},
		"Tenant":  {reason: "known, without the right", authorization: "Bearer tenant", want: http.StatusForbidden, reviews: 2},
		"Reader":  {reason: "as the API server says: user, groups, extra, verb and path", authorization: "Bearer reader", want: http.StatusOK, reviews: 2},
		"Method":  {reason: "a right to get", method: http.MethodPost, authorization: "Bearer reader", want: http.StatusForbidden, reviews: 2},
		"Path":    {reason: "of this path", path: "/other", authorization: "Bearer reader", want: http.StatusForbidden, reviews: 2},
		"Failure": {reason: "no answer is no permission, and is asked for again", authorization: "Bearer broken", want: http.StatusServiceUnavailable, reviews: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			api := &reviewer{}
			handler := guarded(t, api)
			for range 2 {
				if got := ask(t, handler, orElse(tc.method, http.MethodGet), orElse(tc.path, "/metrics"), tc.authorization); got != tc.want {
					t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
				}
			}
			if got := api.reviews.Load(); got != tc.reviews {
				t.Errorf("%s: %d reviews, want %d", tc.reason, got, tc.reviews)
			}
		})
	}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// TestGuardUnderStrangers shows that a flood of made-up tokens makes few requests at a time, and is remembered within bounds.
func TestGuardUnderStrangers(t *testing.T) {
	api := &reviewer{hold: make(chan struct{})}
	handler := guarded(t, api)
	const strangers = rememberedCallers + 40
	var all sync.WaitGroup
	for i := range strangers {
		all.Go(func() {
			if got := ask(t, handler, http.MethodGet, "/metrics", fmt.Sprintf("Bearer %d", i)); got != http.StatusUnauthorized {
				t.Errorf("a made-up token: %d", got)
			}
		})
	}
	for range concurrentReviews {
		api.hold <- struct{}{}
	}
	close(api.hold)
	all.Wait()
	if most := api.most.Load(); most > concurrentReviews {
		t.Errorf("%d reviews at a time, want at most %d", most, concurrentReviews)
	}
	if kept := len(handler.(*guard).answers.Keys()); kept > rememberedCallers {
		t.Errorf("%d answers are remembered, want at most %d", kept, rememberedCallers)
	}
}
