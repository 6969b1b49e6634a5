// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Direct passes an application directly to Spark's Kubernetes client, as an operator on the JVM does. The checks, defaults and properties of spark-submit are
// omitted. The names of objects begin with the application ID, and the driver pod owns the objects. The objects are those of the client's newest release,
// whatever release the image has.
type Direct struct {
	// Language determines how Spark runs the main file, whatever its suffix.
	Language Language
}

// Attached is an object that a user attaches to the driver.
type Attached struct {
	Object Object
	// Meta and Spec are the fields with the object's metadata and its spec.
	Meta, Spec Field
}

// oldestDirect is the oldest release that runs in this way.
const oldestDirect = "4.0"

// directProfile is the client's profile. ProxyUserWins is false, as in the recordings of such operators.
var directProfile = func() Profile {
	p := profiles["4.3"]
	p.ProxyUserWins = false
	return p
}()

// defaultDirectName is the value of the label spark-app-name if spark.app.name is unset.
const defaultDirectName = "spark"

// checkUploads refuses files that the client would upload from its own disk.
func checkUploads(app *Application, values map[string]string, _ Profile) error {
	if found := uriErrors(app, values); len(found) > 0 {
		return found[0]
	}
	return nil
}

// finishDirect adds the user's own objects for the driver, and the labels that such an operator sets on all objects.
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
	if n := len(b.app.Attached); n > 0 { // the ConfigMap that the driver waits for is last, so that all others exist then
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

// forbidEscalation forbids privilege escalation in containers that do not set it.
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
