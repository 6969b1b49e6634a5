// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWebhook(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   func(*Webhook)
	}{
		"Defaults": {reason: "installed under its usual names", text: "{}", want: func(*Webhook) {}},
		"Some":     {reason: "what is not said keeps its default", text: "{port: 443}", want: func(w *Webhook) { w.Port = 443 }},
		"All": {
			reason: "an installation of another name, with cert-manager",
			text:   "{port: 8443, certDir: /certs, certificates: files, namespace: ops, secretName: a, serviceName: b, configurations: c.d}",
			want: func(w *Webhook) {
				*w = Webhook{Port: 8443, CertDir: "/certs", Certificates: "files", Namespace: "ops", SecretName: "a", ServiceName: "b", Configurations: "c.d"}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(head + "webhook: " + tc.text))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			want := DefaultWebhook()
			tc.want(&want)
			if diff := cmp.Diff(want, c.Webhook); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWebhookErrors(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		says   []string
	}{
		"Port":         {reason: "no such port", text: "{port: 70000}", says: []string{"webhook.port: 70000", "65535"}},
		"NoPort":       {reason: "controller-runtime would take its own", text: "{port: 0}", says: []string{"webhook.port: 0"}},
		"Relative":     {reason: "relative to what?", text: "{certDir: certs}", says: []string{`webhook.certDir: "certs"`, "absolute"}},
		"Certificates": {reason: "a third way", text: "{certificates: cert-manager}", says: []string{`webhook.certificates: "cert-manager"`, `"self" or "files"`}},
		"Namespace":    {reason: "no namespace", text: "{namespace: A b}", says: []string{`webhook.namespace: "A b"`}},
		"Names":        {reason: "all mistakes at once", text: `{secretName: "", serviceName: A, configurations: "x/y"}`, says: []string{`webhook.secretName: ""`, `webhook.serviceName: "A"`, `webhook.configurations: "x/y"`}},
		"Unknown":      {reason: "a setting that does not exist", text: "{failurePolicy: Fail}", says: []string{"failurePolicy"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(head + "webhook: " + tc.text))
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
