/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// The application given is not changed: the decoration shares none of its maps and slices.
func TestDecorateSharesMaps(t *testing.T) {
	fresh := func() spark.Application {
		return spark.Application{Driver: spark.Role{Overlay: spark.PodOverlay{
			NodeSelector: map[string]string{"zone": "a"}, Tolerations: []corev1.Toleration{{Key: "a"}},
		}}}
	}
	p := stub{name: "x", decorate: func(_ Attempt, d *Decoration) {
		d.Driver.NodeSelector["pool"] = "batch"
		d.Driver.Tolerations[0].Key = "b"
	}}
	app := fresh()
	Decorate(p, Attempt{}, app)
	if diff := cmp.Diff(fresh(), app); diff != "" {
		t.Errorf("the application given was changed (-want +got):\n%s", diff)
	}
}
