// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the operator's health check edits is named as that, and not as an application of another controller.
func TestProbeIsNoApplication(t *testing.T) {
	var v view
	v.Scope.Desired.Probe, v.Object = true, &metav1.ObjectMeta{}
	got := append([]string{v.summary(), v.waiting(), v.behind()}, v.advice()...)
	want := []string{"is a health probe, and no application", "nothing: the operator's health check edits the object, and sees that its edits arrive", "", "leave it alone"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
