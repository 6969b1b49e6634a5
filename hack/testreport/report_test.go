// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const (
	pass  = `{"Action":"pass","Package":"github.com/firesteel-dev/firesteel/internal/text","Test":"TestCut","Elapsed":0.1}` + "\n" + `{"Action":"pass","Package":"github.com/firesteel-dev/firesteel/internal/text","Elapsed":0.2}` + "\n"
	table = `{"Action":"run","Package":"github.com/firesteel-dev/firesteel/test/chart","Test":"TestValues"}
{"Action":"fail","Package":"github.com/firesteel-dev/firesteel/test/chart","Test":"TestValues/a_(b)","Elapsed":7}
{"Action":"fail","Package":"github.com/firesteel-dev/firesteel/test/chart","Test":"TestValues","Elapsed":9.5}
{"Action":"output","Package":"github.com/firesteel-dev/firesteel/test/chart","Output":"FAIL\n"}
{"Action":"fail","Package":"github.com/firesteel-dev/firesteel/test/chart","Elapsed":10}
`
	build = `{"ImportPath":"github.com/firesteel-dev/firesteel/internal/spark","Action":"build-fail"}
{"Action":"fail","Package":"github.com/firesteel-dev/firesteel/internal/spark","Elapsed":0,"FailedBuild":"x"}
`
	suite = `{"Action":"fail","Package":"github.com/firesteel-dev/firesteel/test/integration","Test":"TestIntegration","Elapsed":99}
{"Action":"output","Package":"github.com/firesteel-dev/firesteel/test/integration","Output":"FAIL\n"}
{"Action":"fail","Package":"github.com/firesteel-dev/firesteel/test/integration","Elapsed":100}
`
	specs = `[{"SuiteConfig":{"RandomSeed":17},"SpecReports":[
{"ContainerHierarchyTexts":["A driver"],"LeafNodeType":"It","LeafNodeText":"doesn't end","State":"failed","RunTime":61000000000,"Failure":{"Location":{"FileName":"/x/kill_test.go","LineNumber":12}}},
{"ContainerHierarchyTexts":["A driver"],"LeafNodeType":"It","LeafNodeText":"runs","State":"passed","RunTime":6000000000},
{"LeafNodeType":"BeforeSuite","State":"passed","RunTime":9000000000}]}]`
	broken = `[{"SuiteConfig":{"RandomSeed":18},"SpecReports":[{"LeafNodeType":"SynchronizedBeforeSuite","State":"panicked","RunTime":1,"Failure":{"Location":{"FileName":"suite_test.go","LineNumber":1}}}]}]`
)

// What a person reads at the end of a run.
func TestReport(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		files  map[string]string
		failed bool
	}{
		"Green":     {reason: "where the time went, and no word of failures", files: map[string]string{"times.txt": "61\t100.5\ttest/e2e\n3\t4\ttiny\n2\t9.75\tlint\n", "go-1.json": pass, "specs/integration.json": strings.Replace(specs, "failed", "passed", 1)}},
		"Table":     {reason: "the failed row, and neither its table nor its package", files: map[string]string{"go-1.json": pass + table}, failed: true},
		"Build":     {reason: "a package that does not build has no test", files: map[string]string{"go-1.json": build}, failed: true},
		"Spec":      {reason: "the spec, and not the Go test that runs all of them", files: map[string]string{"go-1.json": suite, "specs/integration.json": specs}, failed: true},
		"Suite":     {reason: "a suite that does not begin", files: map[string]string{"go-1.json": suite, "specs/integration.json": broken}, failed: true},
		"Many":      {reason: "ten lines at most", files: map[string]string{"go-1.json": build + strings.ReplaceAll(build, "spark", "a") + strings.ReplaceAll(build, "spark", "b") + table + suite}, failed: true},
		"Flake":     {reason: "green, and not hidden", files: map[string]string{"go-1.json": suite, "specs/integration.json": specs, "again/specs/integration.json": strings.Replace(specs, "failed", "passed", 1)}},
		"Twice":     {reason: "red, and named once", files: map[string]string{"go-1.json": suite, "specs/integration.json": specs, "again/specs/integration.json": specs}, failed: true},
		"Forgotten": {reason: "a run in which no test ran is not green", failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("FIRESTEEL_SEED", "4294967297")
			dir := t.TempDir()
			for file, text := range tc.files {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			failed, err := run(dir, &out)
			if err != nil || failed != tc.failed {
				t.Errorf("failed %v, error %v: %s", failed, err, tc.reason)
			}
			testutil.Golden(t, filepath.Join("testdata", strings.ToLower(name)+".txt"), out.String())
		})
	}
}

// A report that cannot be read is an error, and not a green run.
func TestUnreadable(t *testing.T) {
	for name, want := range map[string]string{"times.txt": `"half": not seconds, CPU seconds and a name`, "go-1.json": "unexpected EOF", "specs/e2e.json": "unexpected EOF"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			text := "half"
			if strings.HasSuffix(name, ".json") {
				text = `[{`
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := run(dir, &strings.Builder{})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(path+": "+want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
