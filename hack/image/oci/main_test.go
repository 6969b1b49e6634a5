// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

var saysOfItself = map[string]string{"org.opencontainers.image.version": "v1", "org.opencontainers.image.created": "2023-11-14T22:13:20Z"}

func TestArchive(t *testing.T) {
	cases := map[string]struct {
		reason string
		gzip   string
	}{
		"Plain":      {"layers that stay on this machine are stored as they are", "-gzip=false"},
		"Compressed": {"layers that travel are compressed", "-gzip=true"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			first, second := writeSample(t, tc.gzip), writeSample(t, tc.gzip)
			if !bytes.Equal(first, second) {
				t.Errorf("%s: two runs differ, want the same bytes", tc.reason)
			}
			files := untar(t, first)
			top := decode[v1.IndexManifest](t, files["index.json"])
			if got := top.Manifests[0].Annotations[containerdName]; got != "example.local/x:1" {
				t.Errorf("%s: image name %q, want example.local/x:1", tc.reason, got)
			}
			index := decode[v1.IndexManifest](t, files[blobPath(top.Manifests[0].Digest)])
			if diff := cmp.Diff(saysOfItself, index.Annotations); diff != "" {
				t.Errorf("%s: annotations of the index (-want +got):\n%s", tc.reason, diff)
			}
			for i, want := range []string{"amd64", "arm64"} {
				checkImage(t, files, index.Manifests[i], want)
			}
		})
	}
}

func checkImage(t *testing.T, files map[string][]byte, descriptor v1.Descriptor, architecture string) {
	t.Helper()
	manifest := decode[v1.Manifest](t, files[blobPath(descriptor.Digest)])
	config := decode[v1.ConfigFile](t, files[blobPath(manifest.Config.Digest)])
	if descriptor.Platform.Architecture != architecture || config.Architecture != architecture {
		t.Errorf("architecture: index says %q, image %q, want %q",
			descriptor.Platform.Architecture, config.Architecture, architecture)
	}
	if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/x" {
		t.Errorf("config: %+v, want the given user and entrypoint", config.Config)
	}
	if diff := cmp.Diff([]map[string]string{saysOfItself, saysOfItself}, []map[string]string{manifest.Annotations, config.Config.Labels}); diff != "" {
		t.Errorf("annotations and labels (-want +got):\n%s", diff)
	}
	if config.Created.Unix() != 1700000000 {
		t.Errorf("created %v, want what -created says", config.Created)
	}
	for _, layer := range manifest.Layers {
		if content := files[blobPath(layer.Digest)]; int64(len(content)) != layer.Size {
			t.Errorf("layer %s has %d bytes, want %d", layer.Digest, len(content), layer.Size)
		}
	}
}

func TestParseLayersRefuses(t *testing.T) {
	for _, spec := range []string{"layer.tar", "linux=layer.tar", "=layer.tar"} {
		if _, err := parseLayers([]string{spec}); err == nil {
			t.Errorf("parseLayers(%q) succeeded, want an error", spec)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, tc := range []struct {
		reason, label string
		want          map[string]string
		fails         bool
	}{
		{reason: "a value may have the sign, too", label: "a=b=c", want: map[string]string{"a": "b=c"}},
		{reason: "no value", label: "a=", fails: true},
		{reason: "no name", label: "=b", fails: true},
		{reason: "neither", label: "a", fails: true},
	} {
		got, err := describe([]string{tc.label}, 0)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
			t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
		}
	}
}

// writeSample writes an image for two platforms and returns the archive.
func writeSample(t *testing.T, gzip string) []byte {
	t.Helper()
	dir := t.TempDir()
	args := []string{"-out", filepath.Join(dir, "out.tar"), "-name", "example.local/x:1", "-user", "65532:65532",
		"-entrypoint", "/x", "-label", "org.opencontainers.image.version=v1", "-created", "1700000000", gzip}
	for _, architecture := range []string{"amd64", "arm64"} {
		file := filepath.Join(dir, architecture+".tar")
		writeTar(t, file, "x", []byte("program for "+architecture))
		args = append(args, "-layer", "linux/"+architecture+"="+file)
	}
	if err := run(args); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "out.tar"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func writeTar(t *testing.T, path, name string, content []byte) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func untar(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func decode[T any](t *testing.T, text []byte) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
