// SPDX-License-Identifier: Apache-2.0

package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	registry = "registry.example.com:5000/team"
	digest   = "sha256:e4ec5b68a9d440e78786670d80544a50dc37161c76053cb04302c53759b2648a"
	image    = registry + "/spark-operator:v1.2.3-rc.1@" + digest
)

// parts runs a command of hack/release-parts.sh as hack/release.sh does, and returns the folder of what is released.
func parts(t *testing.T, tools, command string) (string, error) {
	t.Helper()
	out := t.TempDir()
	env := []string{"version=v1.2.3-rc.1", "registry=" + registry, "digest=" + digest, "downloads=https://example.com/dl", "out=" + out, "work=" + t.TempDir(), "SOURCE_DATE_EPOCH=1700000000"}
	said, err := run(t, root, env, "bash", "-euo", "pipefail", "-c", ". hack/release-parts.sh; "+tools+"; "+command)
	if said != "" {
		t.Logf("%s: %s", command, said)
	}
	return out, err
}

const (
	withHelm    = "helm=$(hack/tools/build.sh helm)/helm"
	withKubectl = "kubectl=$(hack/tools/build.sh kubernetes)/kubectl"
)

func mustParts(t *testing.T, tools, command string) string {
	t.Helper()
	out, err := parts(t, tools, command)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Who installs a released chart with its default values gets the released image, and two who pack it get the same bytes.
func TestReleasedChart(t *testing.T) {
	folder := mustParts(t, withHelm, "release_notes; release_chart")
	packed := filepath.Join(folder, "spark-operator-1.2.3-rc.1.tgz")
	helm := strings.TrimSpace(must(t, root, nil, "hack/tools/build.sh", "helm")) + "/helm"
	rendered := must(t, root, nil, helm, "template", "x", packed)
	for _, deployment := range []string{"controller", "webhook"} {
		text := must(t, root, nil, helm, "template", "x", packed, "-s", "templates/"+deployment+"/deployment.yaml")
		if !strings.Contains(text, image) || !strings.Contains(text, `app.kubernetes.io/version: "v1.2.3-rc.1"`) {
			t.Errorf("the Deployment of the %s names another image than %s, or another version:\n%s", deployment, image, text)
		}
	}
	if strings.Contains(rendered, "firesteel.local") {
		t.Error("the chart names an image of this machine")
	}
	about := must(t, root, nil, helm, "show", "chart", packed)
	for _, want := range []string{
		"version: 1.2.3-rc.1\n", "artifacthub.io/prerelease: \"true\"\n",
		"image: \"" + image + "\", platforms: [linux/amd64, linux/arm64]}",
		"artifacthub.io/changes: |\n    - {\"kind\":\"added\",\"description\":\"",
	} {
		if !strings.Contains(about, want) {
			t.Errorf("Chart.yaml does not have %q:\n%s", want, about)
		}
	}
	if readme := must(t, root, nil, helm, "show", "readme", packed); !strings.Contains(readme, "`oci://"+registry+"/charts/spark-operator --version 1.2.3-rc.1`") {
		t.Error("the README does not say where this chart is published")
	}
	mirrored := must(t, root, nil, helm, "template", "x", packed, "--set", "image.registry=mirror.example.com")
	if !strings.Contains(mirrored, "mirror.example.com/spark-operator:v1.2.3-rc.1@"+digest) {
		t.Error("a mirror of the image does not keep its digest")
	}
	if again := mustParts(t, withHelm, "release_notes; release_chart"); read(t, filepath.Join(again, filepath.Base(packed))) != read(t, packed) {
		t.Error("the same chart was packed into other bytes")
	}
}

// What kubectl applies has the same image, and no other of the operator.
func TestReleasedManifests(t *testing.T) {
	folder := mustParts(t, withKubectl, "release_manifests")
	text := read(t, filepath.Join(folder, "install.yaml"))
	if !strings.Contains(text, "image: "+image+"\n") || strings.Contains(text, "firesteel.local") {
		t.Errorf("install.yaml does not name %s, or another image, too", image)
	}
	if crds, err := os.Stat(filepath.Join(folder, "crds.yaml")); err != nil || crds.Size() == 0 {
		t.Errorf("no crds.yaml: %v", err)
	}
}

// A chart or a manifest that names another image than the released one is no release.
func TestOtherImageIsRefused(t *testing.T) {
	for _, tc := range []struct{ reason, text, want string }{
		{"none", "image: apache/spark:4.1.4", `names the image ""`},
		{"that of a machine", "        image: firesteel.local/spark-operator:dev", `names the image "firesteel.local/spark-operator:dev"`},
		{"another beside it", "image: " + image + "\n- image: \"other/spark-operator:1\"", "other/spark-operator:1"},
		{"the one", "image: \"" + image + "\"\n- image: " + image, ""},
	} {
		_, err := parts(t, ":", "only_image install.yaml '"+tc.text+"'")
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
		}
	}
}
