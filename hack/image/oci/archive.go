// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Annotations with the name of an image. containerd reads the first, and most other importers the second.
const (
	containerdName = "io.containerd.image.name"
	ociName        = "org.opencontainers.image.ref.name"
)

// writeArchive writes the image index with its name. The file appears only when it is complete.
func writeArchive(path, name string, index v1.ImageIndex) error {
	partial := path + ".partial"
	f, err := os.Create(partial)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(partial) }() // after a success the file no longer exists
	defer func() { _ = f.Close() }()
	a := archive{tar: tar.NewWriter(f), seen: map[v1.Hash]bool{}}
	if err := a.writeLayout(name, index); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := a.tar.Close(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(partial, path)
}

type archive struct {
	tar  *tar.Writer
	seen map[v1.Hash]bool
}

// writeLayout writes index.json first, so that readers find names and digests immediately.
func (a *archive) writeLayout(name string, index v1.ImageIndex) error {
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	manifest, err := index.RawManifest()
	if err != nil {
		return err
	}
	top, err := json.Marshal(v1.IndexManifest{
		SchemaVersion: 2,
		MediaType:     types.OCIImageIndex,
		Manifests: []v1.Descriptor{{
			MediaType:   types.OCIImageIndex,
			Size:        int64(len(manifest)),
			Digest:      digest,
			Annotations: map[string]string{containerdName: name, ociName: name},
		}},
	})
	if err != nil {
		return err
	}
	if err := a.file("index.json", bytes.NewReader(top), int64(len(top))); err != nil {
		return err
	}
	layout := []byte(`{"imageLayoutVersion":"1.0.0"}`)
	if err := a.file("oci-layout", bytes.NewReader(layout), int64(len(layout))); err != nil {
		return err
	}
	if err := a.blob(digest, manifest); err != nil {
		return err
	}
	return a.images(index)
}

func (a *archive) images(index v1.ImageIndex) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, descriptor := range manifest.Manifests {
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			return err
		}
		if err := a.image(descriptor.Digest, image); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) image(digest v1.Hash, image v1.Image) error {
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	if err := a.blob(digest, manifest); err != nil {
		return err
	}
	configDigest, err := image.ConfigName()
	if err != nil {
		return err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	if err := a.blob(configDigest, config); err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		if err := a.layer(layer); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) layer(layer v1.Layer) error {
	digest, err := layer.Digest()
	if err != nil || a.seen[digest] {
		return err
	}
	a.seen[digest] = true
	size, err := layer.Size()
	if err != nil {
		return err
	}
	content, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	return a.file(blobPath(digest), content, size)
}

func (a *archive) blob(digest v1.Hash, content []byte) error {
	if a.seen[digest] {
		return nil
	}
	a.seen[digest] = true
	return a.file(blobPath(digest), bytes.NewReader(content), int64(len(content)))
}

func (a *archive) file(name string, content io.Reader, size int64) error {
	header := &tar.Header{Name: name, Mode: 0o644, Size: size, ModTime: time.Unix(0, 0)}
	if err := a.tar.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(a.tar, content)
	return err
}

func blobPath(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }
