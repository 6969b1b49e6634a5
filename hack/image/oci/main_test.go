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

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

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

// writeSample writes an image for two platforms and returns the archive.
func writeSample(t *testing.T, gzip string) []byte {
	t.Helper()
	dir := t.TempDir()
	args := []string{"-out", filepath.Join(dir, "out.tar"), "-name", "example.local/x:1", "-user", "65532:65532",
		"-entrypoint", "/x", gzip}
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
