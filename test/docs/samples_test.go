// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const samplesFolder = "config/samples"

// sampleFiles are the samples by their names, without what says how to apply them together.
func sampleFiles(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, samplesFolder, "*.yaml"))
	must(t, err)
	all := map[string]string{}
	for _, file := range files {
		if filepath.Base(file) != "kustomization.yaml" {
			text, err := os.ReadFile(file)
			must(t, err)
			all[filepath.Base(file)] = string(text)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d samples", len(all))
	}
	return all
}

// uncounted is a warning that no application in a queue of Kueue is without: Kueue 0.19 counts no memory overhead.
var uncounted = regexp.MustCompile(`(?m)^config/samples/kueue\.yaml:\d+: warning: .* a pod requests memory .*$`)

// samples applies each sample as it is, with every field known, and asks validate under the configuration that the chart makes of the values among
// them. A sample has three lines of comment: what it shows, what it needs, a command. README.md lists it.
func samples(w *harness) {
	w.Helper()
	w.write("operator.yaml", w.configuration())
	index, err := os.ReadFile(filepath.Join(root, samplesFolder, "README.md"))
	must(w.T, err)
	manifests := "kubectl apply --validate=strict --dry-run=server"
	validate := "kubectl spark validate --config operator.yaml"
	for name, text := range sampleFiles(w.T) {
		lines := strings.SplitN(text, "\n", 5)
		if !strings.HasPrefix(lines[1], "# ") || !strings.HasPrefix(lines[2], "#   ") || strings.HasPrefix(lines[3], "#") {
			w.Errorf("%s has not three lines of comment, the last with a command", name)
		}
		if !strings.Contains(string(index), "]("+name+")") {
			w.Errorf("README.md does not list %s", name)
		}
		if strings.Contains(text, "\nkind: ") {
			manifests += " -f " + filepath.Join(samplesFolder, name)
			validate += " -f " + filepath.Join(samplesFolder, name)
		}
	}
	if said := w.do(manifests); strings.Contains(said, "Warning") {
		w.Errorf("the API server warns: %s", said)
	}
	said := w.do(validate)
	if strings.Contains(uncounted.ReplaceAllString(said, ""), "warning") || strings.Count(said, "errors: 0") != strings.Count(said, "errors: ") {
		w.Errorf("validate says: %s", said)
	}
}

// configuration is the operator's, as the chart makes it of the sample's values, with every scheduler and both families.
func (w *harness) configuration() string {
	w.Helper()
	made := w.do("helm template spark-operator charts/spark-operator -s templates/controller/config.yaml -f config/samples/policies-values.yaml" +
		" --set apache.enable=true,controller.batchScheduler.quota.mode=Enforce --set 'controller.batchScheduler.enabled={kube,volcano,yunikorn,coscheduling}'")
	var config struct{ Data map[string]string }
	must(w.T, yaml.Unmarshal([]byte(made), &config))
	return config.Data["config.yaml"]
}
