// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"sigs.k8s.io/yaml"
)

// release is a folder of hack/release.sh, with its image and its chart and their repositories.
type release struct {
	folder, version string
	image           v1.ImageIndex
	imageRepo       name.Repository
	chart           v1.Image
	chartRepo       name.Repository
}

func open(folder, version, registry, work string) (*release, error) {
	r := &release{folder: folder, version: version}
	var err error
	if r.imageRepo, err = name.NewRepository(registry+"/spark-operator", name.StrictValidation); err != nil {
		return nil, err
	}
	if r.chartRepo, err = name.NewRepository(registry+"/charts/spark-operator", name.StrictValidation); err != nil {
		return nil, err
	}
	if r.image, err = openImage(r.path("spark-operator-%s.oci.tar", version), work); err != nil {
		return nil, err
	}
	r.chart, err = openChart(r.path("spark-operator-%s.tgz", r.chartVersion()))
	return r, err
}

func (r *release) path(format string, args ...any) string {
	return filepath.Join(r.folder, fmt.Sprintf(format, args...))
}

func (r *release) chartVersion() string { return strings.TrimPrefix(r.version, "v") }

// openImage unpacks an OCI archive, and returns its only image.
func openImage(archive, work string) (v1.ImageIndex, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if err := unpack(tar.NewReader(f), work); err != nil {
		return nil, fmt.Errorf("%s: %w", archive, err)
	}
	all, err := layout.ImageIndexFromPath(work)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", archive, err)
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s: it has %d images, and must have one", archive, len(manifest.Manifests))
	}
	return all.ImageIndex(manifest.Manifests[0].Digest)
}

func unpack(r *tar.Reader, folder string) error {
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("%q leads out of the archive", header.Name)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		path := filepath.Join(folder, header.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			return err
		}
	}
}

// about is the part of Chart.yaml that publish needs.
type about struct {
	Name, Version, Description, Home string
	Sources                          []string
}

// openChart converts a packed chart to the artifact that Helm pulls. The configuration is Chart.yaml, and the layer is the packed chart.
func openChart(file string) (v1.Image, error) {
	packed, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text, at, err := chartYAML(packed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	config, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: Chart.yaml: %w", file, err)
	}
	var chart about
	if err := json.Unmarshal(config, &chart); err != nil {
		return nil, fmt.Errorf("%s: Chart.yaml: %w", file, err)
	}
	prefix := "org.opencontainers.image."
	head := v1.Manifest{Annotations: map[string]string{
		prefix + "title": chart.Name, prefix + "version": chart.Version, prefix + "description": chart.Description, prefix + "url": chart.Home,
		prefix + "source": strings.Join(chart.Sources, " "), prefix + "created": at.UTC().Format(time.RFC3339),
	}}
	return newArtifact(head, blob{media: "application/vnd.cncf.helm.config.v1+json", content: config},
		blob{media: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", content: packed})
}

// chartYAML returns the Chart.yaml of a packed chart, and its time.
func chartYAML(packed []byte) ([]byte, time.Time, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, time.Time{}, err
	}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil, time.Time{}, errors.New("it has no Chart.yaml")
		}
		if err != nil {
			return nil, time.Time{}, err
		}
		if header.Name == "spark-operator/Chart.yaml" {
			text, err := io.ReadAll(r)
			return text, header.ModTime, err
		}
	}
}

// things returns everything to push. The referrers and signatures follow the image.
func (r *release) things() ([]thing, error) {
	things := []thing{
		{"image", r.imageRepo.Tag(r.version), r.image},
		{"chart", r.chartRepo.Tag(r.chartVersion()), r.chart},
	}
	for _, add := range []func() ([]thing, error){r.referrers, r.signatures} {
		more, err := add()
		if err != nil {
			return nil, err
		}
		things = append(things, more...)
	}
	return things, nil
}

// describe returns the descriptor of a manifest with only media type, size and digest.
func describe(m manifest) (*v1.Descriptor, error) {
	digest, err := m.Digest()
	if err != nil {
		return nil, err
	}
	size, err := m.Size()
	if err != nil {
		return nil, err
	}
	media, err := m.MediaType()
	return &v1.Descriptor{MediaType: media, Size: size, Digest: digest}, err
}

// referrers returns the SBOM, and the checksums and provenance of all files.
func (r *release) referrers() ([]thing, error) {
	subject, err := describe(r.image)
	if err != nil {
		return nil, err
	}
	var things []thing
	for _, referrer := range []struct {
		what, kind string
		files      []string
	}{
		{"SBOM", "application/vnd.cyclonedx+json", []string{fmt.Sprintf("spark-operator-image-%s.cdx.json", r.version)}},
		{"checksums and provenance", "application/vnd.firesteel.release.v1", []string{"SHA256SUMS", "SHA256SUMS.sig", "provenance.json", "provenance.json.sig"}},
	} {
		var blobs []blob
		for _, file := range referrer.files {
			content, err := os.ReadFile(r.path("%s", file))
			if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(file, ".sig") {
				continue // it was not signed
			}
			if err != nil {
				return nil, err
			}
			blobs = append(blobs, blob{media: mediaOf(file), content: content, annotations: map[string]string{"org.opencontainers.image.title": file}})
		}
		a, err := newArtifact(v1.Manifest{ArtifactType: referrer.kind, Subject: subject}, noConfig, blobs...)
		if err != nil {
			return nil, err
		}
		digest, err := a.Digest()
		if err != nil {
			return nil, err
		}
		things = append(things, thing{referrer.what, r.imageRepo.Digest(digest.String()), a})
	}
	return things, nil
}
