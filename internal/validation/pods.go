// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/podrules"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// driverErrors returns the API server's errors about the driver's pod.
func driverErrors(app spark.Application, pod *corev1.Pod, container int) []*spark.ConfError {
	pod = pod.DeepCopy()
	if len(pod.Name) == 0 || checkDriverName(app) != nil {
		pod.Name = placeholderName // checkDriverName reports it
	}
	return podErrors(app, spark.RoleDriver, pod, container)
}

// executorErrors returns the API server's errors about the pods that the driver will create.
func executorErrors(app spark.Application, s spark.Submission) []*spark.ConfError {
	pod := spark.NewReader(app, s).ExecutorPod(s)
	pod.Name = placeholderName // Spark chooses the name
	if s.ExecutorContainer < len(pod.Spec.Containers) && pod.Spec.Containers[s.ExecutorContainer].Image == "" {
		pod.Spec.Containers[s.ExecutorContainer].Image = placeholderName // checkServerImages reports it
	}
	return podErrors(app, spark.RoleExecutor, pod, s.ExecutorContainer)
}

const (
	// placeholderName replaces names and images that other checks cover.
	placeholderName = "pod"
	// mostPodErrors bounds the errors about one pod. The others appear once these are fixed.
	mostPodErrors = 20
)

// podErrors returns the API server's errors about a role's pod, with the fields and properties that users wrote.
func podErrors(app spark.Application, role string, pod *corev1.Pod, container int) []*spark.ConfError {
	pod.Namespace = placeholderName // the application's namespace exists
	return sourceOf(app, role, pod, container).errors(app, role, slices.DeleteFunc(podrules.Errors(pod), judgedBefore))
}

// memberErrors returns the API server's errors about the StatefulSet of a standalone cluster's role, and about its pods.
func memberErrors(r spark.StandaloneRole) []*spark.ConfError {
	set, is := r.Set.(*appsv1.StatefulSet)
	if !is {
		return nil
	}
	set = set.DeepCopy()
	set.Name, set.Namespace = placeholderName, placeholderName // other checks cover the names of the cluster
	return newSource(set, -1, -1, r.Written).errors(spark.Application{}, r.Name, podrules.SetErrors(set))
}

// errors converts the API server's errors to errors about the user's fields, at most mostPodErrors.
func (s source) errors(app spark.Application, role string, all field.ErrorList) (found []*spark.ConfError) {
	for _, e := range all {
		if len(found) == mostPodErrors {
			break
		}
		if e.Type == field.ErrorTypeNotFound && s.hasVolume(shown(e.BadValue)) {
			continue // another error is about the volume itself
		}
		found = append(found, s.error(app, role, e))
	}
	return found
}

func (s source) hasVolume(name string) bool {
	pod, is := s.made.Interface().(*corev1.Pod)
	return is && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
}

// judgedBefore reports whether podCheck finds this error, too. Its messages consider what Spark and the operator add.
func judgedBefore(e *field.Error) bool {
	return strings.Contains(e.Field, ".volumeMounts[") && e.Detail == "must be unique" ||
		strings.HasSuffix(e.Field, ".resources.requests") && strings.HasPrefix(e.Detail, "must be less than or equal to")
}

// error converts an error of the API server to an error about the user's field.
func (s source) error(app spark.Application, role string, e *field.Error) *spark.ConfError {
	path := s.entry(segments(e.Field), e.BadValue)
	found := &spark.ConfError{Value: shown(e.BadValue), Problem: kubernetesWords(e)}
	at, written := s.field(path)
	switch {
	case e.Type == field.ErrorTypeRequired && path[len(path)-1].name == "image":
		found.Type = e.Type // the image may come later, or from elsewhere
	case e.Type == field.ErrorTypeNotFound && strings.Contains(e.Field, ".volumeMounts["):
		found.Type, found.Problem = e.Type, "no volume of the pod has this name; add it to the volumes of the template"
		if strings.HasPrefix(string(at), role+".") && !strings.HasPrefix(string(at), role+".template") {
			found.Problem = "no volume of the pod has this name; a role gets those of " + app.Fields.Path(spark.Field(role)+".volumes") + " that its volumeMounts name"
		}
	}
	if found.Field = at; written {
		return found
	}
	if found.Key = s.key(app.Conf, role, path); found.Key != "" {
		return found
	}
	found.Field, found.Problem = spark.Field(role), "in the object built from it, "+e.Field+": "+found.Problem
	return found
}

// entry completes the path of an error about a list or a map: it finds the entry with the error's value.
func (s source) entry(path []segment, value any) []segment {
	for i := 1; i < len(path); i++ {
		list := reach(s.made, path[:i])
		if list.Kind() != reflect.Slice || path[i].bracket {
			continue
		}
		for n := range list.Len() {
			if v := reach(list.Index(n), path[i:]); v.IsValid() && shown(v.Interface()) == shown(value) {
				return slices.Insert(path, i, segment{name: strconv.Itoa(n), bracket: true})
			}
		}
	}
	entries := reach(s.made, path)
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

// shown returns a value for a message; "" for a whole object.
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
	field.ErrorTypeDuplicate:    "present twice, and Kubernetes takes it once; change one of them",
	field.ErrorTypeNotSupported: "not a value that Kubernetes takes",
	field.ErrorTypeTooLong:      "more than Kubernetes takes", field.ErrorTypeTooMany: "more than Kubernetes takes",
}

// kubernetesWords says what Kubernetes refuses and how to fix it.
func kubernetesWords(e *field.Error) string {
	detail, _, cut := strings.Cut(strings.TrimSpace(e.Detail), ", regex used for validation")
	if cut && strings.Contains(detail, "(e.g.") {
		detail += ")"
	}
	detail = strings.NewReplacer(", (e.g.", " (e.g.", ",  or", " or").Replace(detail)
	words, known := wordsOf[e.Type]
	if !known {
		words = "Kubernetes refuses it"
	}
	if detail == "" {
		return words
	}
	return words + ": " + detail
}
