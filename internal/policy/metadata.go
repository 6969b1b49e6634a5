// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/text"
)

// preset is what the defaults of policies say: limits do not bind those who set them.
type preset struct{ labels, conf map[string]string }

func presetOf(s Set) preset {
	p := preset{map[string]string{}, map[string]string{}}
	for i := len(s) - 1; i >= 0; i-- { // the first wins
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

// podLabels checks the labels of a pod that neither Spark nor the operator sets.
func (c *checker) podLabels(s subject) {
	prefix := spark.ConfExecutorLabelPrefix
	if s.role == driverRole {
		prefix = spark.ConfDriverLabelPrefix
	}
	for _, name := range slices.Sorted(maps.Keys(s.pod.Labels)) {
		value := s.pod.Labels[name]
		if spark.IsReservedLabel(name) || c.presets(prefix+name) || c.preset.labels[name] == value && value != "" {
			continue
		}
		c.allow(c.metadata(s, "labels", prefix, name), c.limits.PodLabels, name, "pod labels")
	}
}

// podAnnotations checks the annotations of a pod that neither Spark nor the operator sets.
func (c *checker) podAnnotations(s subject) {
	prefix := annotationPrefix(s.role)
	for _, name := range slices.Sorted(maps.Keys(s.pod.Annotations)) {
		if c.presets(prefix + name) {
			continue
		}
		c.allow(c.metadata(s, "annotations", prefix, name), c.limits.PodAnnotations, name, "pod annotations")
	}
}

func annotationPrefix(role string) string {
	if role == driverRole {
		return spark.ConfDriverAnnotationPrefix
	}
	return spark.ConfExecutorAnnotationPrefix
}

// presets reports whether a property is the operator's, or an administrator's default.
func (c *checker) presets(key string) bool {
	if _, operators := c.app.OperatorConf[key]; operators {
		return true
	}
	value, set := c.app.Conf[key]
	usual, isPreset := c.preset.conf[key]
	return set && (isPreset && usual == value || strings.HasPrefix(string(c.app.Origins[key].Field), "monitoring"))
}

// metadata is where a label or an annotation of a pod comes from.
func (c *checker) metadata(s subject, field, prefix, name string) *spark.ConfError {
	if _, set := c.app.Conf[prefix+name]; set {
		return &spark.ConfError{Key: prefix + name}
	}
	return &spark.ConfError{Field: spark.Field(s.role + "." + field).Key(name)}
}

// annotations checks those of any object that is created.
func (c *checker) annotations(s subject) {
	if len(c.limits.ForbiddenAnnotations) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.object.GetAnnotations())) {
		if text.MatchesAny(c.limits.ForbiddenAnnotations, name) {
			c.refuse(c.annotation(s, name), "no such annotation")
		}
	}
}

// annotation is where an annotation comes from.
func (c *checker) annotation(s subject, name string) *spark.ConfError {
	_, set := c.app.Conf[spark.ConfServiceAnnotationPrefix+name]
	switch {
	case s.field != "" && (s.kind != serviceKind || !set):
		return &spark.ConfError{Field: (s.field + ".annotations").Key(name)}
	case s.kind == podKind:
		return c.metadata(s, "annotations", annotationPrefix(s.role), name)
	case s.kind == serviceKind:
		return c.metadata(s, "serviceAnnotations", spark.ConfServiceAnnotationPrefix, name)
	case s.kind == claimKind && s.keys != "":
		return c.claimOption(s, ".annotation."+name, "")
	case s.kind == claimKind:
		return &spark.ConfError{Field: spark.Field(s.role + ".volumes"), Value: name, Problem: "an annotation of the claim of volume " + s.object.GetName()}
	}
	return &spark.ConfError{Key: spark.ConfPodGroupJSON, Value: name, Problem: "an annotation of the " + s.kind.Kind}
}
