// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// fileOf reads a file of the repository.
func fileOf(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// defined are the kinds of the definitions, as Chart.yaml is to name them: with the version that is stored.
func defined(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(root + "/config/crd/bases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		var crd apiextensions.CustomResourceDefinition
		if err := yaml.Unmarshal(fileOf(t, file), &crd); err != nil {
			t.Fatal(err)
		}
		stored := slices.IndexFunc(crd.Spec.Versions, func(v apiextensions.CustomResourceDefinitionVersion) bool { return v.Storage })
		found = append(found, crd.Name+" "+crd.Spec.Names.Kind+" "+crd.Spec.Versions[stored].Name)
	}
	slices.Sort(found)
	return found
}

// What the chart says of itself, to people and to Artifact Hub, is what is in the tree.
func TestChartSaysWhatItIs(t *testing.T) {
	text := fileOf(t, chartPath+"/Chart.yaml")
	var about struct {
		Icon        string
		Annotations map[string]string
	}
	if err := yaml.Unmarshal(text, &about); err != nil {
		t.Fatal(err)
	}
	if logo := fileOf(t, root+"/docs/images/logo.svg"); about.Icon != "data:image/svg+xml;base64,"+base64.StdEncoding.EncodeToString(logo) {
		t.Error("the icon is not docs/images/logo.svg: write the output of base64 -w0")
	}
	var kinds []struct{ Kind, Version, Name, DisplayName, Description string }
	if err := yaml.UnmarshalStrict([]byte(about.Annotations["artifacthub.io/crds"]), &kinds); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, k := range kinds {
		said = append(said, k.Name+" "+k.Kind+" "+k.Version)
		if k.DisplayName == "" || k.Description == "" {
			t.Errorf("%s: neither name nor description may be empty", k.Name)
		}
	}
	slices.Sort(said)
	if diff := cmp.Diff(defined(t), said); diff != "" {
		t.Errorf("artifacthub.io/crds (-want +got):\n%s", diff)
	}
	_, end, _ := strings.Cut(string(text), "\nannotations:\n")
	for line := range strings.Lines(end) {
		if !strings.HasPrefix(line, "  ") {
			t.Errorf("%q: a release appends annotations, which have to be the end of Chart.yaml", line)
		}
	}
}
