// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// CheckCluster returns the errors in the objects of a standalone cluster.
func CheckCluster(built spark.Standalone) []*spark.ConfError {
	found := checkOptions(built.Conf)
	for _, r := range built.Roles {
		role := spark.Field(r.Name)
		found = append(found, checkTemplate(role, role, r.Pod)...)
		for i := range r.Claims {
			found = append(found, checkMetadata((role+".claims").Index(i)+".metadata", "claim", &r.Claims[i].ObjectMeta)...)
		}
		for _, e := range memberErrors(r) {
			if !slices.ContainsFunc(found, repeatedBy(e)) {
				found = append(found, e)
			}
		}
	}
	return found
}

// checkTemplate refuses metadata that users must not set, in a pod template and in its claim templates. All pod templates pass through here. template and role
// are the fields for the errors.
func checkTemplate(template, role spark.Field, pod *corev1.Pod) []*spark.ConfError {
	found := checkMetadata(template+".metadata", "pod", &pod.ObjectMeta)
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		for _, e := range checkMetadata("", "claim", &v.Ephemeral.VolumeClaimTemplate.ObjectMeta) {
			e.Field, e.Problem = role+".volumes", strings.TrimPrefix(string(e.Field), ".")+" of volume "+v.Name+": "+e.Problem
			found = append(found, e)
		}
	}
	return found
}

// checkMetadata refuses finalizers, which keep a deleted object, and owner references, which delete an object together with its owner.
func checkMetadata(at spark.Field, what string, meta *metav1.ObjectMeta) (found []*spark.ConfError) {
	if len(meta.Finalizers) > 0 {
		found = append(found, &spark.ConfError{
			Field: at + ".finalizers", Value: strings.Join(meta.Finalizers, ", "),
			Problem: "neither you nor the operator could delete the " + what + " while it has finalizers; remove them",
		})
	}
	if len(meta.OwnerReferences) > 0 {
		found = append(found, &spark.ConfError{
			Field: at + ".ownerReferences", Value: meta.OwnerReferences[0].Name,
			Problem: "the " + what + " would be deleted when its owner is, or at once if there is none; remove them: it has its own owner",
		})
	}
	return found
}
