// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strconv"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// mounter is the source of a mount: a field or a property of the user, or Spark itself.
type mounter struct {
	field spark.Field
	key   string
	// own names Spark's files if Spark mounts them. instead is the field for the user's files, if the family has one.
	own, instead string
}

// ownMounts are the mounts of Spark itself, by the volumes' names.
var ownMounts = map[string]mounter{
	"spark-conf-volume-driver": {own: "Spark's own configuration", instead: "{sparkConfigMap}"},
	"spark-conf-volume-exec":   {own: "Spark's own configuration", instead: "{sparkConfigMap}"},
	"hadoop-properties":        {own: "the configuration of Hadoop", instead: "{hadoopConfigMap}"},
	"pod-template-volume":      {own: "the template of the executors"},
}

// maxSamePath bounds the reported pairs of mounts at the same path of a container: finding their sources takes long.
const maxSamePath = 2

// samePath refuses the second of two mounts at the same path, and names both. If one is Spark's own, it refuses the user's.
func (p *podCheck) samePath(path string, first, second mounter) {
	if first.own == "" && second.own != "" {
		first, second = second, first
	}
	problem := first.own + " is mounted there; use another path"
	switch instead := p.app.Fields.Text(first.instead); {
	case first.own == "":
		problem = "a volume is mounted there already, by " + p.app.PathOf(&spark.ConfError{Key: first.key, Field: first.field}) + "; give each a path of its own"
	case instead != "" && p.app.Direct == nil && p.app.Server == nil:
		problem = first.own + " is mounted there; " + instead + " is the field for your files, or use another path"
	}
	p.found = append(p.found, &spark.ConfError{Key: second.key, Field: second.field, Value: path, Problem: problem})
}

// written returns the source of the pod's parts.
func (p *podCheck) written() source {
	if p.sources == nil {
		s := sourceOf(p.app, p.role, p.pod, p.sparkIndex())
		p.sources = &s
	}
	return *p.sources
}

// mounterOf returns the source of a mount, given by the container's path and the mount's index.
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
