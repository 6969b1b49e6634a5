// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"os"
	"path/filepath"

	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/firesteel-dev/firesteel/internal/config"
)

// Off is the bind address that serves nothing.
const Off = "0"

// ServerOptions say how a process serves its metrics. They fail if a certificate is named that is not there: the server
// would sign one itself and not tell.
func ServerOptions(c config.Metrics) (metricsserver.Options, error) {
	options := metricsserver.Options{BindAddress: c.BindAddress, SecureServing: c.TLS.Enabled, CertDir: c.TLS.CertDir}
	if c.BindAddress == Off || c.TLS.CertDir == "" {
		return options, nil
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Stat(filepath.Join(c.TLS.CertDir, name)); err != nil {
			return options, fmt.Errorf("metrics.tls.certDir: %q: it must hold tls.crt and tls.key: %w", c.TLS.CertDir, err)
		}
	}
	return options, nil
}
