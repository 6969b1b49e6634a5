// SPDX-License-Identifier: Apache-2.0

package sparksubmit_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// invalid is whether the API server, which the recorder only imitates, would refuse the recorded driver, or the executors
// that the driver would ask for.
func (r *run) invalid(t *testing.T) bool {
	t.Helper()
	content, err := r.corpus.ReadFile(r.recorded.Dir, r.version, "pod.json")
	if err != nil {
		return false
	}
	var driver corev1.Pod
	if err := json.Unmarshal(content, &driver); err != nil {
		return true
	}
	return invalidMetadata(&driver) || invalidSpec(&driver.Spec) || r.invalidExecutors()
}

func invalidMetadata(pod *corev1.Pod) bool {
	for key := range pod.Annotations {
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			return true
		}
	}
	for key, value := range pod.Labels {
		if len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(value)) > 0 {
			return true
		}
	}
	return len(validation.IsDNS1123Subdomain(pod.Name)) > 0
}

func invalidSpec(spec *corev1.PodSpec) bool {
	names := map[string]bool{}
	for i := range spec.Volumes {
		if names["volume "+spec.Volumes[i].Name] {
			return true
		}
		names["volume "+spec.Volumes[i].Name] = true
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if names["container "+c.Name] || invalidContainer(c) {
			return true
		}
		names["container "+c.Name] = true
	}
	return false
}

func invalidContainer(c *corev1.Container) bool {
	for _, port := range c.Ports {
		if len(validation.IsValidPortNum(int(port.ContainerPort))) > 0 {
			return true
		}
	}
	for _, variable := range c.Env {
		if from := variable.ValueFrom; from != nil && from.SecretKeyRef != nil && from.SecretKeyRef.Name == "" {
			return true
		}
	}
	for name, limit := range c.Resources.Limits {
		if request, ok := c.Resources.Requests[name]; ok && limit.Cmp(request) < 0 {
			return true
		}
	}
	return false
}

// invalidExecutors looks at labels: before Spark 4.0 their placeholders stay as they are.
func (r *run) invalidExecutors() bool {
	for key, value := range r.conf {
		if strings.HasPrefix(key, spark.ConfExecutorLabelPrefix) && r.version < "4" && len(validation.IsValidLabelValue(value)) > 0 {
			return true
		}
	}
	return false
}
