// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// buildIndex builds one image per platform, and an index of all images. The labels of the configuration also become annotations of each manifest, because an
// index has no configuration and registries show its annotations.
func buildIndex(groups []platformLayers, config v1.ConfigFile, compress bool) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, group := range groups {
		image, err := buildImage(group, config, compress)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &group.platform},
		})
	}
	if len(config.Config.Labels) == 0 {
		return index, nil
	}
	return mutate.Annotations(index, config.Config.Labels).(v1.ImageIndex), nil
}

func buildImage(group platformLayers, config v1.ConfigFile, compress bool) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, file := range group.files {
		layer, err := openLayer(file, compress)
		if err != nil {
			return nil, fmt.Errorf("layer %s: %w", file, err)
		}
		image, err = mutate.Append(image, mutate.Addendum{Layer: layer})
		if err != nil {
			return nil, fmt.Errorf("layer %s: %w", file, err)
		}
	}
	base, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	full := base.DeepCopy()
	full.OS, full.Architecture, full.Variant = group.platform.OS, group.platform.Architecture, group.platform.Variant
	full.Config, full.Created = config.Config, config.Created
	if image, err = mutate.ConfigFile(image, full); err != nil || len(full.Config.Labels) == 0 {
		return image, err
	}
	return mutate.Annotations(image, full.Config.Labels).(v1.Image), nil
}

func openLayer(file string, compress bool) (v1.Layer, error) {
	if compress {
		return tarball.LayerFromFile(file, tarball.WithMediaType(types.OCILayer))
	}
	return newPlainLayer(file)
}

// plainLayer is an uncompressed layer. go-containerregistry always compresses files, and an image that never leaves the machine is imported faster without
// compression.
type plainLayer struct {
	file   string
	digest v1.Hash
	size   int64
}

func newPlainLayer(file string) (*plainLayer, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	digest, size, err := v1.SHA256(f)
	if err != nil {
		return nil, err
	}
	return &plainLayer{file: file, digest: digest, size: size}, nil
}

func (l *plainLayer) Digest() (v1.Hash, error)             { return l.digest, nil }
func (l *plainLayer) DiffID() (v1.Hash, error)             { return l.digest, nil }
func (l *plainLayer) Size() (int64, error)                 { return l.size, nil }
func (l *plainLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }
func (l *plainLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.file) }
func (l *plainLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.file) }
