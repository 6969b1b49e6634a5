// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/firesteel-dev/firesteel/internal/config"
)

func TestCertificateOfMetrics(t *testing.T) {
	full, empty := t.TempDir(), t.TempDir()
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(full, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		reason  string
		address string
		tls     config.MetricsTLS
		secure  bool
		says    string
	}{
		"Off":     {reason: "HTTP is the default", address: ":8080"},
		"Own":     {reason: "the operator signs one itself", address: ":8080", tls: config.MetricsTLS{Enabled: true}, secure: true},
		"Given":   {reason: "the files are there", address: ":8080", tls: config.MetricsTLS{Enabled: true, CertDir: full}, secure: true},
		"Missing": {reason: "a self-signed one instead would surprise", address: ":8080", tls: config.MetricsTLS{Enabled: true, CertDir: empty}, says: "metrics.tls.certDir"},
		"Unused":  {reason: "nothing is served", address: "0", tls: config.MetricsTLS{Enabled: true, CertDir: empty}, secure: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ServerOptions(config.Metrics{Endpoint: config.Endpoint{BindAddress: tc.address}, TLS: tc.tls})
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("%s: %v", tc.reason, err)
				}
				return
			}
			if got.FilterProvider != nil {
				t.Errorf("%s: whoever scrapes is asked for a token", tc.reason)
			}
			if err != nil || got.SecureServing != tc.secure || got.CertDir != tc.tls.CertDir || got.BindAddress != tc.address || got.ExtraHandlers != nil {
				t.Errorf("%s: %+v, %v", tc.reason, got, err)
			}
		})
	}
}

// TestTLSOfMetrics speaks TLS with the endpoint, as scrapers do that can and cannot what the configuration asks for.
func TestTLSOfMetrics(t *testing.T) {
	const strong, other = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
	cases := map[string]struct {
		reason  string
		tls     config.MetricsTLS
		version uint16 // the client's highest
		suite   uint16 // the client's only one, for TLS 1.2
		served  bool
	}{
		"Default":   {reason: "TLS 1.2 with any suite of Go's choice", version: tls.VersionTLS12, suite: tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, served: true},
		"Old":       {reason: "TLS 1.1 is broken", version: tls.VersionTLS11},
		"Allowed":   {reason: "the one of the list", tls: config.MetricsTLS{CipherSuites: []string{strong}}, version: tls.VersionTLS12, suite: tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, served: true},
		"Forbidden": {reason: "not on the list", tls: config.MetricsTLS{CipherSuites: []string{strong}}, version: tls.VersionTLS12, suite: tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256},
		"One":       {reason: "HTTP/2 would refuse it", tls: config.MetricsTLS{CipherSuites: []string{"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", other}}, version: tls.VersionTLS12, suite: tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, served: true},
		"TooOld":    {reason: "below the lowest version", tls: config.MetricsTLS{MinVersion: "VersionTLS13"}, version: tls.VersionTLS12},
		"New":       {reason: "the lowest version", tls: config.MetricsTLS{MinVersion: "VersionTLS13"}, version: tls.VersionTLS13, served: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.tls.Enabled = true
			address := serve(t, tc.tls)
			client := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tc.version}
			if tc.suite != 0 {
				client.CipherSuites = []uint16{tc.suite}
			}
			scraper := http.Client{Transport: &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true}, Timeout: 10 * time.Second}
			defer scraper.CloseIdleConnections()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := scraper.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			if served := err == nil && response.StatusCode == http.StatusOK; served != tc.served {
				t.Errorf("%s: served %v, want %v: %v", tc.reason, served, tc.served, err)
			}
		})
	}
}

// serve starts the endpoint as a process does, and returns its address.
func serve(t *testing.T, c config.MetricsTLS) string {
	t.Helper()
	options, err := ServerOptions(config.Metrics{Endpoint: config.Endpoint{BindAddress: "127.0.0.1:0"}, TLS: c})
	if err != nil {
		t.Fatal(err)
	}
	server, err := metricsserver.NewServer(options, &rest.Config{}, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ends with %v", err)
		}
	})
	bound := server.(interface{ GetBindAddr() string })
	listens := func(context.Context) (bool, error) { return bound.GetBindAddr() != "", nil }
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 10*time.Second, true, listens); err != nil {
		t.Fatalf("it does not listen: %v", err)
	}
	return bound.GetBindAddr()
}
