/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package spark

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// corpus is a folder of recorded runs, in a directory or in a zip file.
type corpus struct {
	fs fs.FS
}

// openCorpus opens what the variable GOLDEN names, or our own copy.
func openCorpus(t *testing.T) corpus {
	t.Helper()
	name := os.Getenv("GOLDEN")
	if name == "" {
		name = "testdata/golden.zip"
	}
	root := os.DirFS(name)
	if strings.HasSuffix(name, ".zip") {
		archive, err := zip.OpenReader(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = archive.Close() })
		root = unwrap(t, &archive.Reader)
	}
	if _, err := fs.Stat(root, "cases"); err == nil {
		root, _ = fs.Sub(root, "cases")
	}
	return corpus{root}
}

// unwrap opens the only zip file inside of a zip file: many small files compress better that way.
func unwrap(t *testing.T, archive *zip.Reader) *zip.Reader {
	t.Helper()
	if len(archive.File) != 1 || !strings.HasSuffix(archive.File[0].Name, ".zip") {
		return archive
	}
	content, err := fs.ReadFile(archive, archive.File[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return inner
}

// recordedCase is case.json.
type recordedCase struct {
	ID       string             `json:"id"`
	Argv     []string           `json:"argv"`
	Env      map[string]*string `json:"env"`
	Versions []string           `json:"versions"`
	Generate map[string]struct {
		Text  string `json:"text"`
		Times int    `json:"times"`
	} `json:"generate"`
	Server struct {
		Fail   []any `json:"fail"`
		Exists []any `json:"exists"`
	} `json:"server"`
	dir string
}

// recordedResult is result.json.
type recordedResult struct {
	ExitCode     int    `json:"exitCode"`
	RequestCount int    `json:"requestCount"`
	SparkVersion string `json:"sparkVersion"`
	Errors       []string
}

// recordedRequest is an entry of requests.json.
type recordedRequest struct {
	Body   string `json:"body"`
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
}

func (c corpus) read(tb testing.TB, into any, elem ...string) {
	tb.Helper()
	content, err := fs.ReadFile(c.fs, path.Join(elem...))
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		tb.Fatalf("%s: %v", path.Join(elem...), err)
	}
}

// cases returns all recorded cases in order.
func (c corpus) cases(t *testing.T) []recordedCase {
	t.Helper()
	entries, err := fs.ReadDir(c.fs, ".")
	if err != nil {
		t.Fatal(err)
	}
	var cases []recordedCase
	for _, entry := range entries {
		if _, err := fs.Stat(c.fs, path.Join(entry.Name(), "case.json")); err != nil {
			continue
		}
		recorded := recordedCase{dir: entry.Name()}
		c.read(t, &recorded, entry.Name(), "case.json")
		cases = append(cases, recorded)
	}
	if len(cases) == 0 {
		t.Fatal("no recorded cases found")
	}
	return cases
}

// machine returns the environment and the files that a case ran with.
func (c corpus) machine(t *testing.T, recorded recordedCase) machine {
	t.Helper()
	m := machine{env: map[string]string{"SPARK_USER": "alice", "LANG": "C.UTF-8", "TZ": "UTC"}, files: map[string][]byte{}}
	for name, value := range recorded.Env {
		if value == nil {
			delete(m.env, name)
		} else {
			m.env[name] = *value
		}
	}
	for name, generate := range recorded.Generate {
		m.files[path.Join("/case", name)] = []byte(strings.Repeat(generate.Text, generate.Times))
	}
	root := path.Join(recorded.dir, "files")
	_ = fs.WalkDir(c.fs, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // a case without files
		}
		content, err := fs.ReadFile(c.fs, name)
		if err != nil {
			t.Fatal(err)
		}
		m.files[path.Join("/case", strings.TrimPrefix(name, root))] = content
		return nil
	})
	// spark-submit ran in /case, so relative paths lead there, too.
	for name, content := range maps.Clone(m.files) {
		m.files[strings.TrimPrefix(name, "/case/")] = content
	}
	return m
}

// requests returns the first write of each object, in order.
func (c corpus) requests(t *testing.T, dir, version string) []recordedRequest {
	t.Helper()
	var all, writes []recordedRequest
	c.read(t, &all, dir, version, "requests.json")
	seen := map[string]bool{}
	for _, request := range all {
		if request.Body == "" || seen[request.Body] || strings.HasSuffix(request.Body, "-2.json") {
			continue
		}
		seen[request.Body] = true
		writes = append(writes, request)
	}
	return writes
}

// tally counts outcomes for the report at the end.
type tally struct {
	matched, differing, notApplicable map[string]int
	// remarks are reasons with the releases that they hold for.
	remarks map[string][]string
}

func newTally() *tally {
	return &tally{map[string]int{}, map[string]int{}, map[string]int{}, map[string][]string{}}
}

func (t *tally) remark(dir, version, text string) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	key := fmt.Sprintf("%-24s %s", dir, first)
	t.remarks[key] = append(t.remarks[key], version)
}

func (t *tally) String() string {
	var b strings.Builder
	versions := map[string]bool{}
	for _, counts := range []map[string]int{t.matched, t.differing, t.notApplicable} {
		for version := range counts {
			versions[version] = true
		}
	}
	fmt.Fprintf(&b, "\n%-12s %8s %8s %15s\n", "release", "match", "differ", "not applicable")
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		fmt.Fprintf(&b, "%-12s %8d %8d %15d\n", version, t.matched[version], t.differing[version], t.notApplicable[version])
	}
	for _, remark := range slices.Sorted(maps.Keys(t.remarks)) {
		fmt.Fprintf(&b, "%s (%s)\n", remark, strings.Join(t.remarks[remark], " "))
	}
	return b.String()
}
