// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/testutil/ports"
)

const patience = 20 * time.Second

// The role allows to look at three objects, by name.
func TestNarrowed(t *testing.T) {
	c := config.DefaultWebhook()
	cases := map[string]struct {
		reason string
		method string
		url    string
		want   string
	}{
		"Secrets": {"all Secrets of the namespace are none of its business", http.MethodGet, "/api/v1/namespaces/ops/secrets?limit=500", "fieldSelector=metadata.name%3Dspark-operator-webhook-certs&limit=500"},
		"Watch":   {"a watch too", http.MethodGet, "/api/v1/namespaces/ops/secrets?watch=true", "fieldSelector=metadata.name%3Dspark-operator-webhook-certs&watch=true"},
		"Configurations": {
			"those of others are none of its business", http.MethodGet, "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
			"fieldSelector=metadata.name%3Dspark-operator-webhook",
		},
		"Validating": {"both kinds", http.MethodGet, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "fieldSelector=metadata.name%3Dspark-operator-webhook"},
		"Write":      {"a write names its object", http.MethodPut, "/api/v1/namespaces/ops/secrets/spark-operator-webhook-certs", ""},
		"One":        {"so does a read of one", http.MethodGet, "/api/v1/namespaces/ops/secrets/spark-operator-webhook-certs", ""},
		"Discovery":  {"it is not about objects", http.MethodGet, "/apis", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var query string
			cfg := narrowed(&rest.Config{}, c)
			sent := cfg.WrapTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
				query = r.URL.RawQuery
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			}))
			request, err := http.NewRequestWithContext(t.Context(), tc.method, "https://server"+tc.url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			before := request.URL.String()
			response, err := sent.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if query != tc.want {
				t.Errorf("%s: it asks %q, want %q", tc.reason, query, tc.want)
			}
			if request.URL.String() != before {
				t.Errorf("the caller's request became %s", request.URL)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// oneSecret is a cluster with at most one Secret.
type oneSecret struct {
	client.Reader
	data map[string][]byte
}

// Get copies the Secret.
func (s oneSecret) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if s.data == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	into.(*corev1.Secret).Data = s.data
	return nil
}

func TestMirror(t *testing.T) {
	cases := map[string]struct {
		reason string
		data   map[string][]byte
		want   map[string]string
	}{
		"Gone":   {"it will be made", nil, map[string]string{}},
		"Empty":  {"it will be filled", map[string][]byte{}, map[string]string{}},
		"Half":   {"a key alone serves nothing", map[string][]byte{"tls.key": []byte("k")}, map[string]string{"tls.key": "k"}},
		"Filled": {"the authority's key stays where it is", map[string][]byte{"tls.key": []byte("k"), "tls.crt": []byte("c"), "ca.key": []byte("secret")}, map[string]string{"tls.key": "k", "tls.crt": "c"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for range 2 {
				if _, err := (mirror{Reader: oneSecret{data: tc.data}, dir: dir}).Reconcile(t.Context(), ctrl.Request{}); err != nil {
					t.Fatal(err)
				}
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != len(tc.want) {
				t.Errorf("%s: %d files, %v, want %d", tc.reason, len(entries), err, len(tc.want))
			}
			for name, content := range tc.want {
				file := filepath.Join(dir, name)
				got, err := os.ReadFile(file)
				if err != nil || string(got) != content {
					t.Errorf("%s: %s holds %q, %v", tc.reason, name, got, err)
				}
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %s may be read by others: %v, %v", tc.reason, name, info.Mode(), err)
				}
			}
		})
	}
	_, err := (mirror{Reader: oneSecret{data: map[string][]byte{"tls.key": []byte("k")}}, dir: "/does/not/exist"}).Reconcile(t.Context(), ctrl.Request{})
	if err == nil || !strings.Contains(err.Error(), "write certificate") {
		t.Errorf("a folder that does not exist: %v", err)
	}
}

// It serves as soon as there is a certificate, and the next one as soon as that is there.
func TestServerWaitsForCertificates(t *testing.T) {
	dir, port := t.TempDir(), ports.ForTest(t)
	s := server{webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: dir, CertName: certificateFile, KeyName: keyFile}), dir, newSlots()}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	ready := func() error { return s.StartedChecker()(nil) }
	if err := ready(); err == nil {
		t.Error("it is ready without a certificate")
	}
	first := writeCertificate(t, dir, "first")
	eventually(t, ready)
	shown := func(want []byte) func() error {
		return func() error { return showsCertificate(ctx, port, want) }
	}
	eventually(t, shown(first))
	eventually(t, shown(writeCertificate(t, dir, "second")))
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

func TestServerStopsBeforeItServed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if err := (server{webhook.NewServer(webhook.Options{CertDir: dir}), dir, newSlots()}).Start(ctx); err != nil {
		t.Errorf("a stop is no failure: %v", err)
	}
}

func TestNew(t *testing.T) {
	usual := config.OperatorConfiguration{Webhook: config.DefaultWebhook(), Metrics: config.Metrics{Endpoint: config.Endpoint{BindAddress: "0"}}, Health: config.Endpoint{BindAddress: "0"}}
	file := filepath.Join(t.TempDir(), "namespace")
	defer func(before string) { podNamespaceFile = before }(podNamespaceFile)
	podNamespaceFile = file
	if _, err := New(&rest.Config{Host: "127.0.0.1:1"}, usual, operator(t)); err == nil || !strings.Contains(err.Error(), "webhook.namespace: name one") {
		t.Errorf("outside of a pod, without a namespace: %v", err)
	}
	if err := os.WriteFile(file, []byte("ops"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(&rest.Config{Host: "127.0.0.1:1"}, usual, operator(t)); err != nil {
		t.Errorf("in a pod: %v", err)
	}
	usual.Webhook.Certificates, podNamespaceFile = config.CertificatesFiles, "/does/not/exist"
	if _, err := New(&rest.Config{Host: "127.0.0.1:1"}, usual, operator(t)); err != nil {
		t.Errorf("mounted files need no namespace: %v", err)
	}
}

// Anyone who scrapes the webhook gets metrics as from the controller: by the same configuration.
func TestMetricsByHTTPS(t *testing.T) {
	own, given := t.TempDir(), t.TempDir()
	certificate := writeCertificate(t, given, "metrics")
	writeCertificate(t, own, "webhook")
	tests := map[string]struct {
		reason string
		tls    config.MetricsTLS
		shows  func(ctx context.Context, port int) error
	}{
		"Given": {"Prometheus knows who signed it", config.MetricsTLS{Enabled: true, CertDir: given}, func(ctx context.Context, port int) error {
			return showsCertificate(ctx, port, certificate)
		}},
		"Own": {"it is signed at the start", config.MetricsTLS{Enabled: true}, func(ctx context.Context, port int) error { return scraped(ctx, "https", port) }},
		"Off": {"HTTP is the default", config.MetricsTLS{}, func(ctx context.Context, port int) error { return scraped(ctx, "http", port) }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			port := ports.ForTest(t)
			c := config.OperatorConfiguration{
				Webhook: config.DefaultWebhook(), Health: config.Endpoint{BindAddress: "0"},
				Metrics: config.Metrics{Endpoint: config.Endpoint{BindAddress: fmt.Sprintf("127.0.0.1:%d", port)}, TLS: tc.tls},
			}
			c.Webhook.Certificates, c.Webhook.CertDir, c.Webhook.Port = config.CertificatesFiles, own, ports.ForTest(t)
			mgr, err := New(&rest.Config{Host: "127.0.0.1:1"}, c, operator(t))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- mgr.Start(ctx) }()
			eventually(t, func() error { return tc.shows(ctx, port) })
			if tc.tls.Enabled && scraped(ctx, "http", port) == nil {
				t.Errorf("%s: there is an unencrypted way, too", tc.reason)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("it ends with %v", err)
			}
		})
	}
	_, err := New(&rest.Config{Host: "127.0.0.1:1"}, config.OperatorConfiguration{
		Webhook: config.Webhook{Certificates: config.CertificatesFiles}, Health: config.Endpoint{BindAddress: "0"},
		Metrics: config.Metrics{Endpoint: config.Endpoint{BindAddress: ":0"}, TLS: config.MetricsTLS{Enabled: true, CertDir: "/does/not/exist"}},
	}, operator(t))
	if err == nil || !strings.Contains(err.Error(), "metrics.tls.certDir") {
		t.Errorf("a certificate that is not there: %v", err)
	}
}

// scraped reads the metrics without checking the certificate.
func scraped(ctx context.Context, scheme string, port int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s://127.0.0.1:%d/metrics", scheme, port), http.NoBody)
	if err != nil {
		return err
	}
	anybody := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	response, err := (&http.Client{Transport: anybody, Timeout: patience}).Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

func TestClosed(t *testing.T) {
	c := make(chan struct{})
	check := closed(c, "not yet")
	if err := check(nil); err == nil || err.Error() != "not yet" {
		t.Errorf("it says %v", err)
	}
	close(c)
	if err := check(nil); err != nil {
		t.Error(err)
	}
}

// writeCertificate puts a pair for a host where the server looks, and returns the certificate.
func writeCertificate(t *testing.T, dir, host string) []byte {
	t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := mirror{Reader: oneSecret{data: map[string][]byte{certificateFile: certificate, keyFile: key}}, dir: dir}
	if _, err := m.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	return certificate
}

// showsCertificate connects and compares what it is shown.
func showsCertificate(ctx context.Context, port int, want []byte) error {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	certificates, err := certutil.ParseCertsPEM(want)
	if err != nil {
		return err
	}
	if !bytes.Equal(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw, certificates[0].Raw) {
		return fmt.Errorf("it shows another certificate")
	}
	return nil
}

func eventually(t *testing.T, check func() error) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}
