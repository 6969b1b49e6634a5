// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// FuzzBuild looks for input that makes Build panic, change its input, answer differently the second time, or refuse with
// anything but a *ConfError.
func FuzzBuild(f *testing.F) {
	for _, seed := range []struct{ version, mainFile, name, conf, template string }{
		{"4.1", "local:///a.jar", "spark-pi", "spark.driver.memory=2g", ""},
		{"3.3", "local:///a.py", "日本", "spark.kubernetes.driver.volumes.hostPath.x=y\nspark.x=${spark.x}", "spec: {}"},
		{"4.3", "/a.R", "", "spark.kubernetes.driver.label.spark-role=x", "spec: {containers: [{name: y}]}"},
		{"4.2", "spark-internal", "--", "spark.kubernetes.driver.pod.featureSteps=" + volcanoStep +
			"\nspark.kubernetes.scheduler.volcano.podGroupTemplateJson={\"metadata\": {\"labels\": 1}}", "a: &a [*a]"},
		{"4.1", "spark-internal", "sc", "spark.connect.grpc.binding.port=1\nspark.kubernetes.executor.podTemplateFile=/x", "spec: {containers: [{resources: {requests: {cpu: 1}}}]}"},
		{"4.0", "s3a://b/a.jar", strings.Repeat("n", 300), "spark.driver.memory=9223372036854775807p\nspark.local.dir=,", "[]"},
		{"3.5", "local:///a.jar", "x", "spark.driver.resource.gpu=1\nspark.kubernetes.driver.request.cores=1e999999", "spec:\n  volumes: [{}]"},
		{"4.1", "local:///a.jar", "x", "spark.kubernetes.memoryOverheadFactor=NaN\nspark.ui.port=\nspark.driver.port=-1", "null"},
	} {
		f.Add(seed.version, seed.mainFile, seed.name, seed.conf, seed.template)
	}
	for _, bomb := range heaptest.Bombs() {
		var lines []string
		for key, value := range bomb {
			lines = append(lines, key+"="+value)
		}
		f.Add("4.1", "local:///a.jar", "x", strings.Join(lines, "\n"), "")
	}
	f.Fuzz(func(t *testing.T, version, mainFile, name, conf, template string) {
		defer heaptest.Bound(t, len(mainFile)+len(name)+len(conf)+len(template))()
		profile, err := ProfileFor(version)
		if err != nil {
			return
		}
		build := func() (Application, Submission, error) {
			app := fuzzed(version, mainFile, name, conf, template)
			submission, err := Build(app, testIdentity(), profile)
			return app, submission, err
		}
		app, first, err := build()
		if _, ok := errors.AsType[*ConfError](err); err != nil && !ok {
			t.Errorf("refused with %T: %v", err, err)
		}
		untouched := fuzzed(version, mainFile, name, conf, template)
		if diff := cmp.Diff(untouched, app, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the application was changed (-before +after):\n%s", diff)
		}
		if err != nil {
			return
		}
		if _, second, _ := build(); encode(t, first) != encode(t, second) {
			t.Error("the second submission differs")
		}
	})
}

// fuzzed makes an application from texts, or a server if its main file says that there is none; conf has a property in
// each line.
func fuzzed(version, mainFile, name, conf, template string) Application {
	app := sparkPi()
	app.SparkVersion, app.MainFile = version, mainFile
	app.OperatorConf[ConfAppName] = name
	for line := range strings.SplitSeq(conf, "\n") {
		key, value, _ := strings.Cut(line, "=")
		app.Conf[key] = value
	}
	app.Driver.TemplateText = template
	app.Executor.TemplateText = template
	app.Executor.Overlay = fullOverlay()
	if mainFile == NoResource {
		app.Server = &Server{TemplateMap: name + "-conf", TokenSecret: "token"}
	}
	return app
}
