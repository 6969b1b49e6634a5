// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Anyone who adds a field of a cluster has to give it a meaning.
func TestEveryFieldOfAClusterActs(t *testing.T) {
	paths := map[string]bool{}
	for _, f := range clusterFields() {
		if paths[f.Path] {
			t.Errorf("%s is there twice", f.Path)
		}
		paths[f.Path] = true
		if len(f.Effects) == 0 {
			t.Errorf("spec.%s: changing it changes nothing", f.Path)
		}
		if slices.ContainsFunc(f.Effects, func(e string) bool { return strings.HasPrefix(e, "inCluster ") }) {
			t.Errorf("spec.%s: %s", f.Path, f.Effects)
		}
	}
	for path := range inCluster {
		if !paths[path] {
			t.Errorf("inCluster has words for %s, which is no field", path)
		}
	}
}

func TestEffectsOfAClusterAreTold(t *testing.T) {
	cases := map[string]struct{ reason, edit, effects string }{
		"suspend":                    {"nothing that is built differs", "live", inCluster["suspend"]},
		"sparkConf":                  {"both daemons read it", "master, workers", inCluster["sparkConf"]},
		"runtimeVersions.jdkVersion": {"it only describes the image", "nothing", inCluster["runtimeVersions.jdkVersion"]},
		"clusterTolerations.instanceConfig.initWorkers": {"pods are added or removed", "live", inCluster["clusterTolerations.instanceConfig.initWorkers"]},
		"clusterTolerations.instanceConfig.maxWorkers":  {"the autoscaler's bound", "live", "HorizontalPodAutoscaler `<cluster>-worker-hpa`"},
		"masterSpec.statefulSetSpec":                    {"its template", "master", "StatefulSet `<cluster>-master`"},
		"masterSpec.statefulSetMetadata":                {"no part of the pods", "live", "StatefulSet `<cluster>-master`"},
		"workerSpec.statefulSetSpec":                    {"its template", "workers", "StatefulSet `<cluster>-worker`"},
		"workerSpec.serviceSpec":                        {"no part of the pods", "live", "Service `<cluster>-worker-svc`"},
		"workerSpec.horizontalPodAutoscalerSpec":        {"the autoscaler", "live", "HorizontalPodAutoscaler `<cluster>-worker-hpa`"},
		"workerSpec.networkPolicy.metricsPort":          {"no part of the pods", "live", "NetworkPolicy `<cluster>-worker`"},
	}
	for path, tc := range cases {
		effects, edit := clusterEffects(path)
		if diff := cmp.Diff([]string{tc.effects, tc.edit}, []string{strings.Join(effects, "; "), edit}); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", path, tc.reason, diff)
		}
	}
}

func TestTableOfClustersNamesAFieldWithoutComment(t *testing.T) {
	if _, err := clusterTable(nil); err == nil || !strings.Contains(err.Error(), "SparkClusterSpec.Suspend") {
		t.Errorf("%v: want the field that has no comment", err)
	}
}
