// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
			if err != nil || got.SecureServing != tc.secure || got.CertDir != tc.tls.CertDir || got.BindAddress != tc.address || got.ExtraHandlers != nil {
				t.Errorf("%s: %+v, %v", tc.reason, got, err)
			}
		})
	}
}
