// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Direct makes an application one that is handed to Spark's Kubernetes client itself, as an operator on the JVM does it. Nothing of
// spark-submit is between: none of its checks, defaults and properties. Objects are named after the application id alone, and belong to the
// driver pod. They are those of the client's newest release, whatever the image has.
type Direct struct {
	// Language is how Spark runs the main file, whatever its suffix.
	Language Language
}

// Attached is an object that a user attaches to the driver.
type Attached struct {
	Object Object
	// Meta and Spec are the fields with its metadata and its spec.
	Meta, Spec Field
}

// oldestDirect is the oldest release that is run so.
const oldestDirect = "4.0"

// directProfile is that of the client. What a release newer than the recordings changed of the driver's user is not recorded.
var directProfile = func() Profile {
	p := profiles["4.3"]
	p.ProxyUserWins = false
	return p
}()

// defaultDirectName is the value of spark-app-name without spark.app.name.
const defaultDirectName = "spark"

// checkUploads refuses what the client would upload from its own disk.
func checkUploads(app *Application, values map[string]string, _ Profile) error {
	if found := uriErrors(app, values); len(found) > 0 {
		return found[0]
	}
	return nil
}

// finishDirect adds the user's own objects of the driver, and what such an operator sets on everything.
func (b *builder) finishDirect() {
	b.forbidEscalation(b.pod.Spec.InitContainers)
	b.forbidEscalation(b.pod.Spec.Containers)
	for _, attached := range b.app.Attached {
		object := attached.Object.DeepCopyObject().(Object)
		if object.GetNamespace() == "" {
			object.SetNamespace(b.namespace)
		}
		if service, ok := object.(*corev1.Service); ok && len(service.Spec.Selector) == 0 {
			service.Spec.Selector = maps.Clone(b.pod.Labels)
		}
		b.addResource(object)
	}
	if n := len(b.app.Attached); n > 0 { // what the driver waits for comes last: then it starts with all that it needs
		last := len(b.resources) - 1 - n
		driverMap := b.resources[last]
		b.resources = append(slices.Delete(b.resources, last, last+1), driverMap)
	}
	for _, object := range b.resources {
		labels := maps.Clone(object.GetLabels())
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, b.pod.Labels)
		object.SetLabels(labels)
	}
}

// forbidEscalation forbids containers that do not say otherwise to gain privileges.
func (b *builder) forbidEscalation(containers []corev1.Container) {
	for i := range containers {
		c := &containers[i]
		if c.SecurityContext == nil {
			c.SecurityContext = &corev1.SecurityContext{}
		}
		if c.SecurityContext.AllowPrivilegeEscalation == nil {
			c.SecurityContext.AllowPrivilegeEscalation = new(false)
		}
	}
}
