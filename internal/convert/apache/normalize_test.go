// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// The model has what the object says of itself, and none of its maps.
func TestModelOfAnApplication(t *testing.T) {
	o := own(func(s *v1.SparkApplicationSpec) { s.Suspend = true }).app
	o.Generation, o.Labels = 7, map[string]string{"team": "a"}
	app, _ := Normalize(o)
	if app.Generation != 7 || !app.Suspend || app.Submitter.User != "spark" || !app.Exposure.NoUI {
		t.Errorf("generation %d, suspended %t, submitted by %q, without a UI of its own %t", app.Generation, app.Suspend, app.Submitter.User, app.Exposure.NoUI)
	}
	app.Labels["team"] = "b"
	app.Conf["spark.x"] = "y"
	if diff := cmp.Diff(map[string]string{"team": "a"}, o.Labels); diff != "" || o.Spec.SparkConf["spark.x"] != "" {
		t.Errorf("the object is changed with its model; labels (-want +got):\n%s", diff)
	}
}

// What the operator sets is told of the field that it comes from.
func TestOriginsOfDefaults(t *testing.T) {
	app, _ := Normalize(&v1.SparkApplication{Spec: v1.SparkApplicationSpec{Jars: "a.jar"}})
	for key, want := range map[string]spark.Field{spark.ConfJars: "jars", "spark.io.encryption.enabled": spark.FieldSparkConf} {
		if got := app.Origins[key].Field; got != want {
			t.Errorf("%s comes from %q, want %q", key, got, want)
		}
	}
}

// The version is put into the names of images, and nowhere else.
func TestVersionInImages(t *testing.T) {
	const placeholder = "spark:{{SPARK_VERSION}}"
	cases := map[string]string{
		"spark.kubernetes.container.image":          "spark:4.1.4",
		"spark.kubernetes.driver.container.image":   "spark:4.1.4",
		"spark.kubernetes.executor.container.image": "spark:4.1.4",
		"spark.kubernetes.driver.label.image":       placeholder,
		"spark.my.container.image":                  placeholder,
	}
	o := own(func(s *v1.SparkApplicationSpec) {
		for key := range cases {
			s.SparkConf[key] = placeholder
		}
	}).app
	app, _ := Normalize(o)
	for key, want := range cases {
		if got := app.Conf[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// Of several Python files, the first is the program of the Python runner and the others are its modules.
func TestPythonFiles(t *testing.T) {
	for name, tc := range map[string]struct {
		class, files, main, others string
	}{
		"one":    {class: pythonRunner, files: "a.py", main: "a.py"},
		"two":    {class: pythonRunner, files: "a.py,b.py,c.zip", main: "a.py", others: "b.py,c.zip"},
		"direct": {files: "a.py", main: "a.py", others: "a.py"},
	} {
		app, _ := Normalize(&v1.SparkApplication{Spec: v1.SparkApplicationSpec{MainClass: tc.class, PyFiles: tc.files}})
		others, set := app.Conf[spark.ConfPyFiles]
		if app.MainFile != tc.main || others != tc.others || set != (tc.others != "") {
			t.Errorf("%s: %q runs with %q", name, app.MainFile, others)
		}
	}
}
