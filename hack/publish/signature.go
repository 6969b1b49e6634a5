// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// mediaOf returns the media type of a file of a release.
func mediaOf(file string) types.MediaType {
	switch {
	case strings.HasSuffix(file, ".cdx.json"):
		return "application/vnd.cyclonedx+json"
	case strings.HasSuffix(file, ".json"):
		return "application/vnd.in-toto+json"
	}
	return "text/plain"
}

// signed is content to sign in a registry, with the file of its payload.
type signed struct {
	what, file string
	repo       name.Repository
	digest     v1.Hash
}

func (r *release) signed() ([]signed, error) {
	image, err := r.image.Digest()
	if err != nil {
		return nil, err
	}
	chart, err := r.chart.Digest()
	return []signed{
		{"image", r.path("spark-operator-image-%s.payload.json", r.version), r.imageRepo, image},
		{"chart", r.path("spark-operator-chart-%s.payload.json", r.version), r.chartRepo, chart},
	}, err
}

// payload returns the JSON that cosign signs: the digest of the content, and its repository.
func (s signed) payload() ([]byte, error) {
	type identity struct {
		Reference string `json:"docker-reference"`
	}
	type image struct {
		Digest string `json:"docker-manifest-digest"`
	}
	type critical struct {
		Identity identity `json:"identity"`
		Image    image    `json:"image"`
		Type     string   `json:"type"`
	}
	return json.Marshal(struct {
		Critical critical `json:"critical"`
		Optional any      `json:"optional"`
	}{critical{identity{s.repo.Name()}, image{s.digest.String()}, "cosign container image signature"}, nil})
}

func (r *release) writePayloads() error {
	all, err := r.signed()
	if err != nil {
		return err
	}
	for _, s := range all {
		text, err := s.payload()
		if err != nil {
			return err
		}
		if err := os.WriteFile(s.file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// signatures returns the signatures of image and chart, with the tags that cosign expects. It returns none if the release is not signed.
func (r *release) signatures() ([]thing, error) {
	all, err := r.signed()
	if err != nil {
		return nil, err
	}
	var things []thing
	for _, s := range all {
		signature, err := os.ReadFile(s.file + ".sig")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		signedText, err := os.ReadFile(s.file)
		if err != nil {
			return nil, err
		}
		text, err := s.payload()
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(text, signedText) {
			return nil, fmt.Errorf("%s: what was signed is not the %s %s@%s: make the release again for this registry", s.file, s.what, s.repo, s.digest)
		}
		config, err := json.Marshal(v1.ConfigFile{RootFS: v1.RootFS{Type: "layers"}})
		if err != nil {
			return nil, err
		}
		a, err := newArtifact(v1.Manifest{}, blob{media: types.OCIConfigJSON, content: config}, blob{
			media: "application/vnd.dev.cosign.simplesigning.v1+json", content: text,
			annotations: map[string]string{"dev.cosignproject.cosign/signature": strings.TrimSpace(string(signature))},
		})
		if err != nil {
			return nil, err
		}
		tag := s.repo.Tag(strings.Replace(s.digest.String(), ":", "-", 1) + ".sig")
		things = append(things, thing{"signature of the " + s.what, tag, a})
	}
	return things, nil
}
