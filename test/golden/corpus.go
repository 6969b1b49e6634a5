// SPDX-License-Identifier: Apache-2.0

// Package golden reads recordings of the real spark-submit and brings recorded and built objects into a form in which they
// can be compared. It is for tests only.
package golden

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/convert/sparksubmit/commandline"
)

// Corpus is a folder of recorded runs, in a directory or in a zip file.
type Corpus struct {
	fs fs.FS
}

// Open opens what a variable of the environment names, or our own copy.
func Open(tb testing.TB, variable, own string) Corpus {
	tb.Helper()
	name := os.Getenv(variable)
	if name == "" {
		name = own
	}
	root := os.DirFS(name)
	if strings.HasSuffix(name, ".zip") {
		archive, err := zip.OpenReader(name)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = archive.Close() })
		root = unwrap(tb, &archive.Reader)
	}
	if _, err := fs.Stat(root, "cases"); err == nil {
		root, _ = fs.Sub(root, "cases")
	}
	return Corpus{root}
}

// unwrap opens the only zip file inside of a zip file: many small files compress better that way.
func unwrap(tb testing.TB, archive *zip.Reader) *zip.Reader {
	tb.Helper()
	if len(archive.File) != 1 || !strings.HasSuffix(archive.File[0].Name, ".zip") {
		return archive
	}
	content, err := fs.ReadFile(archive, archive.File[0].Name)
	if err != nil {
		tb.Fatal(err)
	}
	inner, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		tb.Fatal(err)
	}
	return inner
}

// Case is case.json.
type Case struct {
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
	// Dir is the folder of the case.
	Dir string `json:"-"`
}

// Result is result.json.
type Result struct {
	ExitCode     int      `json:"exitCode"`
	RequestCount int      `json:"requestCount"`
	SparkVersion string   `json:"sparkVersion"`
	Errors       []string `json:"errors"`
}

// Request is an entry of requests.json.
type Request struct {
	Body   string `json:"body"`
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
}

// Read decodes a JSON file.
func (c Corpus) Read(tb testing.TB, into any, elem ...string) {
	tb.Helper()
	content, err := fs.ReadFile(c.fs, path.Join(elem...))
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		tb.Fatalf("%s: %v", path.Join(elem...), err)
	}
}

// ExecutorPods are all recorded executor pods, as the drivers sent them, by file.
func (c Corpus) ExecutorPods(tb testing.TB) map[string][]byte {
	tb.Helper()
	files, err := fs.Glob(c.fs, "*/*/driver/pod-exec-*.json")
	if err != nil {
		tb.Fatal(err)
	}
	pods := map[string][]byte{}
	for _, file := range files {
		if pods[file], err = fs.ReadFile(c.fs, file); err != nil {
			tb.Fatal(err)
		}
	}
	return pods
}

// Cases returns all recorded cases in order.
func (c Corpus) Cases(tb testing.TB) []Case {
	tb.Helper()
	entries, err := fs.ReadDir(c.fs, ".")
	if err != nil {
		tb.Fatal(err)
	}
	var cases []Case
	for _, entry := range entries {
		if _, err := fs.Stat(c.fs, path.Join(entry.Name(), "case.json")); err != nil {
			continue
		}
		recorded := Case{Dir: entry.Name()}
		c.Read(tb, &recorded, entry.Name(), "case.json")
		cases = append(cases, recorded)
	}
	if len(cases) == 0 {
		tb.Fatal("no recorded cases found")
	}
	return cases
}

// Machine returns the environment and the files that a case ran with.
func (c Corpus) Machine(t *testing.T, recorded Case) commandline.Machine {
	t.Helper()
	m := commandline.Machine{
		Env:   map[string]string{"SPARK_USER": "alice", "LANG": "C.UTF-8", "TZ": "UTC"},
		Files: map[string][]byte{},
		Dir:   "/case",
	}
	for name, value := range recorded.Env {
		if value == nil {
			delete(m.Env, name)
		} else {
			m.Env[name] = *value
		}
	}
	for name, generate := range recorded.Generate {
		m.Files[path.Join("/case", name)] = []byte(strings.Repeat(generate.Text, generate.Times))
	}
	root := path.Join(recorded.Dir, "files")
	_ = fs.WalkDir(c.fs, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // a case without files
		}
		content, err := fs.ReadFile(c.fs, name)
		if err != nil {
			t.Fatal(err)
		}
		m.Files[path.Join("/case", strings.TrimPrefix(name, root))] = content
		return nil
	})
	return m
}

// Requests returns the first write of each object, in order.
func (c Corpus) Requests(t *testing.T, dir, version string) []Request {
	t.Helper()
	var all, writes []Request
	c.Read(t, &all, dir, version, "requests.json")
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

// ReadFile returns the content of a file.
func (c Corpus) ReadFile(elem ...string) ([]byte, error) {
	return fs.ReadFile(c.fs, path.Join(elem...))
}
