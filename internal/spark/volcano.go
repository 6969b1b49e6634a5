// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

const (
	volcanoStep        = featurePackage + "VolcanoFeatureStep"
	podGroupAnnotation = "scheduling.k8s.io/group-name"
	podGroupAPIVersion = "scheduling.volcano.sh/v1beta1"
	podGroupKind       = "PodGroup"
	podGroupNameSuffix = "-podgroup"
	podGroupSpec       = "spec"
)

// volcano adds the application's PodGroup if the user names the step: VolcanoFeatureStep. Spark creates the PodGroup before all other objects.
func (b *builder) volcano() {
	group := b.podGroup()
	group.SetAPIVersion(podGroupAPIVersion)
	group.SetKind(podGroupKind)
	group.SetName(b.id.AppID + podGroupNameSuffix)
	group.SetNamespace(b.namespace)
	b.resources = slices.Insert(b.resources, 0, Object(group))
	metav1.SetMetaDataAnnotation(&b.pod.ObjectMeta, podGroupAnnotation, group.GetName())
}

// podGroup returns the user's template. A file overrides a text.
func (b *builder) podGroup() *unstructured.Unstructured {
	group := &unstructured.Unstructured{Object: map[string]any{podGroupSpec: map[string]any{}}}
	key := confPodGroupFile
	text, ok := b.conf.text(key)
	if ok {
		text = string(b.file(key, text))
	} else if b.profile.PodGroupJSON {
		key = ConfPodGroupJSON
		text, ok = b.conf.text(key)
	}
	if !ok || b.conf.err != nil {
		return group
	}
	content, err := parsePodGroup(text)
	if err != nil {
		b.conf.fail(key, "", "the template is not a PodGroup: "+err.Error())
		return group
	}
	group.Object = content
	return group
}

// parsePodGroup parses YAML or JSON. It refuses metadata that cannot be completed.
func parsePodGroup(text string) (map[string]any, error) {
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	if err := json.Unmarshal(converted, &content); err != nil {
		return nil, err
	}
	if metadata, ok := content["metadata"]; ok {
		fields, ok := metadata.(map[string]any)
		if !ok {
			return nil, errors.New("its metadata is not an object")
		}
		if _, ok := fields["finalizers"]; ok {
			return nil, errors.New("neither you nor the operator could delete the group while it has finalizers; remove them from its metadata")
		}
	}
	return content, nil
}
