// SPDX-License-Identifier: Apache-2.0

package policy

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// subject is one object of an application. The operator creates it, or the driver does according to its configuration.
type subject struct {
	kind schema.GroupKind
	// role is the role of the pod that the subject belongs to, "driver" or "executor". It begins the names of the user's fields.
	role string
	// field is the user's field for the object's own metadata; "" if the object is derived from other fields.
	field spark.Field
	// keys is the prefix of the properties that define the subject; "" for none.
	keys   string
	object metav1.Object
	// pod is set for pods.
	pod *corev1.Pod
	// sizes are the resources of a pod.
	sizes spark.PodResources
}

// Kinds of core objects.
var (
	podKind     = schema.GroupKind{Kind: "Pod"}
	serviceKind = schema.GroupKind{Kind: "Service"}
	claimKind   = schema.GroupKind{Kind: "PersistentVolumeClaim"}
)

const (
	driverRole   = "driver"
	executorRole = "executor"
)

// gather lists the objects that are created before the driver runs, and the objects that the driver creates for its executors.
func (c *checker) gather() {
	if c.built.Driver == nil || c.built.Executor == nil {
		return
	}
	executor, claims := c.read.MadeExecutor(c.built)
	driver := c.built.Driver
	c.subjects = []subject{
		{kind: podKind, role: driverRole, object: driver, pod: driver, sizes: c.built.PodSets.Driver},
		{kind: podKind, role: executorRole, object: executor, pod: executor, sizes: c.built.PodSets.Executor},
	}
	c.claims.driver, c.claims.executor = c.ephemeral(driverRole, driver), c.ephemeral(executorRole, executor)
	for _, object := range c.built.Resources {
		s := subject{kind: kindOf(object), role: driverRole, object: object, field: c.writtenAt(object)}
		if s.kind == claimKind {
			s.keys = spark.ConfDriverVolumesPrefix + "persistentVolumeClaim."
			c.claims.driver.add(object)
		}
		c.subjects = append(c.subjects, s)
	}
	if c.built.TokenSecret != nil {
		c.subjects = append(c.subjects, subject{kind: kindOf(c.built.TokenSecret), role: driverRole, object: c.built.TokenSecret})
	}
	for _, made := range claims {
		c.claims.executor.add(made.Claim)
		c.subjects = append(c.subjects, subject{kind: claimKind, role: executorRole, keys: made.Key, object: made.Claim})
	}
}

// writtenAt returns the user's field for an object with this kind and name; "" if no field names it. If an object of the driver has the same name, both are
// checked.
func (c *checker) writtenAt(object spark.Object) spark.Field {
	for _, a := range c.app.Attached {
		if kindOf(a.Object) == kindOf(object) && a.Object.GetName() == object.GetName() {
			return a.Meta
		}
	}
	for i, m := range c.app.ConfigMaps {
		if kindOf(object).Kind == "ConfigMap" && m.Name == object.GetName() {
			return spark.Field("configMaps").Index(i)
		}
	}
	return ""
}

// ephemeral adds the claims of a pod's ephemeral volumes, and returns their sum.
func (c *checker) ephemeral(role string, pod *corev1.Pod) claimed {
	var all claimed
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		template := v.Ephemeral.VolumeClaimTemplate
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: template.Spec}
		claim.Name = v.Name
		all.add(claim)
		c.subjects = append(c.subjects, subject{kind: claimKind, role: role, object: claim})
	}
	return all
}

func kindOf(object spark.Object) schema.GroupKind {
	return object.GetObjectKind().GroupVersionKind().GroupKind()
}

// pods returns the subjects that are pods.
func (c *checker) pods() []subject {
	return c.subjects[:min(len(c.subjects), 2)]
}
