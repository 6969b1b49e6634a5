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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// storageClasses checks the storage class of a claim. The annotation is older than the field and overrides it.
func (c *checker) storageClasses(s subject) {
	claim, ok := s.object.(*corev1.PersistentVolumeClaim)
	if !ok {
		return
	}
	class := claim.Annotations[corev1.BetaStorageClassAnnotation]
	if class != "" {
		c.allow(c.written(s, annotations, corev1.BetaStorageClassAnnotation), c.limits.StorageClasses, class, "storage classes")
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

// claimOption returns the property that sets one option of a claim.
func (c *checker) claimOption(s subject, option, value string) *spark.ConfError {
	for _, key := range slices.Sorted(maps.Keys(c.app.Conf)) {
		// The keys of an executor's claim end with a dot.
		if strings.HasPrefix(key, s.keys) && strings.HasSuffix("."+strings.TrimPrefix(key, s.keys), option) && (value == "" || c.app.Conf[key] == value) {
			return &spark.ConfError{Key: key, Value: value}
		}
	}
	return &spark.ConfError{Field: spark.Field(s.role + ".volumes"), Value: cmp.Or(value, s.object.GetName())}
}

// claimed is a number of PersistentVolumeClaims and the sum of their requests.
type claimed struct {
	number  int64
	storage resource.Quantity
}

func (c *claimed) add(object metav1.Object) {
	c.number++
	if claim, ok := object.(*corev1.PersistentVolumeClaim); ok {
		c.storage.Add(claim.Spec.Resources.Requests[corev1.ResourceStorage])
	}
}

// with returns the sum with n pods of another role, each of which has the claims more.
func (c claimed) with(more claimed, n int32) claimed {
	sum, times := c.storage.DeepCopy(), more.storage.DeepCopy()
	times.Mul(int64(n))
	sum.Add(times)
	return claimed{c.number + more.number*int64(n), sum}
}

// storage checks the total storage that claims request.
func (c *checker) storage(field spark.Field, of string, all claimed) {
	most, limited := c.limits.VolumeClaimStorage.quantity()
	if limited && all.storage.Cmp(most) > 0 {
		e := &spark.ConfError{Field: field, Problem: fmt.Sprintf("the PersistentVolumeClaims of %s request %s of storage in total", of, all.storage.String())}
		c.refuse(e, "at most %s", c.limits.VolumeClaimStorage)
	}
}

// volumeClaims counts the claims of an attempt: the claims of the driver and of the maximum of executors.
func (c *checker) volumeClaims() {
	most := c.limits.VolumeClaims
	executors := c.built.PodSets.Max
	all := c.claims.driver.with(c.claims.executor, executors)
	if most == nil || all.number <= int64(*most) {
		c.storage("driver.volumes", "an attempt", all)
		return
	}
	of := fmt.Sprintf("%d executors", executors)
	if executors == math.MaxInt32 {
		of = "an unlimited number of executors"
	}
	e := &spark.ConfError{Field: "driver.volumes"}
	e.Problem = fmt.Sprintf("an attempt makes %d PersistentVolumeClaims for its driver and %d for each of %s",
		c.claims.driver.number, c.claims.executor.number, of)
	c.refuse(e, "at most %d", *most)
}
