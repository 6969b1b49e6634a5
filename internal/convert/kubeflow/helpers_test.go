// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// normalize is Normalize of an application without problems.
func normalize(t *testing.T, o *v1beta2.SparkApplication) spark.Application {
	t.Helper()
	app, problems := Normalize(o)
	for _, p := range problems {
		t.Fatalf("unexpected problem: %v", p)
	}
	return app
}

// build is the submission of a normalized application.
func build(t *testing.T, o *v1beta2.SparkApplication) spark.Submission {
	t.Helper()
	app := normalize(t, o)
	profile, err := spark.ProfileFor(app.SparkVersion)
	if err != nil {
		t.Fatal(err)
	}
	s, err := spark.Build(app, spark.NewIdentity(app.UID, 1, now), profile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// objections are what the operator says against an application.
func objections(o *v1beta2.SparkApplication) []*spark.ConfError {
	return admission.Validate(resolve.Load(SparkApplications{}, o, lifecycle.Record{}, resolve.Operator{}, now)).Objections
}

// volume is a volume of the given source.
func volume(name string, source corev1.VolumeSource) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: source}
}
