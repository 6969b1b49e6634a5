// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// startPod creates the pod that the steps change: the user's template, or an empty pod. The Spark container is kept separately until the end.
func (b *builder) startPod() {
	b.pod = &corev1.Pod{}
	template := b.app.Driver.Template
	if template == nil {
		template = b.templateFile(ConfDriverTemplateFile, b.app.Driver.TemplateText)
	}
	if template != nil {
		template = template.DeepCopy()
		b.pod.ObjectMeta, b.pod.Spec = template.ObjectMeta, template.Spec
	}
	b.pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	if b.profile.TemplateNamespaceMustMatch && b.pod.Namespace != "" && b.pod.Namespace != b.namespace {
		b.conf.fail(ConfNamespace, b.namespace, "the driver's template is for the namespace "+b.pod.Namespace)
	}
	b.pod.Namespace = b.namespace
	name, _ := b.conf.text(ConfDriverTemplateContainer)
	if i := sparkContainer(b.pod.Spec.Containers, name); i >= 0 {
		b.container = b.pod.Spec.Containers[i]
		b.pod.Spec.Containers = append(b.pod.Spec.Containers[:i], b.pod.Spec.Containers[i+1:]...)
	}
}

// RoleContainer returns the container of a role's template that becomes Spark's, with its index; nil without one. It does not read a template in a file.
func RoleContainer(app Application, role string) (int, *corev1.Container) {
	of, key := app.Driver, ConfDriverTemplateContainer
	if role == RoleExecutor {
		of, key = app.Executor, ConfExecTemplateContainer
	}
	template := of.Template
	if template == nil && of.TemplateText != "" {
		template, _ = ParseTemplate(of.TemplateText) // Build refuses a template that cannot be read
	}
	if template == nil {
		return -1, nil
	}
	i := sparkContainer(template.Spec.Containers, app.Conf[key])
	if i < 0 {
		return -1, nil
	}
	return i, &template.Spec.Containers[i]
}

// sparkContainer returns the index of the template's container that becomes Spark's: the container with the given name if there is exactly one, otherwise the
// first; -1 without containers.
func sparkContainer(containers []corev1.Container, name string) int {
	if len(containers) == 0 {
		return -1
	}
	chosen := 0
	matches := 0
	for i := range containers {
		if name != "" && containers[i].Name == name {
			chosen = i
			matches++
		}
	}
	if matches != 1 {
		return 0
	}
	return chosen
}

// templateFile returns the pod template in text, or in the file that the property key names. It is nil if neither is given, or if the file is in the driver's
// pod.
func (b *builder) templateFile(key, text string) *corev1.PodTemplateSpec {
	path, ok := b.conf.text(key)
	if text == "" {
		if !ok || b.mode.inPod {
			return nil
		}
		text = string(b.file(key, path))
		if b.conf.err != nil {
			return nil
		}
	}
	template, err := ParseTemplate(text)
	if err != nil {
		b.conf.fail(key, path, err.Error())
	}
	return template
}

// ParseTemplate reads a pod template from YAML or JSON. Unknown fields are dropped, as the API server would do.
func ParseTemplate(text string) (*corev1.PodTemplateSpec, error) {
	var pod struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     *corev1.PodSpec   `json:"spec"`
	}
	modern, err := quoteOldBooleans(text)
	if err == nil {
		err = yaml.Unmarshal(modern, &pod)
	}
	if err != nil {
		return nil, fmt.Errorf("the template is not a pod: %w", err)
	}
	if pod.Spec == nil {
		return nil, errNoSpec
	}
	return &corev1.PodTemplateSpec{ObjectMeta: pod.Metadata, Spec: *pod.Spec}, nil
}

// quoteOldBooleans quotes every plain string. For Spark's YAML parser y, no, on and the like are strings. The parser that Kubernetes uses in Go follows YAML
// 1.1, and would read booleans.
func quoteOldBooleans(text string) ([]byte, error) {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	quoteTexts(&document)
	return yamlv3.Marshal(&document)
}

func quoteTexts(node *yamlv3.Node) {
	if node.Kind == yamlv3.ScalarNode && node.Style == 0 && node.Tag == "!!str" {
		node.Style = yamlv3.DoubleQuotedStyle
	}
	for _, child := range node.Content {
		quoteTexts(child)
	}
}
