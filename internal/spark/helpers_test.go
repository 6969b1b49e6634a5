// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// sparkPi is the application of Spark's own examples, as the operator would describe it.
func sparkPi() Application {
	return Application{
		Namespace:    "jobs",
		Name:         "spark-pi",
		UID:          "7b0f0a52-0000-4000-8000-000000000001",
		SparkVersion: "4.1.0",
		MainFile:     "local:///opt/spark/examples/jars/spark-examples.jar",
		MainClass:    "org.apache.spark.examples.SparkPi",
		Arguments:    []string{"1000"},
		Conf: map[string]string{
			"spark.kubernetes.container.image": "apache/spark:4.1.0",
			"spark.driver.memory":              "2g",
			"spark.executor.instances":         "3",
			"spark.eventLog.enabled":           "true",
		},
		OperatorConf: map[string]string{
			"spark.master":                     "k8s://https://kubernetes.default.svc",
			"spark.submit.deployMode":          "cluster",
			"spark.app.name":                   "spark-pi",
			"spark.kubernetes.namespace":       "jobs",
			"spark.kubernetes.driver.pod.name": "spark-pi-driver",
		},
		Submitter: Submitter{User: "spark"},
	}
}

// with returns sparkPi with further properties.
func with(properties map[string]string) Application {
	app := sparkPi()
	maps.Copy(app.Conf, properties)
	return app
}

func testIdentity() Identity {
	return NewIdentity("7b0f0a52-0000-4000-8000-000000000001", 1, time.Unix(1700000000, 0))
}

func profileOf(tb testing.TB, version string) Profile {
	tb.Helper()
	profile, err := ProfileFor(version)
	if err != nil {
		tb.Fatal(err)
	}
	return profile
}

func mustBuild(tb testing.TB, app Application, version string) Submission {
	tb.Helper()
	submission, err := Build(app, testIdentity(), profileOf(tb, version))
	if err != nil {
		tb.Fatalf("Build: %v", err)
	}
	return submission
}

// refused returns the ConfError of an attempt to build app.
func refused(tb testing.TB, app Application, version string) *ConfError {
	tb.Helper()
	_, err := Build(app, testIdentity(), profileOf(tb, version))
	conf, ok := errors.AsType[*ConfError](err)
	if !ok {
		tb.Fatalf("Build returned %v, want a *ConfError", err)
	}
	return conf
}

// sparkContainerOf returns the driver's Spark container.
func sparkContainerOf(tb testing.TB, pod *corev1.Pod, name string) *corev1.Container {
	tb.Helper()
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i]
		}
	}
	tb.Fatalf("no container %q", name)
	return nil
}

// resourceOf returns the first object of type T whose name ends with suffix.
func resourceOf[T Object](tb testing.TB, s Submission, suffix string) T {
	tb.Helper()
	for _, object := range s.Resources {
		name := object.GetName()
		if typed, ok := object.(T); ok && len(name) >= len(suffix) && name[len(name)-len(suffix):] == suffix {
			return typed
		}
	}
	tb.Fatalf("no %T with a name that ends with %q", *new(T), suffix)
	return *new(T)
}
