// SPDX-License-Identifier: Apache-2.0

package release

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func decode[T any](t *testing.T, path string) T {
	t.Helper()
	var v T
	if err := yaml.Unmarshal([]byte(read(t, path)), &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

func sumOf(t *testing.T, path string) string {
	t.Helper()
	return fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, path))))
}

// krew downloads the archive of its platform and compares its checksum.
func TestReleasedPluginManifest(t *testing.T) {
	folder := mustParts(t, ":", `for platform in "${platforms[@]}"; do echo "$platform" >"$out/$(plugin_archive "$platform")"; done; release_krew`)
	type platform struct {
		Selector         struct{ MatchLabels map[string]string }
		URI, SHA256, Bin string
	}
	manifest := decode[struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, ShortDescription, Description string
			Platforms                              []platform
		}
	}](t, filepath.Join(folder, "spark.yaml"))
	said := []string{manifest.APIVersion, manifest.Kind, manifest.Metadata.Name, manifest.Spec.Version}
	if diff := cmp.Diff([]string{"krew.googlecontainertools.github.com/v1alpha2", "Plugin", "spark", "v1.2.3-rc.1"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if manifest.Spec.Description == "" || manifest.Spec.ShortDescription == "" || len(manifest.Spec.ShortDescription) > 50 {
		t.Error("krew wants a description, and a short one of at most 50 characters")
	}
	var want []platform
	for _, p := range []struct{ os, arch, file, bin string }{
		{"linux", "amd64", "linux_amd64.tar.gz", "kubectl-spark"},
		{"linux", "arm64", "linux_arm64.tar.gz", "kubectl-spark"},
		{"darwin", "amd64", "darwin_amd64.tar.gz", "kubectl-spark"},
		{"darwin", "arm64", "darwin_arm64.tar.gz", "kubectl-spark"},
		{"windows", "amd64", "windows_amd64.zip", "kubectl-spark.exe"},
	} {
		file := "kubectl-spark_v1.2.3-rc.1_" + p.file
		w := platform{URI: "https://example.com/dl/" + file, SHA256: sumOf(t, filepath.Join(folder, file)), Bin: p.bin}
		w.Selector.MatchLabels = map[string]string{"os": p.os, "arch": p.arch}
		want = append(want, w)
	}
	if diff := cmp.Diff(want, manifest.Spec.Platforms); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Helm finds the chart in the index, compares its checksum, and the index has the time of the release.
func TestReleasedIndex(t *testing.T) {
	folder := mustParts(t, withHelm, "release_notes; release_chart; release_index")
	index := decode[struct {
		Generated string
		Entries   map[string][]struct {
			Version, Created, Digest string
			URLs                     []string
		}
	}](t, filepath.Join(folder, "index.yaml"))
	chart := "spark-operator-1.2.3-rc.1.tgz"
	entry := index.Entries["spark-operator"][0]
	got := []string{index.Generated, entry.Created, entry.Version, entry.Digest, strings.Join(entry.URLs, " ")}
	want := []string{"2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z", "1.2.3-rc.1", sumOf(t, filepath.Join(folder, chart)), "https://example.com/dl/" + chart}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The SBOM of the image names its digest, each file on each platform, the program and its modules once.
func TestReleasedImageSBOM(t *testing.T) {
	// what stands for cyclonedx-gomod says of each program the same, but for its platform
	sbom := `sbom() { local out=${*: -2:1} arch=amd64; [[ $out != *arm64* ]] || arch=arm64
		jq -n --arg arch "$arch" '{bomFormat: "CycloneDX", specVersion: "1.5", metadata: {component: {"bom-ref": "program", type: "application"}},
			components: [{"bom-ref": "module", purl: ("pkg:golang/m@v1?type=module&goos=linux&goarch=" + $arch)}], dependencies: [{ref: "program", dependsOn: ["module"]}, {ref: "module"}]}' >"$out"; }; sbom=sbom`
	layers := t.TempDir()
	image := `archive=$work/image.tar; for arch in amd64 arm64; do mkdir -p $work/$arch; echo "$arch" >$work/$arch/spark-operator; tar -C $work/$arch -cf $work/$arch.tar spark-operator; done
		GOWORK=off GOFLAGS= go run -C hack/image ./oci -out $archive -name x:1 -gzip -layer linux/amd64=$work/amd64.tar -layer linux/arm64=$work/arm64.tar
		digest=$(image_digest $archive); echo "$digest" >` + layers + "/digest"
	folder := mustParts(t, sbom, image+"; release_sbom")
	digest := strings.TrimSpace(read(t, filepath.Join(layers, "digest")))
	type component struct {
		Ref    string `json:"bom-ref"`
		Type   string
		PURL   string
		Hashes []struct{ Content string }
	}
	got := decode[struct {
		BOMFormat, SpecVersion string
		Metadata               struct{ Component component }
		Components             []component
		Dependencies           []struct {
			Ref       string
			DependsOn []string
		}
	}](t, filepath.Join(folder, "spark-operator-image-v1.2.3-rc.1.cdx.json"))
	purl := "pkg:oci/spark-operator@" + strings.Replace(digest, ":", "%3A", 1) + "?repository_url=" + registry + "/spark-operator&tag=v1.2.3-rc.1"
	var refs []string
	for _, c := range append([]component{got.Metadata.Component}, got.Components...) {
		hash := ""
		if len(c.Hashes) > 0 {
			hash = c.Hashes[0].Content
		}
		refs = append(refs, strings.Join([]string{c.Ref, c.Type, c.PURL, hash}, " "))
	}
	want := []string{
		purl + " container " + purl + " " + strings.TrimPrefix(digest, "sha256:"),
		fmt.Sprintf("file:linux/amd64/spark-operator file  %x", sha256.Sum256([]byte("amd64\n"))),
		fmt.Sprintf("file:linux/arm64/spark-operator file  %x", sha256.Sum256([]byte("arm64\n"))),
		"module  pkg:golang/m@v1?type=module ",
		"program application  ",
	}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	if len(got.Dependencies) != 3 || !cmp.Equal(got.Dependencies[0].DependsOn, []string{"program", "file:linux/amd64/spark-operator", "file:linux/arm64/spark-operator"}) {
		t.Errorf("dependencies: %+v, want those of the image first", got.Dependencies)
	}
	if _, err := os.Stat(filepath.Join(folder, "spark-operator-v1.2.3-rc.1.cdx.json")); err != nil {
		t.Errorf("no SBOM of the program: %v", err)
	}
}
