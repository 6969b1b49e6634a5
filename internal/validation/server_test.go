// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func TestServerImages(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		conf   map[string]string
		says   string
	}{
		"Spec":      {reason: "of both", conf: map[string]string{spark.ConfImage: "a"}},
		"Templates": {reason: "each its own", conf: map[string]string{spark.ConfDriverImage: "a", spark.ConfExecutorImage: "b"}},
		"None":      {reason: "nothing could start", says: "spec.image: the server has no image; write one here, or in both templates"},
		"Server":    {reason: "no executor could start", conf: map[string]string{spark.ConfDriverImage: "a"}, says: "spec.image: the executors have no image; write one here, or in both templates"},
		"Executors": {reason: "no server could start", conf: map[string]string{spark.ConfExecutorImage: "a"}, says: "spec.image: the server has no image; write one here, or in both templates"},
	} {
		app := testutil.Model()
		app.Conf, app.Origins, app.Server = tc.conf, nil, &spark.Server{}
		var want []string
		if tc.says != "" {
			want = []string{tc.says}
		}
		var got []string
		for _, e := range ErrorList(app, checkServerImages(app)) {
			if Later(e) {
				t.Errorf("%s: %s: it is only warned of", name, tc.reason)
			}
			got = append(got, Sentence(e))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
		if app.Server = nil; len(checkServerImages(app)) > 0 {
			t.Errorf("%s: an application is refused", name)
		}
	}
}

// BenchmarkCheck measures everything that is looked at before a submission, a build on trial included.
func BenchmarkCheck(b *testing.B) {
	app := testutil.Model()
	b.ReportAllocs()
	for b.Loop() {
		if found := check(app); len(found) > 0 {
			b.Fatal(found)
		}
	}
}
