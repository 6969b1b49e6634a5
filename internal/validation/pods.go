// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/podrules"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// driverErrors are what the API server refuses of the driver's pod.
func driverErrors(app spark.Application, pod *corev1.Pod, container int) []*spark.ConfError {
	pod = pod.DeepCopy()
	if len(pod.Name) == 0 || checkDriverName(app) != nil {
		pod.Name = placeholderName // checkDriverName has said it
	}
	own, _ := spark.RoleContainer(app, spark.RoleDriver)
	return podErrors(app, spark.RoleDriver, pod, container, own, app.Driver)
}

// executorErrors are what the API server refuses of the pods that the driver makes.
func executorErrors(app spark.Application, s spark.Submission) []*spark.ConfError {
	pod, _ := spark.NewReader(app, s).MadeExecutor(s)
	pod.Name, pod.Spec.RestartPolicy, pod.Spec.Hostname = placeholderName, corev1.RestartPolicyNever, "" // Spark sets them
	if profile, err := spark.ProfileOf(app); err == nil && profile.LabelPlaceholders {
		for _, texts := range []map[string]string{pod.Labels, pod.Annotations} {
			for name, text := range texts {
				texts[name] = placeholders.Replace(text)
			}
		}
	}
	for _, key := range keysUnder(app, executorSecrets) {
		name := strings.TrimPrefix(key, executorSecrets)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: name + "-volume", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}},
		})
	}
	own, _ := spark.RoleContainer(app, spark.RoleExecutor)
	return podErrors(app, spark.RoleExecutor, pod, s.ExecutorContainer, own, app.Executor)
}

const (
	// placeholderName is the name of a pod whose own is judged elsewhere.
	placeholderName = "pod"
	// executorSecrets begins properties that mount Secrets into executors.
	executorSecrets = "spark.kubernetes.executor.secrets."
	// mostPodErrors bounds what is said of one pod. The rest is found once these are mended.
	mostPodErrors = 20
)

// podErrors are what the API server refuses of a role's pod, by the fields and properties that users wrote.
func podErrors(app spark.Application, role string, pod *corev1.Pod, container, own int, wanted spark.Role) []*spark.ConfError {
	pod.Namespace = placeholderName // the object's own exists
	return newSource(pod, container, own, wanted.Parts(spark.Field(role))).errors(app.Conf, role, slices.DeleteFunc(podrules.Errors(pod), judgedBefore))
}

// memberErrors are what the API server refuses of the pods of a role of a standalone cluster, which have volumes of the role's claims.
func memberErrors(r spark.StandaloneRole) []*spark.ConfError {
	pod := r.Pod.DeepCopy()
	pod.Name, pod.Namespace = placeholderName, placeholderName
	for i := range r.Claims {
		name := r.Claims[i].Name
		if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name }) {
			continue // the claim's replaces it
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}},
		})
	}
	daemon := func(c corev1.Container) bool { return c.Name == r.Name }
	own := -1
	if r.Template != nil {
		own = slices.IndexFunc(r.Template.Spec.Containers, daemon)
	}
	parts := []spark.Written{}
	if t := r.Template; t != nil {
		parts = append(parts, spark.Written{Field: spark.Field(r.Name), Value: &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}})
	}
	return newSource(pod, slices.IndexFunc(pod.Spec.Containers, daemon), own, parts).errors(nil, r.Name, podrules.Errors(pod))
}

// errors are the API server's, as far as so many are said at once.
func (s source) errors(conf map[string]string, role string, all field.ErrorList) (found []*spark.ConfError) {
	for _, e := range all[:min(len(all), mostPodErrors)] {
		found = append(found, s.error(conf, role, e))
	}
	return found
}

// judgedBefore is whether podCheck says it, in words that know what Spark and the operator add.
func judgedBefore(e *field.Error) bool {
	mount := strings.Contains(e.Field, ".volumeMounts[")
	return mount && e.Type == field.ErrorTypeNotFound || mount && e.Detail == "must be unique" ||
		strings.HasSuffix(e.Field, ".resources.requests") && strings.HasPrefix(e.Detail, "must be less than or equal to") ||
		strings.HasSuffix(e.Field, ".image") && strings.HasPrefix(e.Field, "spec.")
}

// error is the API server's error by the user's field.
func (s source) error(conf map[string]string, role string, e *field.Error) *spark.ConfError {
	path := s.entry(segments(e.Field), e.BadValue)
	found := &spark.ConfError{Value: shown(e.BadValue), Problem: kubernetesWords(e)}
	if at, written := s.field(path); written {
		found.Field = at
		return found
	}
	if found.Key = s.key(conf, role, path); found.Key != "" {
		return found
	}
	found.Field, found.Problem = spark.Field(role), "in the pod, "+e.Field+": "+found.Problem
	return found
}

// entry completes the path of an error that names a list or a map alone, by the value that it is about.
func (s source) entry(path []segment, value any) []segment {
	for i := 1; i < len(path); i++ {
		list := reach(s.pod, path[:i])
		if list.Kind() != reflect.Slice || path[i].bracket {
			continue
		}
		for n := range list.Len() {
			if v := reach(list.Index(n), path[i:]); v.IsValid() && v.Interface() == value {
				return slices.Insert(path, i, segment{name: strconv.Itoa(n), bracket: true})
			}
		}
	}
	entries := reach(s.pod, path)
	if entries.Kind() != reflect.Map || entries.Type().Elem().Kind() != reflect.String {
		return path
	}
	for key, v := range entries.Seq2() {
		if key.Interface() == value || v.Interface() == value {
			return append(path, segment{name: key.String(), bracket: true})
		}
	}
	return path
}

// shown is a value that may be shown; "" for a whole object.
func shown(value any) string {
	switch v := value.(type) {
	case nil, field.OmitValueType, map[string]string:
		return ""
	case fmt.Stringer:
		return v.String()
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		value = v.Elem().Interface()
	}
	text := fmt.Sprint(value)
	if strings.ContainsAny(text, "{[&") {
		return ""
	}
	return text
}

var wordsOf = map[field.ErrorType]string{
	field.ErrorTypeRequired: "missing, and Kubernetes requires it", field.ErrorTypeForbidden: "Kubernetes does not allow it",
	field.ErrorTypeDuplicate:    "there twice, and Kubernetes takes it once; change one of them",
	field.ErrorTypeNotSupported: "not a value that Kubernetes takes",
	field.ErrorTypeTooLong:      "more than Kubernetes takes", field.ErrorTypeTooMany: "more than Kubernetes takes",
}

// kubernetesWords says what Kubernetes objects to, and what to do.
func kubernetesWords(e *field.Error) string {
	detail, _, cut := strings.Cut(strings.TrimSpace(e.Detail), ", regex used for validation")
	if cut && strings.Contains(detail, "(e.g.") {
		detail += ")"
	}
	words, known := wordsOf[e.Type]
	if !known {
		words = "Kubernetes refuses it"
	}
	if detail == "" {
		return words
	}
	return words + ": " + detail
}
