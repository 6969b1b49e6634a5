// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// storageClasses checks the class of a claim. The annotation is older than the field and wins over it.
func (c *checker) storageClasses(s subject) {
	claim, ok := s.object.(*corev1.PersistentVolumeClaim)
	if !ok {
		return
	}
	class := claim.Annotations[corev1.BetaStorageClassAnnotation]
	if class != "" {
		c.allow(c.annotation(s, corev1.BetaStorageClassAnnotation), c.limits.StorageClasses, class, "storage classes")
		return
	}
	if claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName == "" {
		return
	}
	class = *claim.Spec.StorageClassName
	e := &spark.ConfError{Field: spark.Field(s.role + ".volumes"), Value: class, Problem: "the class of the claim of volume " + s.object.GetName()}
	if s.keys != "" {
		e = c.claimOption(s, ".options.storageClass", class)
	}
	c.allow(e, c.limits.StorageClasses, class, "storage classes")
}

// claimOption is the property that gave a claim one of its options.
func (c *checker) claimOption(s subject, option, value string) *spark.ConfError {
	for _, key := range slices.Sorted(maps.Keys(c.app.Conf)) {
		// The keys of an executor's claim end with a dot.
		if strings.HasPrefix(key, s.keys) && strings.HasSuffix("."+strings.TrimPrefix(key, s.keys), option) && (value == "" || c.app.Conf[key] == value) {
			return &spark.ConfError{Key: key, Value: value}
		}
	}
	return &spark.ConfError{Field: spark.Field(s.role + ".volumes"), Value: cmp.Or(value, s.object.GetName())}
}

// volumeClaims counts the claims of an attempt: the driver's, and those of all executors that there may be at a time.
func (c *checker) volumeClaims() {
	most := c.limits.VolumeClaims
	executors := c.built.PodSets.Max
	if most == nil || int64(c.claims.driver)+int64(c.claims.executor)*int64(executors) <= int64(*most) {
		return
	}
	of := fmt.Sprintf("%d executors", executors)
	if executors == math.MaxInt32 {
		of = "an unlimited number of executors"
	}
	e := &spark.ConfError{Field: "driver.volumes"}
	e.Problem = fmt.Sprintf("an attempt makes %d PersistentVolumeClaims for its driver and %d for each of %s", c.claims.driver, c.claims.executor, of)
	c.refuse(e, "at most %d", *most)
}
