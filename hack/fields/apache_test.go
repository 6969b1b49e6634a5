// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

// Anyone who adds a field of the other family has to give it a meaning.
func TestEveryFieldOfApacheActs(t *testing.T) {
	used, paths := map[string]bool{}, map[string]apiField{}
	for _, f := range apacheFields() {
		paths[f.Path] = f
		for name, words := range inApache {
			if strings.HasPrefix(f.Path, name) && slices.Contains(f.Effects, words) {
				used[name] = true
			}
		}
		if len(f.Effects) == 0 {
			t.Errorf("spec.%s: changing it changes nothing", f.Path)
		}
		for _, e := range f.Effects {
			if strings.HasPrefix(e, "model: ") {
				t.Errorf("spec.%s: %s: say in inModel or inApache what it means", f.Path, e)
			}
		}
		if ignored := strings.Contains(strings.Join(f.Effects, ""), "*ignored*"); strings.HasPrefix(f.Path, "applicationTolerations.") && !ignored && f.Restarts {
			t.Errorf("spec.%s: a policy that changes nothing", f.Path)
		}
	}
	for name := range inApache {
		if !used[name] {
			t.Errorf("inApache has words for %s, which is no field", name)
		}
	}
	for path, effect := range map[string]string{"mainClass": inModel["MainClass"], "sparkConf": "`<key>`", "driverSpec.podTemplateSpec": inModel["Template"], "suspend": inApache["suspend"]} {
		if f, known := paths[path]; !known || !slices.Contains(f.Effects, effect) {
			t.Errorf("spec.%s has the effects %q, want %q", path, f.Effects, effect)
		}
	}
}
