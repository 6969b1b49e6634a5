// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// localDir writes a scratch volume as the properties spark.kubernetes.<role>.volumes.<type>.<name>.*. If the volume's type has no such properties,
// overlayVolumes mounts the volume.
func localDir(c conf, k roleKeys, v *corev1.Volume, m *corev1.VolumeMount) {
	kind, options := localDirOptions(v)
	if kind == "" {
		return
	}
	prefix := k.volume + kind + "." + v.Name + "."
	origin := k.field + ".volumeMounts"
	c.set(prefix+"mount.path", m.MountPath, origin)
	if m.SubPath != "" {
		c.set(prefix+"mount.subPath", m.SubPath, origin)
	}
	if m.SubPathExpr != "" {
		c.set(prefix+"mount.subPathExpr", m.SubPathExpr, origin)
	}
	if m.ReadOnly {
		c.set(prefix+"mount.readOnly", "true", origin)
	}
	for name, value := range options {
		if value != "" {
			c.set(prefix+"options."+name, value, "volumes")
		}
	}
}

func localDirOptions(v *corev1.Volume) (kind string, options map[string]string) {
	switch {
	case v.EmptyDir != nil:
		options = map[string]string{"medium": string(v.EmptyDir.Medium)}
		if v.EmptyDir.SizeLimit != nil {
			options["sizeLimit"] = v.EmptyDir.SizeLimit.String()
		}
		return "emptyDir", options
	case v.HostPath != nil:
		return "hostPath", map[string]string{"path": v.HostPath.Path, "type": string(ptr.Deref(v.HostPath.Type, ""))}
	case v.NFS != nil:
		return "nfs", map[string]string{"path": v.NFS.Path, "server": v.NFS.Server}
	case v.PersistentVolumeClaim != nil:
		return "persistentVolumeClaim", map[string]string{"claimName": v.PersistentVolumeClaim.ClaimName}
	}
	return "", nil
}

// isLocalDir reports whether Spark properties can express the volume.
func isLocalDir(v *corev1.Volume) bool {
	kind, _ := localDirOptions(v)
	return kind != "" && strings.HasPrefix(v.Name, localDirPrefix)
}

// sparkConfDir is the mount path of spec.sparkConfigMap.
const sparkConfDir = "/etc/spark/conf"

// mounts collects the mounts of a role, except Spark's own volumes.
type mounts struct {
	volumes []corev1.Volume
	mounts  []corev1.VolumeMount
	env     []corev1.EnvVar
	// written names the fields that the mounts of ConfigMaps come from.
	written []spark.Written
}

// configMap mounts a ConfigMap that a field names. If env is not "", the variable env gets the path.
func (m *mounts) configMap(from spark.Field, volume, name, path, env string) {
	v := corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}}
	mount := corev1.VolumeMount{Name: volume, MountPath: path, ReadOnly: true}
	m.volumes, m.mounts = append(m.volumes, v), append(m.mounts, mount)
	m.written = append(m.written, spark.Written{Field: from, At: "spec.volumes", Value: []corev1.Volume{v}, Whole: true},
		spark.Written{Field: from, At: "container.volumeMounts", Value: []corev1.VolumeMount{mount}, Whole: true})
	if env != "" {
		m.env = append(m.env, corev1.EnvVar{Name: env, Value: path})
	}
}

// mountsOf returns the ConfigMaps and volumes of a role.
func mountsOf(s *v1beta2.SparkApplicationSpec, p *v1beta2.SparkPodSpec, role spark.Field) mounts {
	var m mounts
	if name := ptr.Deref(s.HadoopConfigMap, ""); name != "" {
		m.configMap("hadoopConfigMap", "hadoop-configmap-volume", name, "/etc/hadoop/conf", "HADOOP_CONF_DIR")
	}
	if name := ptr.Deref(s.SparkConfigMap, ""); name != "" {
		m.configMap("sparkConfigMap", "spark-configmap-volume", name, sparkConfDir, "SPARK_CONF_DIR")
	}
	for i, cm := range p.ConfigMaps {
		m.configMap((role + ".configMaps").Index(i), configMapVolume(cm.Name), cm.Name, cm.Path, "")
	}
	added := map[string]bool{}
	for _, mount := range p.VolumeMounts {
		v := volumeNamed(s, mount.Name)
		if v == nil || isLocalDir(v) {
			continue
		}
		m.mounts = append(m.mounts, mount)
		if !added[v.Name] {
			m.volumes = append(m.volumes, *v)
			added[v.Name] = true
		}
	}
	return m
}

// volumeNamed returns the volume with this name; nil if there is none. If several have the name, the last one is used.
func volumeNamed(s *v1beta2.SparkApplicationSpec, name string) *corev1.Volume {
	for i := len(s.Volumes) - 1; i >= 0; i-- {
		if s.Volumes[i].Name == name {
			return &s.Volumes[i]
		}
	}
	return nil
}

// configMapVolume returns the name of the volume for a mounted ConfigMap. It is "<name>-vol", or a shortened form with a hash if that is no valid name of at
// most 63 characters.
func configMapVolume(name string) string {
	const suffix, limit = "-vol", 63
	if len(name)+len(suffix) <= limit && !strings.Contains(name, ".") {
		return name + suffix
	}
	sum := sha256.Sum256([]byte(name))
	hash := "-" + hex.EncodeToString(sum[:4])
	short := strings.ReplaceAll(name, ".", "-")
	if room := limit - len(hash) - len(suffix); len(short) > room {
		short = short[:room]
	}
	return short + hash + suffix
}
