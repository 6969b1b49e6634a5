// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

var errNoSpec = errors.New("the template is not a pod: it has no spec")

const templateKeyInMap = "podspec-configmap-key"

// executorTemplate ships the pod template of the executors to the driver: PodTemplateConfigMapStep.
func (b *builder) executorTemplate() {
	text, container, ok := b.executorTemplateText()
	if !ok {
		b.template = b.templateMap(b.emptyTemplate())
		return
	}
	b.template = b.templateMap(text)
	b.mount("pod-template-volume", templateDirInPod,
		mapSource(b.template.Name, corev1.KeyToPath{Key: templateKeyInMap, Path: templateFileInPod}))
	b.addResource(b.template)
	b.useTemplate(templateDirInPod+"/"+templateFileInPod, container)
}

// templateMap returns the ConfigMap of a template. Except in direct mode it is mutable, because a driver reads it for each executor.
func (b *builder) templateMap(text string) *corev1.ConfigMap {
	m := b.configMap(b.prefix+"-driver-podspec-conf-map", map[string]string{templateKeyInMap: text})
	if !b.mode.direct {
		m.Immutable = nil
	}
	return m
}

// emptyTemplate returns a template that only names Spark's container. A running driver gets it if an edit removed the template.
func (b *builder) emptyTemplate() string {
	name, _ := b.conf.text(ConfExecTemplateContainer)
	return "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: " + strconv.Quote(cmp.Or(name, ExecutorContainerName)) + "\n"
}

// templateStep is the class of the step that ships the template.
const templateStep = featurePackage + "PodTemplateConfigMapStep"

// checkExecutorTemplate refuses to exclude the step that ships the template, because executors would then differ from the request and from the checked pods.
func (b *builder) checkExecutorTemplate() {
	role := &b.app.Executor
	asked := role.Template != nil || role.TemplateText != "" || !role.Overlay.isZero()
	if asked && slices.Contains(b.excluded(), templateStep) {
		b.conf.fail(confExcludedSteps, templateStep, "without this step the driver gets no template for its executors; "+
			"remove it from the list, or request executors by Spark's own properties alone")
	}
}

// useTemplate makes the driver read the executors' template from a path in its pod.
func (b *builder) useTemplate(path, container string) {
	b.properties[ConfExecTemplateFile] = path
	if container != "" && !b.mode.direct { // otherwise Spark takes the first container, or the user's choice
		b.properties[ConfExecTemplateContainer] = container
	}
}

// executorTemplateText returns the template's text. container is the name of Spark's container if the operator wrote the text. The user's text stays unchanged
// unless there is an overlay.
func (b *builder) executorTemplateText() (text, container string, ok bool) {
	role := &b.app.Executor
	plain := role.Overlay.isZero()
	if plain && role.TemplateText != "" {
		return role.TemplateText, "", true
	}
	path, named := b.conf.text(ConfExecTemplateFile)
	fromFile := named && role.Template == nil && role.TemplateText == ""
	switch {
	case fromFile && b.mode.inPod && !plain:
		b.conf.fail(ConfExecTemplateFile, path, "the operator cannot read a file of the driver's pod, but must add to this template; "+
			"write the template into the application")
		return "", "", false
	case fromFile && !b.mode.inPod && plain:
		return string(b.file(ConfExecTemplateFile, path)), "", true
	case plain && role.Template == nil:
		return "", "", false
	}
	template, i := b.executorPod()
	if b.conf.err != nil {
		return "", "", false
	}
	written, err := yaml.Marshal(struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   metav1.ObjectMeta `json:"metadata"`
		Spec       corev1.PodSpec    `json:"spec"`
	}{"v1", "Pod", template.ObjectMeta, template.Spec})
	if err != nil {
		b.conf.fail(ConfExecTemplateFile, "", "the executors' template cannot be written: "+err.Error())
	}
	return string(written), template.Spec.Containers[i].Name, true
}

// executorPod returns the pod template of the executors with the overlay, and the index of Spark's container.
func (b *builder) executorPod() (*corev1.Pod, int) {
	pod := &corev1.Pod{}
	template := b.app.Executor.Template
	if text := b.app.Executor.TemplateText; template == nil || text != "" {
		template = b.templateFile(ConfExecTemplateFile, text)
	}
	if template != nil {
		template = template.DeepCopy()
		pod.ObjectMeta, pod.Spec = template.ObjectMeta, template.Spec
	}
	name, _ := b.conf.text(ConfExecTemplateContainer)
	i := sparkContainer(pod.Spec.Containers, name)
	if i < 0 {
		i = 0
		pod.Spec.Containers = []corev1.Container{{Name: name}}
	}
	if pod.Spec.Containers[i].Name == "" {
		pod.Spec.Containers[i].Name = ExecutorContainerName
	}
	applyOverlay(pod, i, &b.app.Executor.Overlay)
	return pod, i
}

// isZero reports whether the overlay changes nothing.
func (o *PodOverlay) isZero() bool {
	return reflect.ValueOf(o).Elem().IsZero()
}
