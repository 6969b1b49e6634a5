// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// reviewTime bounds the API server's reviews for one scrape.
	reviewTime = 10 * time.Second
	// concurrentReviews bounds the load that unauthenticated callers cause in the API server.
	concurrentReviews = 4
	// rememberedCallers bounds the cached decisions: permissions for rememberYes, refusals for rememberNo.
	rememberedCallers = 256
	rememberYes       = time.Minute
	rememberNo        = 10 * time.Second
)

// guard serves a handler only to callers with a bearer token that the API server accepts and with permission to get the path. controller-runtime's filter does
// the same with k8s.io/apiserver, whose dependencies enlarge the program by a fifth. That filter also answers 500 to an unknown token, and logs each one with a
// stack trace.
type guard struct {
	tokens   authenticationclient.TokenReviewInterface
	rights   authorizationclient.SubjectAccessReviewInterface
	answers  *cache.LRUExpireCache // response statuses, by the caller's request
	reviewed chan struct{}
	log      logr.Logger
	next     http.Handler
}

// authenticated is the filter of protected metrics.
func authenticated(cfg *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	tokens, err := authenticationclient.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("metrics.authentication: %w", err)
	}
	rights, err := authorizationclient.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("metrics.authentication: %w", err)
	}
	return func(log logr.Logger, handler http.Handler) (http.Handler, error) {
		return &guard{
			tokens: tokens.TokenReviews(), rights: rights.SubjectAccessReviews(), answers: cache.NewLRUExpireCache(rememberedCallers),
			reviewed: make(chan struct{}, concurrentReviews), log: log, next: handler,
		}, nil
	}, nil
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status := g.status(r); status != http.StatusOK {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, http.StatusText(status), status)
		return
	}
	g.next.ServeHTTP(w, r)
}

// status returns the response status for a request, 200 if the caller may read the path.
func (g *guard) status(r *http.Request) int {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return http.StatusUnauthorized
	}
	key := sha256.Sum256([]byte(r.Method + " " + r.URL.Path + " " + token)) // tokens are not stored
	if known, ok := g.answers.Get(key); ok {
		return known.(int)
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTime)
	defer cancel()
	select {
	case g.reviewed <- struct{}{}:
		defer func() { <-g.reviewed }()
	case <-ctx.Done():
		return http.StatusServiceUnavailable
	}
	status, err := g.review(ctx, r, token)
	if err != nil {
		g.log.Info("cannot authenticate a scrape with the API server", "error", err.Error())
		return http.StatusServiceUnavailable
	}
	remember := rememberNo
	if status == http.StatusOK {
		remember = rememberYes
	}
	g.answers.Add(key, status, remember)
	return status
}

// review asks the API server for the user of a token, and whether that user may get the path.
func (g *guard) review(ctx context.Context, r *http.Request, token string) (int, error) {
	who, err := g.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("create tokenreview: %w", err)
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	may, err := g.rights.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)},
	}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("create subjectaccessreview: %w", err)
	}
	if !may.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
