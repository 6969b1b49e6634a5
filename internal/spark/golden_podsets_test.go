// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/test/golden"
)

// TestGoldenPodSets compares the shapes with the pods that spark-submit and the driver created.
func TestGoldenPodSets(t *testing.T) {
	corpus := golden.Open(t, "GOLDEN", "testdata/golden.zip")
	pods := 0
	for _, recorded := range corpus.Cases(t) {
		machine := corpus.Machine(t, recorded)
		for _, version := range recorded.Versions {
			driver, ok := recordedPod(t, corpus, recorded.Dir, version, "pod.json")
			if !ok {
				continue
			}
			t.Run(recorded.Dir+"/"+version, func(t *testing.T) {
				app, _, err := application(recorded.Argv, machine, version+".0")
				if err != nil {
					t.Fatal(err) // a recorded pod came from arguments that can be read
				}
				profile, err := ProfileFor(strings.TrimSuffix(version, "-jdk25"))
				if err != nil {
					t.Fatal(err)
				}
				submission, err := Build(app, testIdentity(), profile)
				if refused, ok := errors.AsType[*ConfError](err); ok && refused.Problem == notUploaded {
					return // there is no machine to upload from
				}
				shapes := submission.PodSets
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(resourcesOf(&driver), shapes.Driver, withoutParts); diff != "" {
					t.Errorf("driver (-recorded +computed):\n%s", diff)
				}
				if heap, overhead := DriverMemory(app); !limits(&driver, heap+overhead) || heap <= 0 || overhead < 0 {
					t.Errorf("driver: heap %d and overhead %d, but its containers are %+v", heap, overhead, driver.Containers)
				}
				for _, name := range []string{"pod-exec-1.json", "statefulset.json", "deployment.json"} {
					if executor, ok := recordedPod(t, corpus, recorded.Dir, version, "driver", name); ok {
						pods++
						if diff := cmp.Diff(resourcesOf(&executor), shapes.Executor, withoutParts); diff != "" {
							t.Errorf("executor (-recorded +computed):\n%s", diff)
						}
					}
				}
			})
		}
	}
	t.Logf("%d recorded executors compared", pods)
}

// recordedPod returns the spec of a recorded pod or of a template of pods, if it was recorded and is a valid one.
func recordedPod(t *testing.T, c golden.Corpus, elem ...string) (corev1.PodSpec, bool) {
	t.Helper()
	content, err := c.ReadFile(elem...)
	if err != nil {
		return corev1.PodSpec{}, false
	}
	if strings.HasPrefix(elem[len(elem)-1], "pod") {
		var pod corev1.Pod
		err = json.Unmarshal(content, &pod)
		return pod.Spec, err == nil && pod.Name != ""
	}
	var set appsv1.StatefulSet
	err = json.Unmarshal(content, &set)
	return set.Spec.Template.Spec, err == nil
}

// limits reports whether a container of the pod may use so many bytes of memory and no more.
func limits(pod *corev1.PodSpec, memory int64) bool {
	return slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool { return c.Resources.Limits.Memory().Value() == memory })
}

// withoutParts compares the sums of pods: a recording has its containers in another order.
var withoutParts = cmpopts.IgnoreFields(PodResources{}, "Parts")
