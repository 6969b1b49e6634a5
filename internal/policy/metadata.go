// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// preset holds the values that policies set as defaults: limits do not apply to what administrators set.
type preset struct{ labels, conf map[string]string }

func presetOf(s Set) preset {
	p := preset{map[string]string{}, map[string]string{}}
	for i := len(s) - 1; i >= 0; i-- { // the first policy wins
		maps.Copy(p.labels, s[i].Defaults.Labels)
		maps.Copy(p.conf, s[i].Defaults.SparkConf)
	}
	return p
}

func (c *checker) requiredLabels() {
	for _, name := range c.limits.RequiredLabels {
		for _, s := range c.pods() {
			if s.pod.Labels[name] == "" {
				e := &spark.ConfError{Problem: "missing on the " + s.role + " pod"}
				e.Field = spark.Field(s.role + ".labels")
				if _, inherited := c.app.Fields["labels"]; inherited {
					e.Field, e.Problem = "labels", e.Problem+"; add it to the application; its pods inherit it"
				}
				e.Field = e.Field.Key(name)
				c.refuse(e, "only applications with this label")
			}
		}
	}
}

// podLabels checks a pod's labels, except the labels that Spark and the operator set.
func (c *checker) podLabels(s subject) {
	prefix := labels.prefix(s.role)
	for _, name := range slices.Sorted(maps.Keys(s.pod.Labels)) {
		value := s.pod.Labels[name]
		if spark.IsReservedLabel(name) || c.presets(prefix+name) || c.preset.labels[name] == value && value != "" {
			continue
		}
		c.allow(c.metadata(s, "labels", prefix, name), c.limits.PodLabels, name, "pod labels")
	}
}

// podAnnotations checks a pod's annotations, except the annotations that Spark and the operator set.
func (c *checker) podAnnotations(s subject) {
	prefix := annotations.prefix(s.role)
	for _, name := range slices.Sorted(maps.Keys(s.pod.Annotations)) {
		if c.presets(prefix + name) {
			continue
		}
		c.allow(c.metadata(s, annotations.field, prefix, name), c.limits.PodAnnotations, name, "pod annotations")
	}
}

// presets reports whether the operator or an administrator's default set a property.
func (c *checker) presets(key string) bool {
	if _, operators := c.app.OperatorConf[key]; operators {
		return true
	}
	value, set := c.app.Conf[key]
	usual, isPreset := c.preset.conf[key]
	return set && (isPreset && usual == value || strings.HasPrefix(string(c.app.Origins[key].Field), "monitoring"))
}

// sort has the words for labels or annotations, the name of their field, and the prefixes of the properties that set them.
type sort struct{ one, field, option, driver, executor, service string }

var (
	labels      = sort{"a label", "labels", ".label.", spark.ConfDriverLabelPrefix, spark.ConfExecutorLabelPrefix, spark.ConfServiceLabelPrefix}
	annotations = sort{"an annotation", "annotations", ".annotation.", spark.ConfDriverAnnotationPrefix,
		spark.ConfExecutorAnnotationPrefix, spark.ConfServiceAnnotationPrefix}
)

func (t sort) prefix(role string) string {
	if role == driverRole {
		return t.driver
	}
	return t.executor
}

// metadata returns the source of a pod's label or annotation.
func (c *checker) metadata(s subject, field, prefix, name string) *spark.ConfError {
	if _, set := c.app.Conf[prefix+name]; set {
		return &spark.ConfError{Key: prefix + name}
	}
	return &spark.ConfError{Field: spark.Field(s.role + "." + field).Key(name)}
}

// metadataNames checks the annotations and labels of any created object.
func (c *checker) metadataNames(s subject) {
	for _, name := range forbidden(c.limits.ForbiddenAnnotations, s.object.GetAnnotations()) {
		c.refuse(c.written(s, annotations, name), "no such annotation")
	}
	for _, name := range c.forbiddenLabels(s.object.GetLabels()) {
		if value := s.object.GetLabels()[name]; !c.operatorsLabel(s, name, value) {
			c.refuse(c.written(s, labels, name), "no such label")
		}
	}
}

// operatorsLabel reports whether a label is outside of the user's control: the operator or an administrator's default sets it, or it is copied from the
// driver pod, whose labels are checked.
func (c *checker) operatorsLabel(s subject, name, value string) bool {
	if s.kind == podKind {
		return c.presets(labels.prefix(s.role)+name) || c.preset.labels[name] == value && value != ""
	}
	there, set := "", false
	if c.built.Driver != nil {
		there, set = c.built.Driver.Labels[name]
	}
	return set && there == value
}

// written returns the source of an annotation or a label.
func (c *checker) written(s subject, t sort, name string) *spark.ConfError {
	_, set := c.app.Conf[t.service+name]
	switch {
	case s.field != "" && (s.kind != serviceKind || !set):
		return &spark.ConfError{Field: (s.field + "." + spark.Field(t.field)).Key(name)}
	case s.kind == podKind:
		return c.metadata(s, t.field, t.prefix(s.role), name)
	case s.kind == serviceKind:
		return c.metadata(s, "service"+strings.ToUpper(t.field[:1])+t.field[1:], t.service, name)
	case s.kind == claimKind && s.keys != "":
		return c.claimOption(s, t.option+name, "")
	case s.kind == claimKind:
		return &spark.ConfError{Field: spark.Field(s.role + ".volumes"), Value: name, Problem: t.one + " of the claim of volume " + s.object.GetName()}
	}
	return &spark.ConfError{Key: spark.ConfPodGroupJSON, Value: name, Problem: t.one + " of the " + s.kind.Kind}
}
