// SPDX-License-Identifier: Apache-2.0

package sparksubmit_test

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// TestGoldenDrivers goes the way of a user who adopts a driver: the recorded driver and its ConfigMaps become a manifest, the manifest is
// built by the operator's own code, and the objects are compared with those that it was made from. Differences that are meant are in
// rules_driver_test.go.
func TestGoldenDrivers(t *testing.T) {
	used := compareAll(t, func(t *testing.T, r *run) bool {
		t.Helper()
		driver, ok := r.driver(t)
		r.convert = func() (v1beta2.SparkApplication, []sparksubmit.Finding, error) { return sparksubmit.FromDriver(driver) }
		r.rules = slices.Concat(driverRules, rules)
		return ok
	})
	for _, rule := range driverRules {
		t.Logf("deliberate difference %-22s in %4d runs: %s", rule.id, used[rule.id], rule.reason)
		if used[rule.id] == 0 {
			t.Errorf("no recorded driver needs the rule %s", rule.id)
		}
	}
}

// driver is the recorded driver, if its submission was complete and an API server can decode it.
func (r *run) driver(t *testing.T) (sparksubmit.Driver, bool) {
	t.Helper()
	var d sparksubmit.Driver
	if r.result.ExitCode != 0 || r.undecodable(t) {
		return d, false
	}
	maps := map[string]map[string]string{}
	for _, request := range r.requests {
		object := r.corpus.Object(t, r.recorded.Dir, r.version, request)
		switch golden.KindOf(object) {
		case "Pod":
			d.Pod = decoded[corev1.Pod](t, object)
		case "ConfigMap":
			m := decoded[corev1.ConfigMap](t, object)
			maps[m.Name] = m.Data
		}
	}
	if d.Pod == nil {
		return d, false
	}
	properties, template := sparksubmit.ConfigMapsOf(d.Pod)
	d.Properties, d.Template = maps[properties], maps[template]
	return d, d.Properties != nil
}

// decoded is a recorded object with its type.
func decoded[T any](t *testing.T, object golden.Object) *T {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	into := new(T)
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
	return into
}
