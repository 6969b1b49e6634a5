// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Metrics configures the endpoint that serves the operator's metrics at /metrics.
type Metrics struct {
	Endpoint
	// Prefix begins the names of the operator's own metrics. A - in it becomes _.
	Prefix string `json:"prefix,omitempty"`
	// Labels are label keys of applications. Their values become labels of the metrics about applications; default app_type. The key namespace means the
	// application's namespace.
	Labels []string `json:"labels,omitempty"`
	// MaxLabelValues bounds the number of values of each label in Labels; default 100. Further values are reported as "Other".
	MaxLabelValues int `json:"maxLabelValues,omitempty"`
	// JobSubmitLatencyBuckets and JobStartLatencyBuckets are the upper bounds of histogram buckets, in seconds.
	JobSubmitLatencyBuckets []float64  `json:"jobSubmitLatencyBuckets,omitempty"`
	JobStartLatencyBuckets  []float64  `json:"jobStartLatencyBuckets,omitempty"`
	TLS                     MetricsTLS `json:"tls,omitempty"`
	// Authentication serves metrics only to users who may get /metrics, and identifies users by their token. The operator then needs the permission to create
	// tokenreviews and subjectaccessreviews.
	Authentication bool `json:"authentication,omitempty"`
}

// MetricsTLS serves metrics over HTTPS.
type MetricsTLS struct {
	Enabled bool `json:"enabled,omitempty"`
	// CertDir is the directory of tls.crt and tls.key, which are reloaded after a change. Without CertDir, the operator signs a certificate at each start.
	CertDir string `json:"certDir,omitempty"`
	// MinVersion is VersionTLS12, the default, or VersionTLS13.
	MinVersion string `json:"minVersion,omitempty"`
	// CipherSuites are the cipher suites of TLS 1.2, by their names in Go; empty for Go's choice. The cipher suites of TLS 1.3 are fixed.
	CipherSuites []string `json:"cipherSuites,omitempty"`
}

// Versions of TLS, by their names in Go and in Kubernetes.
const (
	versionTLS12 = "VersionTLS12"
	versionTLS13 = "VersionTLS13"
)

// Version returns the minimum TLS version.
func (t MetricsTLS) Version() uint16 {
	if t.MinVersion == versionTLS13 {
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}

// Suites returns the cipher suites of TLS 1.2; nil for Go's choice.
func (t MetricsTLS) Suites() []uint16 {
	var ids []uint16
	for _, name := range t.CipherSuites {
		ids = append(ids, suites()[name])
	}
	return ids
}

// suites returns the cipher suites of TLS 1.2 that Go considers secure.
func suites() map[string]uint16 {
	found := map[string]uint16{}
	for _, s := range tls.CipherSuites() {
		if slices.Contains(s.SupportedVersions, tls.VersionTLS12) {
			found[s.Name] = s.ID
		}
	}
	return found
}

func (t MetricsTLS) validate() []error {
	var errs []error
	if t.CertDir != "" && !t.Enabled {
		errs = append(errs, errors.New("metrics.tls.certDir: it has no effect unless metrics.tls.enabled is true"))
	}
	if t.MinVersion != versionTLS12 && t.MinVersion != versionTLS13 {
		errs = append(errs, fmt.Errorf("metrics.tls.minVersion: %q: write %s or %s", t.MinVersion, versionTLS12, versionTLS13))
	}
	known := suites()
	for i, name := range t.CipherSuites {
		if _, ok := known[name]; !ok {
			errs = append(errs, fmt.Errorf("metrics.tls.cipherSuites[%d]: %q: write one of %s", i, name, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		}
	}
	if len(t.CipherSuites) > 0 && t.MinVersion == versionTLS13 {
		errs = append(errs, errors.New("metrics.tls.cipherSuites: they have no effect with metrics.tls.minVersion VersionTLS13, "+
			"whose suites are fixed; leave them out"))
	}
	return errs
}

// NamespaceLabel in Metrics.Labels means the application's namespace.
const NamespaceLabel = "namespace"

func defaultMetrics() Metrics {
	return Metrics{
		Endpoint:                Endpoint{BindAddress: ":8080"},
		Labels:                  []string{"app_type"},
		MaxLabelValues:          100,
		JobSubmitLatencyBuckets: []float64{0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256},
		JobStartLatencyBuckets:  []float64{30, 60, 90, 120, 150, 180, 210, 240, 270, 300},
		TLS:                     MetricsTLS{MinVersion: versionTLS12},
	}
}

var (
	// metricName matches names of Prometheus metrics, without the colon of recording rules.
	metricName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	notInLabel = regexp.MustCompile(`[^a-zA-Z0-9_]`)
)

// reservedLabels are labels that the metrics already have or that Prometheus sets.
var reservedLabels = []string{"le", "quantile", "job", "instance", "state", "reason", "class", "outcome", "by", "scheduler", "queue"}

// LabelName converts a Kubernetes label key to the name of a metrics label: team.example.com/cost-centre becomes
// team_example_com_cost_centre.
func LabelName(key string) string {
	name := notInLabel.ReplaceAllString(key, "_")
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// NamePrefix returns Prefix in the form that metric names need.
func (m Metrics) NamePrefix() string { return strings.ReplaceAll(m.Prefix, "-", "_") }

func (m Metrics) validate() []error {
	errs := []error{m.Endpoint.validate("metrics")}
	if p := m.NamePrefix(); p != "" && !metricName.MatchString(p) {
		errs = append(errs, fmt.Errorf("metrics.prefix: %q: a name in Prometheus has letters, digits and _, and does not begin with a digit", m.Prefix))
	}
	errs = append(errs, m.validateLabels()...)
	if m.MaxLabelValues < 1 {
		errs = append(errs, fmt.Errorf("metrics.maxLabelValues: %d: must be at least 1", m.MaxLabelValues))
	}
	errs = append(errs, buckets("metrics.jobSubmitLatencyBuckets", m.JobSubmitLatencyBuckets), buckets("metrics.jobStartLatencyBuckets", m.JobStartLatencyBuckets))
	if m.Authentication && !m.TLS.Enabled {
		errs = append(errs, errors.New("metrics.authentication: tokens would travel in plain text; set metrics.tls.enabled, too"))
	}
	return append(errs, m.TLS.validate()...)
}

func (m Metrics) validateLabels() []error {
	var errs []error
	names := map[string]string{}
	for i, key := range m.Labels {
		name, field := LabelName(key), fmt.Sprintf("metrics.labels[%d]", i)
		switch other, twice := names[name]; {
		case name == "":
			errs = append(errs, fmt.Errorf("%s: \"\": name a label of applications", field))
		case slices.Contains(reservedLabels, name) || strings.HasPrefix(name, "__"):
			errs = append(errs, fmt.Errorf("%s: %q: the metrics have a label %s of their own; choose another", field, key, name))
		case twice:
			errs = append(errs, fmt.Errorf("%s: %q: %q becomes the same label, %s; name one of them", field, key, other, name))
		}
		names[name] = key
	}
	return errs
}

func buckets(field string, bounds []float64) error {
	if len(bounds) == 0 {
		return fmt.Errorf("%s: name at least one upper bound, in seconds", field)
	}
	for i, b := range bounds {
		if b <= 0 || math.IsInf(b, 0) || math.IsNaN(b) || i > 0 && b <= bounds[i-1] {
			return fmt.Errorf("%s[%d]: %v: upper bounds in seconds are greater than 0 and increase", field, i, b)
		}
	}
	return nil
}
