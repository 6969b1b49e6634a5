// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Case 024: whatever name the definition takes, all objects of the first and of later attempts have names that every API server takes.
func TestNamesOfObjects(t *testing.T) {
	long := strings.Repeat("a", 62)
	for _, tc := range []struct{ reason, name, id string }{
		{"a dot", "report-2.1", ""},
		{"a digit", "1", ""},
		{"a dot at the cut", "abcdefgh." + strings.Repeat("b", 50), ""},
		{"a dash at the cut", "abcdefgh-" + strings.Repeat("b", 50), ""},
		{"the longest name", strings.Repeat("a.", 31) + "a", ""},
		{"an id of the user's", "a", "nightly"},
		{"an id with a dot", "a", "nightly.2"},
		{"an id that a label just holds", "a", long + "a"},
		{"an id that a label does not hold with a number", "a", long},
		{"an id that ends in a dot where it is cut", "a", strings.Repeat("a", 60) + ".b"},
	} {
		for _, attempt := range []int32{1, 2, 1000} {
			o := &v1.SparkApplication{}
			o.Namespace, o.Name, o.UID = "data", tc.name, "7b0f0a52-0000-4000-8000-000000000001"
			o.Spec.SparkConf = map[string]string{spark.ConfImage: "spark", spark.ConfAppID: tc.id}
			o.Spec.MainClass, o.Spec.Jars, o.Spec.RuntimeVersions.SparkVersion = "A", "local:///a.jar", "4.1.1"
			app, problems := Normalize(o)
			profile, err := spark.ProfileFor(app.SparkVersion)
			if err != nil || len(problems) > 0 {
				t.Fatalf("%s: %v, %v", tc.reason, err, problems)
			}
			made, err := spark.Build(app, Identity(o, attempt, time.Time{}), profile)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			for _, object := range append(made.Resources, made.Driver) {
				check := validation.IsDNS1123Subdomain
				switch object.(type) {
				case *corev1.Service:
					check = validation.IsDNS1035Label
				case *networkingv1.NetworkPolicy, *corev1.ConfigMap, *corev1.Pod:
				default:
					t.Errorf("%T: which names are right?", object)
				}
				if wrong := check(object.GetName()); len(wrong) > 0 {
					t.Errorf("%s, attempt %d: %T %s: %s", tc.reason, attempt, object, object.GetName(), wrong)
				}
				for key, value := range object.GetLabels() {
					if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 {
						t.Errorf("%s, attempt %d: label %s of %T: %s: %s", tc.reason, attempt, key, object, value, wrong)
					}
				}
			}
		}
	}
}

// An id that no object can be named after is refused under the property that the user wrote.
func TestIDsThatNameNothing(t *testing.T) {
	for _, id := range []string{"Fixed_ID", strings.Repeat("a", 64), "-a", "a b", "a."} {
		o := &v1.SparkApplication{}
		o.Name = "a"
		o.Spec.SparkConf = map[string]string{spark.ConfAppID: id}
		o.Spec.MainClass, o.Spec.Jars, o.Spec.RuntimeVersions.SparkVersion = "A", "local:///a.jar", "4.1.1"
		app, problems := Normalize(o)
		if len(problems) != 1 || app.PathOf(problems[0]) != `spec.sparkConf["spark.app.id"]` || problems[0].Value != id {
			t.Errorf("%s: %v", id, problems)
		}
	}
	o := &v1.SparkApplication{}
	o.Name = strings.Repeat("a", 64)
	o.Spec.MainClass, o.Spec.Jars, o.Spec.RuntimeVersions.SparkVersion = "A", "local:///a.jar", "4.1.1"
	if app, problems := Normalize(o); len(problems) != 1 || app.PathOf(problems[0]) != "metadata.name" {
		t.Errorf("a label has at most 63 characters: %v", problems)
	}
}
