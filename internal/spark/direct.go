// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Direct hands an application to Spark's Kubernetes client itself, as an operator on the JVM does. The checks, defaults and properties of
// spark-submit are left out. Objects are named after the application id alone, and the driver pod owns them. They are those of the client's
// newest release, whatever the image has.
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

// oldestDirect is the oldest release that runs so.
const oldestDirect = "4.0"

// directProfile is the client's profile. The recordings of such operators are older than ProxyUserWins.
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

// finishDirect adds the user's own objects of the driver, and the labels that such an operator sets on all objects.
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
	if n := len(b.app.Attached); n > 0 { // the ConfigMap that the driver waits for comes last: then all others exist
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
