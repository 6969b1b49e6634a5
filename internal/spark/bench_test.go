// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkBuildSparkPi measures one submission of the smallest usual application.
func BenchmarkBuildSparkPi(b *testing.B) {
	app, id, profile := sparkPi(), testIdentity(), profileOf(b, "4.1.0")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(app, id, profile); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuildWithTemplates measures a submission with a template text and overlays for both roles.
func BenchmarkBuildWithTemplates(b *testing.B) {
	app, id, profile := sparkPi(), testIdentity(), profileOf(b, "4.1.0")
	app.Driver.Overlay, app.Executor.Overlay = fullOverlay(), fullOverlay()
	app.Driver.TemplateText = "spec: {containers: [{name: main, env: [{name: A, value: b}]}]}"
	app.Executor.TemplateText = app.Driver.TemplateText
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(app, id, profile); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuildLarge measures a submission with 60 properties, 20 volumes and templates for both roles.
func BenchmarkBuildLarge(b *testing.B) {
	app, id, profile := sparkPi(), testIdentity(), profileOf(b, "4.1.0")
	for i := range 60 {
		app.Conf["spark.sql.option"+strconv.Itoa(i)] = "value:" + strconv.Itoa(i)
	}
	for _, role := range []*Role{&app.Driver, &app.Executor} {
		role.Overlay = fullOverlay()
		for i := range 20 {
			name := "data-" + strconv.Itoa(i)
			role.Overlay.Volumes = append(role.Overlay.Volumes, corev1.Volume{Name: name})
			role.Overlay.VolumeMounts = append(role.Overlay.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
		}
		role.TemplateText = "spec: {containers: [{name: main, env: [{name: A, value: b}]}]}"
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(app, id, profile); err != nil {
			b.Fatal(err)
		}
	}
}
