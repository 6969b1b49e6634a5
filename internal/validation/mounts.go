// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strconv"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// mounter is what mounts a volume: a field or a property of the user's, or Spark itself.
type mounter struct {
	field spark.Field
	key   string
	// own says what of Spark's is mounted, and instead which field is for files of the user's, in the family that has one.
	own, instead string
}

// ownMounts are what Spark mounts itself, by the volumes' names.
var ownMounts = map[string]mounter{
	"spark-conf-volume-driver": {own: "Spark's own configuration", instead: "{sparkConfigMap}"},
	"spark-conf-volume-exec":   {own: "Spark's own configuration", instead: "{sparkConfigMap}"},
	"hadoop-properties":        {own: "the configuration of Hadoop", instead: "{hadoopConfigMap}"},
	"pod-template-volume":      {own: "the template of the executors"},
}

// maxSamePath bounds how often a container is said to mount two volumes at a path: to find what mounts them takes long.
const maxSamePath = 2

// samePath refuses the second of two mounts at a path, and names both. One of Spark's own is not the user's to change.
func (p *podCheck) samePath(path string, first, second mounter) {
	if first.own == "" && second.own != "" {
		first, second = second, first
	}
	problem := first.own + " is mounted there; use another path"
	switch instead := p.app.Fields.Text(first.instead); {
	case first.own == "":
		problem = "a volume is mounted there already, by " + p.app.PathOf(&spark.ConfError{Key: first.key, Field: first.field}) + "; give each a path of its own"
	case instead != "" && p.app.Direct == nil && p.app.Server == nil:
		problem = first.own + " is mounted there; " + instead + " is the field for files of yours, or use another path"
	}
	p.found = append(p.found, &spark.ConfError{Key: second.key, Field: second.field, Value: path, Problem: problem})
}

// written finds the fields of the pod's parts.
func (p *podCheck) written() source {
	if p.sources == nil {
		s := sourceOf(p.app, p.role, p.pod, p.sparkIndex())
		p.sources = &s
	}
	return *p.sources
}

// mounterOf is what mounts the volume of a mount of a container, which is at a path of the pod.
func (p *podCheck) mounterOf(container string, index int, volume string) mounter {
	s, at := p.written(), segments(container+".volumeMounts["+strconv.Itoa(index)+"]")
	if field, written := s.field(at); written {
		return mounter{field: field}
	}
	if key := s.key(p.app.Conf, p.role, at); key != "" {
		return mounter{key: key}
	}
	if m, is := ownMounts[volume]; is {
		return m
	}
	return mounter{own: "the volume " + volume + " of Spark"}
}
