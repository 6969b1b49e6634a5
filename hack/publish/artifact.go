// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// blob is content with a media type, and with the annotations of its layer.
type blob struct {
	media       types.MediaType
	content     []byte
	annotations map[string]string
}

// noConfig is the configuration of an artifact that has none.
var noConfig = blob{media: "application/vnd.oci.empty.v1+json", content: []byte("{}")}

func (b blob) descriptor() (v1.Descriptor, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(b.content))
	return v1.Descriptor{MediaType: b.media, Digest: digest, Size: size, Annotations: b.annotations}, err
}

// artifact is a manifest of any content. go-containerregistry creates only manifests of images.
type artifact struct {
	config, manifest []byte
	blobs            map[v1.Hash]blob
}

// newArtifact returns the manifest of blobs. head has its other fields.
func newArtifact(head v1.Manifest, config blob, blobs ...blob) (v1.Image, error) {
	head.SchemaVersion, head.MediaType = 2, types.OCIManifestSchema1
	a := artifact{config: config.content, blobs: map[v1.Hash]blob{}}
	var err error
	if head.Config, err = config.descriptor(); err != nil {
		return nil, err
	}
	a.blobs[head.Config.Digest] = config
	for _, b := range blobs {
		descriptor, err := b.descriptor()
		if err != nil {
			return nil, err
		}
		head.Layers = append(head.Layers, descriptor)
		a.blobs[descriptor.Digest] = b
	}
	if a.manifest, err = json.Marshal(head); err != nil {
		return nil, err
	}
	return partial.CompressedToImage(a)
}

func (a artifact) RawConfigFile() ([]byte, error)      { return a.config, nil }
func (a artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (a artifact) RawManifest() ([]byte, error)        { return a.manifest, nil }
func (a artifact) LayerByDigest(digest v1.Hash) (partial.CompressedLayer, error) {
	b, found := a.blobs[digest]
	if !found {
		return nil, fmt.Errorf("no layer %s", digest)
	}
	return static.NewLayer(b.content, b.media), nil
}
