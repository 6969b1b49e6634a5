// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// What a cache, a list of the API server and single reads know is one list, each run once.
func TestListRuns(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	run := func(name, owner string, labeled bool) *v1beta2.SparkApplication {
		o := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name, Annotations: map[string]string{"owner": owner}}}
		if labeled {
			o.Labels = map[string]string{"schedule": "s"}
		}
		return o
	}
	side := func(objects ...client.Object) client.Client {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
			WithIndex(&v1beta2.SparkApplication{}, IndexSchedule, func(o client.Object) []string { return []string{o.GetAnnotations()["owner"]} }).Build()
	}
	r := Reader{
		Cache: side(run("both", "u", true), run("unlabeled", "u", false), run("gone", "u", true), run("foreign", "x", true)),
		Live:  side(run("both", "u", true), run("unlabeled", "u", false), run("new", "u", true), run("named", "u", false), run("foreign", "x", true)),
	}
	for name, c := range map[string]struct {
		which Runs
		want  []string
	}{
		"Cache": {Runs{}, []string{"both", "gone", "unlabeled"}},
		"Named": {Runs{Named: []string{"both", "named", "never", "foreign"}}, []string{"both", "gone", "named", "unlabeled"}},
		"Live":  {Runs{Live: true, Named: []string{"named"}}, []string{"both", "named", "new", "unlabeled"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.which.Namespace, c.which.UID, c.which.Label = "jobs", "u", client.MatchingLabels{"schedule": "s"}
			all, err := ListRuns(t.Context(), r, c.which, &v1beta2.SparkApplicationList{}, func() *v1beta2.SparkApplication { return &v1beta2.SparkApplication{} },
				func(o *v1beta2.SparkApplication) bool { return o.Annotations["owner"] == "u" })
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range all {
				names = append(names, o.Name)
			}
			if slices.Sort(names); !slices.Equal(names, c.want) {
				t.Errorf("got %v, want %v", names, c.want)
			}
		})
	}
}
