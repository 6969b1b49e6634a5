// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMetrics(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         func(*Metrics)
	}{
		"Defaults": {reason: "the defaults of the Kubeflow operator", text: "{}", want: func(*Metrics) {}},
		"Address":  {reason: "the other fields keep their defaults", text: `{bindAddress: "0"}`, want: func(m *Metrics) { m.BindAddress = "0" }},
		"Labels":   {reason: "a list replaces the default", text: "{labels: [namespace, team.example.com/cost-centre]}", want: func(m *Metrics) { m.Labels = []string{"namespace", "team.example.com/cost-centre"} }},
		"NoLabels": {reason: "none is a choice", text: "{labels: []}", want: func(m *Metrics) { m.Labels = []string{} }},
		"Prefix":   {reason: "a - is allowed and becomes _", text: "{prefix: my-}", want: func(m *Metrics) { m.Prefix = "my-" }},
		"Bound":    {reason: "a number", text: "{maxLabelValues: 5}", want: func(m *Metrics) { m.MaxLabelValues = 5 }},
		"Buckets": {reason: "a list replaces the default", text: "{jobSubmitLatencyBuckets: [1, 2.5], jobStartLatencyBuckets: [3]}", want: func(m *Metrics) {
			m.JobSubmitLatencyBuckets, m.JobStartLatencyBuckets = []float64{1, 2.5}, []float64{3}
		}},
		"TLS": {reason: "a section", text: "{tls: {enabled: true, certDir: /certs}}", want: func(m *Metrics) { m.TLS = MetricsTLS{Enabled: true, CertDir: "/certs", MinVersion: "VersionTLS12"} }},
		"Authentication": {reason: "by tokens, which TLS protects", text: "{authentication: true, tls: {enabled: true}}", want: func(m *Metrics) {
			m.Authentication, m.TLS.Enabled = true, true
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(head + "metrics: " + tc.text))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			want := defaultMetrics()
			tc.want(&want)
			if diff := cmp.Diff(want, c.Metrics); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if got := (Metrics{Prefix: "my-team-"}).NamePrefix(); got != "my_team_" {
		t.Errorf("the prefix is %q", got)
	}
}

func TestMetricsErrors(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		says         []string
	}{
		"Address":    {reason: "it cannot be bound", text: "{bindAddress: eighty}", says: []string{"metrics.bindAddress", `"eighty"`}},
		"Prefix":     {reason: "Prometheus would refuse every metric", text: "{prefix: 1st.}", says: []string{"metrics.prefix", `"1st."`}},
		"NoLabel":    {reason: "an empty name", text: `{labels: [""]}`, says: []string{"metrics.labels[0]"}},
		"Own":        {reason: "two labels of one name", text: "{labels: [a, state]}", says: []string{"metrics.labels[1]", `"state"`}},
		"Place":      {reason: "where an application waits has these", text: "{labels: [scheduler, queue]}", says: []string{"metrics.labels[0]", `"scheduler"`, "metrics.labels[1]", `"queue"`}},
		"Bucket":     {reason: "Prometheus' own", text: "{labels: [le]}", says: []string{"metrics.labels[0]", `"le"`}},
		"Hidden":     {reason: "Prometheus' own", text: "{labels: [__name__]}", says: []string{"metrics.labels[0]", `"__name__"`}},
		"Twice":      {reason: "two keys, one label", text: "{labels: [app-type, app_type]}", says: []string{"metrics.labels[1]", `"app-type"`, "app_type"}},
		"Unbounded":  {reason: "0 would make everything Other", text: "{maxLabelValues: 0}", says: []string{"metrics.maxLabelValues: 0"}},
		"NoBuckets":  {reason: "a histogram without buckets", text: "{jobStartLatencyBuckets: []}", says: []string{"metrics.jobStartLatencyBuckets"}},
		"Decreasing": {reason: "the library would panic", text: "{jobSubmitLatencyBuckets: [1, 3, 2]}", says: []string{"metrics.jobSubmitLatencyBuckets[2]: 2"}},
		"Zero":       {reason: "nothing is faster than 0 s", text: "{jobSubmitLatencyBuckets: [0, 3]}", says: []string{"metrics.jobSubmitLatencyBuckets[0]: 0"}},
		"Plain":      {reason: "anyone on the way could read the tokens", text: "{authentication: true}", says: []string{"metrics.authentication", "metrics.tls.enabled"}},
		"NoTLS":      {reason: "who names a certificate wants it to be used", text: "{tls: {certDir: /c}}", says: []string{"metrics.tls.certDir", "metrics.tls.enabled"}},
		"OldTLS":     {reason: "a version that is broken", text: "{tls: {enabled: true, minVersion: VersionTLS11}}", says: []string{"metrics.tls.minVersion", `"VersionTLS11"`, "VersionTLS12"}},
		"Cipher":     {reason: "a cipher suite that is broken", text: "{tls: {enabled: true, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_RSA_WITH_RC4_128_SHA]}}", says: []string{"metrics.tls.cipherSuites[1]", `"TLS_RSA_WITH_RC4_128_SHA"`, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}},
		"NoChoice":   {reason: "TLS 1.3 has its own", text: "{tls: {enabled: true, minVersion: VersionTLS13, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]}}", says: []string{"metrics.tls.cipherSuites", "VersionTLS13"}},
		"Unknown":    {reason: "a field that does not exist", text: "{endpoint: /metrics}", says: []string{"endpoint"}},
		"All":        {reason: "all mistakes at once", text: "{prefix: ., labels: [le], maxLabelValues: -1}", says: []string{"prefix", "labels[0]", "maxLabelValues"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(head + "metrics: " + tc.text))
			if err == nil {
				t.Fatalf("%s: accepted", tc.reason)
			}
			for _, text := range tc.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: the error does not say %q: %v", tc.reason, text, err)
				}
			}
		})
	}
}

func TestLabelName(t *testing.T) {
	cases := map[string]struct{ reason, key, want string }{
		"Plain":  {reason: "nothing to do", key: "app_type", want: "app_type"},
		"Dashes": {reason: "as the Kubeflow operator does", key: "app-type", want: "app_type"},
		"Domain": {reason: "the Kubeflow operator makes invalid names of these", key: "team.example.com/cost-centre", want: "team_example_com_cost_centre"},
		"Digit":  {reason: "a name does not begin with one", key: "2nd", want: "_2nd"},
		"Empty":  {reason: "nothing stays nothing", key: "", want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := LabelName(tc.key); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
