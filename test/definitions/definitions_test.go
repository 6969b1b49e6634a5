// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"os"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  Files
		want   int
		kind   string
		err    string
	}{
		"GatewayAPI":         {"a route beside a driver", GatewayAPI, 2, "HTTPRoute", ""},
		"CertManager":        {"the webhook's certificate and who issues it", CertManager, 2, "Certificate", ""},
		"PrometheusOperator": {"what is scraped, and the alerts", PrometheusOperator, 3, "PodMonitor", ""},
		"SchedulerPlugins":   {"groups that must go with their attempts", SchedulerPlugins, 1, "CustomResourceDefinition", ""},
		"Kubeflow":           {"what a switch begins with", Kubeflow, 3, "CustomResourceDefinition", ""},
		"NoFile":             {"a release that has moved its files is no reason to test nothing", Files{GatewayAPI.module, "config", []string{"none.yaml"}}, 0, "", "none.yaml"},
		"NoModule":           {"only what go.sum knows is taken", Files{"example.invalid/none", "", nil}, 0, "", "download example.invalid/none"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			paths, err := tc.files.Paths(t.Context(), "../..")
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s: error %v, want one with %q", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil || len(paths) != tc.want {
				t.Fatalf("%s: %d files, want %d: %v", tc.reason, len(paths), tc.want, err)
			}
			text, err := os.ReadFile(paths[0])
			if err != nil || !strings.Contains(string(text), "kind: "+tc.kind+"\n") {
				t.Errorf("%s: %s does not define a %s, %v", tc.reason, paths[0], tc.kind, err)
			}
		})
	}
}
