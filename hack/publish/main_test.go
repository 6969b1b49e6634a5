// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const version = "v1.2.3"

// server is a registry in memory on this machine. It counts what is written to it.
func server(t *testing.T, options ...registry.Option) (host string, writes *atomic.Int32) {
	t.Helper()
	writes = &atomic.Int32{}
	handler := registry.New(append(options, registry.Logger(log.New(io.Discard, "", 0)))...)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			writes.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), writes
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// output is what a command prints.
func output(t *testing.T, command string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", command, args, err, out)
	}
	return string(out)
}

func helm(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../tools/build.sh", "helm").Output()
	must(t, err)
	return filepath.Join(strings.TrimSpace(string(out)), "helm")
}

// released is a folder as hack/release.sh makes it, with an image of random content for two platforms.
func released(t *testing.T) (folder string, image v1.ImageIndex) {
	t.Helper()
	folder = t.TempDir()
	image = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range []string{"amd64", "arm64"} {
		one, err := random.Image(100, 1)
		must(t, err)
		image = mutate.AppendManifests(image, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}}})
	}
	files := t.TempDir()
	_, err := layout.Write(files, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image}))
	must(t, err)
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	must(t, errors.Join(w.AddFS(os.DirFS(files)), w.Close()))
	write(t, folder, "spark-operator-"+version+".oci.tar", archive.String())
	write(t, folder, "spark-operator-image-"+version+".cdx.json", `{"bomFormat":"CycloneDX"}`)
	write(t, folder, "SHA256SUMS", "sums")
	write(t, folder, "SHA256SUMS.sig", "signature of sums")
	write(t, folder, "provenance.json", "{}")
	output(t, helm(t), "package", "../../charts/spark-operator", "--version", version[1:], "--destination", folder)
	return folder, image
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	must(t, err)
	return string(text)
}

func publish(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, &out)
	return out.String(), err
}

func digest(t *testing.T, m interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	d, err := m.Digest()
	must(t, err)
	return d.String()
}

// What is pushed can be pulled: the image by digest and platform, the chart by Helm, and from the image its SBOM and what the release says of itself.
// Who publishes again pushes nothing.
func TestPublish(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		referrers bool
	}{
		"Referrers": {"a registry that lists what refers to an image", true},
		"Tags":      {"an older one, in which a tag lists it", false},
	} {
		t.Run(name, func(t *testing.T) {
			host, writes := server(t, registry.WithReferrersSupport(tc.referrers))
			folder, image := released(t)
			_, err := publish(t, "-payloads", folder, version, host+"/team")
			must(t, err)
			if writes.Load() != 0 {
				t.Fatal("-payloads wrote to the registry")
			}
			write(t, folder, "spark-operator-image-"+version+".payload.json.sig", "c2lnbmVk\n")
			said, err := publish(t, folder, version, host+"/team")
			must(t, err)
			for _, want := range []string{
				"image: pushed " + host + "/team/spark-operator:v1.2.3 with the digest " + digest(t, image),
				"chart: pushed", "SBOM: pushed", "signature of the image: pushed",
			} {
				if !strings.Contains(said, want) {
					t.Errorf("%s: it does not say %q:\n%s", tc.reason, want, said)
				}
			}
			pullImage(t, host, image)
			pullReferrers(t, host, digest(t, image))
			pullSignature(t, host, folder, digest(t, image))
			pulled := t.TempDir()
			output(t, helm(t), "pull", "oci://"+host+"/team/charts/spark-operator", "--version", version[1:], "--plain-http", "--destination", pulled)
			if chart := "spark-operator-1.2.3.tgz"; read(t, pulled, chart) != read(t, folder, chart) {
				t.Error("helm pulled another chart than was published")
			}
			before := writes.Load()
			said, err = publish(t, folder, version, host+"/team")
			if err != nil || strings.Contains(said, "pushed") || writes.Load() != before {
				t.Errorf("published again it wrote %d times: %v: %s", writes.Load()-before, err, said)
			}
		})
	}
}

func reference(t *testing.T, text string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(text)
	must(t, err)
	return ref
}

func pullImage(t *testing.T, host string, image v1.ImageIndex) {
	t.Helper()
	manifest, err := image.IndexManifest()
	must(t, err)
	for _, by := range []string{"@" + digest(t, image), ":" + version} {
		for _, m := range manifest.Manifests {
			got, err := remote.Image(reference(t, host+"/team/spark-operator"+by), remote.WithPlatform(*m.Platform))
			must(t, err)
			layers, err := got.Layers()
			must(t, err)
			if digest(t, got) != m.Digest.String() || len(layers) != 1 {
				t.Errorf("%s for %s: %s with %d layers, want %s", by, m.Platform, digest(t, got), len(layers), m.Digest)
			}
			_, err = layers[0].Uncompressed()
			must(t, err)
		}
	}
}

// pullReferrers goes from the image to its SBOM and the checksums.
func pullReferrers(t *testing.T, host, image string) {
	t.Helper()
	subject, err := name.NewDigest(host + "/team/spark-operator@" + image)
	must(t, err)
	index, err := remote.Referrers(subject)
	must(t, err)
	manifest, err := index.IndexManifest()
	must(t, err)
	got := map[string]string{}
	for _, m := range manifest.Manifests {
		a, err := remote.Image(subject.Context().Digest(m.Digest.String()))
		must(t, err)
		described, err := a.Manifest()
		must(t, err)
		for _, l := range described.Layers {
			layer, err := a.LayerByDigest(l.Digest)
			must(t, err)
			content, err := layer.Compressed()
			must(t, err)
			text, err := io.ReadAll(content)
			must(t, errors.Join(err, content.Close()))
			// this registry lists the media type of the configuration as that of the artifact
			got[described.ArtifactType+" "+l.Annotations["org.opencontainers.image.title"]] = string(text)
		}
	}
	want := map[string]string{
		"application/vnd.cyclonedx+json spark-operator-image-v1.2.3.cdx.json": `{"bomFormat":"CycloneDX"}`,
		"application/vnd.firesteel.release.v1 SHA256SUMS":                     "sums",
		"application/vnd.firesteel.release.v1 SHA256SUMS.sig":                 "signature of sums",
		"application/vnd.firesteel.release.v1 provenance.json":                "{}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what refers to the image (-want +got):\n%s", diff)
	}
}

// pullSignature finds what was signed of the image where cosign looks for it.
func pullSignature(t *testing.T, host, folder, image string) {
	t.Helper()
	a, err := remote.Image(reference(t, host+"/team/spark-operator:"+strings.Replace(image, ":", "-", 1)+".sig"))
	must(t, err)
	manifest, err := a.Manifest()
	must(t, err)
	layers, err := a.Layers()
	must(t, err)
	content, err := layers[0].Compressed()
	must(t, err)
	text, err := io.ReadAll(content)
	must(t, err)
	if string(text) != read(t, folder, "spark-operator-image-"+version+".payload.json") ||
		manifest.Layers[0].Annotations["dev.cosignproject.cosign/signature"] != "c2lnbmVk" {
		t.Errorf("%s with %v, want what was signed, and its signature", text, manifest.Layers[0].Annotations)
	}
}

// A tag that is taken stays as it is, and so does everything else, unless it is overwritten on purpose.
func TestPublishOverwritesNothing(t *testing.T) {
	host, writes := server(t)
	folder, image := released(t)
	taken := reference(t, host+"/team/charts/spark-operator:1.2.3")
	other, err := random.Image(10, 1)
	must(t, err)
	must(t, remote.Write(taken, other))
	before := writes.Load()
	_, err = publish(t, folder, version, host+"/team")
	if err == nil || !strings.Contains(err.Error(), taken.String()+" has the digest "+digest(t, other)) || writes.Load() != before {
		t.Errorf("it wrote %d times, and says: %v", writes.Load()-before, err)
	}
	_, err = publish(t, "-force", folder, version, host+"/team")
	must(t, err)
	pullImage(t, host, image)
}

func TestPublishRefuses(t *testing.T) {
	host, writes := server(t)
	folder, _ := released(t)
	_, err := publish(t, "-payloads", folder, version, host+"/other")
	must(t, err)
	for _, tc := range []struct {
		reason string
		args   []string
		sign   bool
		want   string
	}{
		{reason: "no arguments", want: "usage"},
		{reason: "no such version", args: []string{folder, "v9.9.9", host}, want: "spark-operator-v9.9.9.oci.tar"},
		{reason: "no registry", args: []string{folder, version, "https://x"}, want: "https"},
		{reason: "signed for another registry", args: []string{folder, version, host + "/team"}, sign: true, want: "make the release again for this registry"},
	} {
		if tc.sign {
			write(t, folder, "spark-operator-chart-"+version+".payload.json.sig", "x")
		}
		if _, err := publish(t, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) || writes.Load() != 0 {
			t.Errorf("%s: %v, want %q; %d writes", tc.reason, err, tc.want, writes.Load())
		}
	}
}
